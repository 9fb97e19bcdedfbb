// The page about the index inside Airflow: what the index holds comes from this application, runs come from Airflow's API,
// and actions trigger DAGs there, with the rights of whoever looks at the page.
import { json } from "./api.js";
import { ago } from "./ago.js";
import { root, by, make, leaveFrame } from "./dom.js";

const airflow = root.replace(/\/[^/]*$/, "");
const number = (value) => value.toLocaleString("en");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const ofAirflow = (path, body) => json(`${airflow}/api/v2/${path}`, body);

function outside(text, path) {
  const link = make("a", text);
  link.href = `${airflow}/${path}`;
  leaveFrame(link);
  return link;
}

function say(parts, bad = false) {
  const notice = make("div", "", "notice");
  notice.setAttribute("role", bad ? "alert" : "status");
  const line = make("p");
  line.append(...parts);
  notice.append(line);
  by("notice").replaceChildren(notice);
  notice.scrollIntoView({ block: "nearest" });
}

function confirmed(title, text, yes) {
  by("confirm-title").textContent = title;
  by("confirm-text").textContent = text;
  by("confirm-yes").textContent = yes;
  by("confirm").returnValue = "no";
  by("confirm").showModal();
  return new Promise((resolve) => {
    by("confirm").addEventListener("close", () => resolve(by("confirm").returnValue === "yes"), { once: true });
  });
}

function action(label, dag, conf, question) {
  const made = make("button", label);
  made.type = "button";
  made.addEventListener("click", async () => {
    if (question && !(await confirmed(label, question, label))) return;
    made.disabled = true;
    try {
      const run = await ofAirflow(`dags/${dag}/dagRuns`, { conf, logical_date: null });
      const { is_paused: paused } = await ofAirflow(`dags/${dag}`);
      say([
        paused ? "Triggered, but the DAG is paused: unpause it in Airflow. " : "Triggered. ",
        outside("See the run", `dags/${dag}/runs/${encodeURIComponent(run.dag_run_id)}`),
      ]);
    } catch (error) {
      say([error.status === 403 ? `You may not trigger the DAG ${dag}.` : `${dag} couldn't be triggered: ${error.message}`], true);
    }
    made.disabled = false;
  });
  return made;
}

function row(id, title, state, bad) {
  const item = make("li", "", "row");
  item.id = id;
  const head = make("div", "", "row-head");
  head.append(make("h3", title), make("span", state, `state${bad ? " bad" : ""}`));
  item.append(head);
  return item;
}

function sourceRow(source) {
  const failed = source.failed ? `, ${counted(source.failed, "document")} failed` : "";
  const state = source.declared ? `${source.state}${failed}` : "no longer declared";
  const item = row(`source-${source.id}`, source.title || source.id, state, source.state !== "ok" || source.failed || !source.declared);
  const facts = [source.id, source.kind, counted(source.documents || 0, "document"), source.last_sync ? `synced ${ago(source.last_sync)}` : "never synced", source.schedule && `schedule ${source.schedule}`];
  item.append(make("p", facts.filter(Boolean).join(" · "), "facts"));
  if (source.reason) item.append(make("p", source.reason));
  if (source.failures.length) {
    const details = make("details");
    const list = make("ul");
    list.append(...source.failures.map((one) => make("li", `${one.document_id}: ${one.reason}`)));
    if (source.failed > source.failures.length) list.append(make("li", `and ${number(source.failed - source.failures.length)} more`));
    details.append(make("summary", "Failed documents"), list);
    item.append(details);
  }
  const runs = make("p", "", "facts");
  item.append(runs);
  if (source.declared) {
    const dag = `ingest_${source.id}`;
    showRuns(runs, dag);
    const buttons = make("div", "", "buttons");
    buttons.append(action("Sync now", dag, {}));
    item.append(buttons);
  }
  return item;
}

async function showRuns(place, dag) {
  try {
    const [about, { dag_runs: runs }] = await Promise.all([
      ofAirflow(`dags/${dag}`),
      ofAirflow(`dags/${dag}/dagRuns?limit=3&order_by=-run_after`),
    ]);
    const parts = runs.flatMap((run, at) => [
      at ? ", " : "Runs: ",
      outside(run.state, `dags/${dag}/runs/${encodeURIComponent(run.dag_run_id)}`),
      ` ${ago(run.run_after)}`,
    ]);
    const next = about.next_dagrun_run_after;
    const overdue = next && new Date(next) < new Date(Date.now() - 3_600_000);
    const ahead = about.is_paused ? "the DAG is paused" : !next ? "" : overdue ? `overdue since ${ago(next)}` : `next ${new Date(next).toLocaleString()}`;
    place.append(...(parts.length ? parts : ["No runs yet"]), ahead && ` · ${ahead}`);
  } catch (error) {
    place.append(error.status === 404 ? "Airflow doesn't have its DAG yet." : "Its runs can't be read.");
  }
}

function verdictOf(scores) {
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
  if (scores.decision) {
    const [lower, upper] = scores.bounds.map(signed);
    return `Judged against version ${scores.against} on ${counted(scores.judged, "question")} of ${scores.questions}: ${scores.decision}. nDCG@10 ${scores.ndcg_at_10.toFixed(3)} against ${scores.live_ndcg_at_10.toFixed(3)}, a difference of ${signed(scores.difference)} (${lower} to ${upper}).`;
  }
  if (scores.scored) return `nDCG@10 ${scores.ndcg_at_10.toFixed(3)} on ${counted(scores.scored, "question")} of ${scores.scored_by}.`;
  return "";
}

function versionRow(version, live) {
  const item = row(`version-${version.number}`, `Version ${version.number}`, version.role, false);
  if (version.role !== "live") item.querySelector(".state").classList.add("quiet");
  const { documents, chunks, behind } = version.now;
  const recipe = version.recipe || {};
  const facts = [recipe.embedder, recipe.splitter, recipe.strategy, counted(documents, "document"), counted(chunks, "passage"), behind ? `${counted(behind, "document")} behind` : ""];
  item.append(make("p", facts.filter(Boolean).join(" · "), "facts"));
  const verdict = verdictOf(version.scores || {});
  if (verdict) item.append(make("p", verdict));
  const buttons = make("div", "", "buttons");
  if (version.role === "previous") {
    buttons.append(action("Roll back to it", "rollback_version", {}, `Questions are answered from version ${version.number} again, instead of version ${live}.`));
  } else if (version.role === "candidate" || version.role === "old") {
    buttons.append(action("Promote", "promote_version", { version: version.number }, `Version ${version.number} is judged against version ${live}. If the gate accepts it, questions are answered from it.`));
  }
  if (buttons.children.length) item.append(buttons);
  return item;
}

function showFigures({ sources, versions, answers }) {
  const troubled = sources.filter((source) => source.state !== "ok" || source.failed || !source.declared).length;
  const figures = [
    ["Sources", number(sources.length)],
    ...(troubled ? [["Sources to look at", number(troubled)]] : []),
    ["Documents", number(sources.reduce((sum, source) => sum + (source.documents || 0), 0))],
  ];
  const live = versions?.find((version) => version.role === "live");
  if (live) figures.push(["Live version", String(live.number)]);
  if (answers) {
    figures.push([`Questions in ${answers.days} days`, number(answers.questions)]);
    if (answers.questions) {
      figures.push(["Not found", `${Math.round((100 * answers.not_found) / answers.questions)} %`]);
      figures.push(["Helpful or not", `${number(answers.helpful)} / ${number(answers.unhelpful)}`]);
      figures.push(["Median time", answers.median_seconds === null ? "–" : `${answers.median_seconds} s`]);
      figures.push(["Cost", answers.unpriced === answers.questions && !answers.cost ? "unknown" : `$${answers.cost.toFixed(2)}`]);
    }
  }
  by("figures").replaceChildren(...figures.map(([name, value]) => {
    const box = make("div");
    box.append(make("dt", name), make("dd", value));
    return box;
  }));
  by("figures").hidden = false;
}

async function show() {
  try {
    const state = await json(`${root}/api/index`);
    showFigures(state);
    by("sources").replaceChildren(...state.sources.map(sourceRow));
    if (!state.sources.length) by("sources").append(make("li", "No source is declared, or you may not see any.", "quiet"));
    by("versions-section").hidden = !state.versions?.length;
    const live = state.versions?.find((version) => version.role === "live")?.number;
    by("versions").replaceChildren(...(state.versions || []).map((version) => versionRow(version, live)));
    if (location.hash) document.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`)?.scrollIntoView();
  } catch (error) {
    by("sources").replaceChildren();
    say([[error.message, error.remedy].filter(Boolean).join(" ")], true);
  }
}

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
by("reload").addEventListener("click", show);
show();
