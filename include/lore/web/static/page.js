// The page: one conversation, asked over /api/ask and shown as it comes.
import { stream, json, HttpError } from "./api.js";
import { ago } from "./ago.js";
import { actions, addCodeButtons, details, labels, setHtml, sourceList } from "./answer.js";
import { showCitations } from "./citations.js";
import { load, save, clear, remember } from "./device.js";
import { root, by, make, button, announce } from "./dom.js";
import { keyForm, loginLink, needsKey, showReader } from "./reader.js";

const state = { turns: [], running: null };

// ------------------------------------------------------------------------------------------------------------ asking

function history() {
  return state.turns.filter((turn) => turn.answer).slice(-6).flatMap((turn) => [
    { role: "user", content: turn.question },
    { role: "assistant", content: turn.answer.text.slice(0, 20_000) },
  ]);
}

function newTurn(question) {
  const section = make("section", "", "turn");
  const title = make("h2", question);
  title.tabIndex = -1;
  const status = make("p", "Reading the question …", "status");
  const answer = make("div", "", "answer");
  section.append(title, status, answer);
  section.setAttribute("aria-label", question);
  by("conversation").append(section);
  document.body.classList.add("talking");
  return { question, section, status, answer, answerElement: answer, sourceIds: chosenSources(), prefix: `t${state.turns.length}-` };
}

async function ask(question, { push = true } = {}) {
  if (state.running) state.running.abort();
  const turn = newTurn(question);
  const before = history();
  state.turns.push(turn);
  turn.answer = null;
  if (push) window.history.pushState({ question }, "", `${root}/?q=${encodeURIComponent(question)}`);
  document.title = question;
  turn.section.scrollIntoView({ block: "start" });
  announce("Searching.");
  await run(turn, before);
}

async function run(turn, before) {
  const controller = new AbortController();
  state.running = controller;
  setBusy(true);
  const show = (text) => { turn.status.textContent = text; };
  try {
    const body = { question: turn.question, history: before, sources: turn.sourceIds };
    for await (const [name, data] of stream(`${root}/api/ask`, body, controller.signal)) {
      if (name === "started" && data.waiting) show(`Waiting; ${data.waiting} asked before you …`);
      else if (name === "planned") show("Searching …");
      else if (name === "found") show(`Comparing ${data.candidates} passages …`);
      else if (name === "reading") show(data.passages.length ? "Writing …" : "Looking again …");
      else if (name === "delta") setHtml(turn.answerElement, data.html, turn.prefix);
      else if (name === "error") throw new HttpError(data);
      else if (name === "done") {
        finish(turn, data.answer);
        return;
      }
    }
    throw new HttpError({ message: "The connection broke before the answer was complete.", remedy: "", retry: true });
  } catch (error) {
    if (controller.signal.aborted) {
      fail(turn, before, { message: "Stopped.", remedy: "", retry: true });
    } else {
      fail(turn, before, error instanceof HttpError ? error : { message: "The server can't be reached.", remedy: "Check your connection.", retry: true });
    }
  } finally {
    if (state.running === controller) {
      state.running = null;
      setBusy(false);
    }
  }
}

function setBusy(busy) {
  by("stop").hidden = !busy;
  by("send").hidden = busy;
}

function finish(turn, answer) {
  turn.answer = answer;
  turn.status.remove();
  setHtml(turn.answerElement, answer.html, turn.prefix);
  addCodeButtons(turn.answerElement);
  if (answer.citations.length) turn.section.append(sourceList("Sources", answer.citations, turn.prefix));
  if (!answer.found && answer.nearest.length) turn.section.append(sourceList("Nearest pages", answer.nearest, turn.prefix, true));
  if (answer.id) {
    turn.section.append(actions(turn), details(answer));
    window.history.replaceState({ id: answer.id }, "", `${root}/a/${answer.id}`);
    remember({ id: answer.id, question: answer.question, at: new Date().toISOString() });
  }
  announce(answer.found ? `The answer is complete, with ${answer.citations.length} sources.` : "Nothing in the sources answers this.");
}

function fail(turn, before, error) {
  turn.status.remove();
  turn.section.querySelectorAll(".notice").forEach((old) => old.remove());
  const notice = make("div", "", "notice");
  notice.setAttribute("role", "alert");
  notice.append(make("p", [error.message, error.remedy].filter(Boolean).join(" ")));
  if (error.login) {
    notice.append(loginLink(error.login));
  } else if (needsKey(error)) {
    notice.append(keyForm(async () => { await learn(); ask(turn.question, { push: false }); turn.section.remove(); }));
  } else if (error.retry !== false) {
    notice.append(button("Try again", () => {
      notice.remove();
      turn.answerElement.replaceChildren();
      turn.answerElement.before(turn.status);
      turn.status.textContent = "Searching …";
      run(turn, before);
    }, "primary"));
  }
  turn.section.append(notice);
}

// ---------------------------------------------------------------------------------------------------- form and device

function chosenSources() {
  const boxes = [...by("filter-list").querySelectorAll("input")];
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  return chosen.length === boxes.length ? [] : chosen;
}

function labelFilter() {
  const boxes = [...by("filter-list").querySelectorAll("input")];
  const chosen = boxes.filter((box) => box.checked);
  if (!chosen.length) boxes.forEach((box) => { box.checked = true; });
  by("filter-label").textContent = !chosen.length || chosen.length === boxes.length
    ? "All sources" : `Only ${chosen.map((box) => labels.get(box.value)).join(", ")}`;
}

function submit() {
  const question = by("question").value.trim();
  if (!question) return;
  by("question").value = "";
  grow();
  ask(question);
}

function grow() {
  const field = by("question");
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

by("ask").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
by("question").addEventListener("input", grow);
by("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    submit();
  }
});
by("stop").addEventListener("click", () => state.running?.abort());
by("filter-list").addEventListener("change", labelFilter);

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = () => { document.documentElement.dataset.theme = load("theme") || (systemDark.matches ? "dark" : "light"); };
by("theme").addEventListener("click", () => {
  save("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  setTheme();
});
systemDark.addEventListener("change", setTheme);
setTheme();

function showHistory() {
  const list = by("history-list");
  list.replaceChildren(...(load("history") || []).map((one) => {
    const item = make("li");
    const link = make("a", one.question);
    link.href = `${root}/a/${encodeURIComponent(one.id)}`;
    const time = make("time", ago(one.at));
    time.dateTime = one.at;
    item.append(link, time);
    return item;
  }));
  if (!list.children.length) list.append(make("li", "No questions yet."));
  by("history").showModal();
}
by("open-history").addEventListener("click", showHistory);
by("close-history").addEventListener("click", () => by("history").close());
by("clear-history").addEventListener("click", () => { clear("history"); by("history").close(); announce("Deleted."); });

// ------------------------------------------------------------------------------------------------------------- start

function showSources({ name, suggestions, sources, reader, login }) {
  for (const source of sources) labels.set(source.id, source.title);
  showReader(reader, login);
  by("name").textContent = name;
  by("welcome-title").textContent = name;
  if (document.title === "Ask Lore") document.title = name;
  by("suggestions").replaceChildren(...suggestions.map((text) => button(text, () => ask(text))));
  by("filter-list").replaceChildren(...sources.map((source) => {
    const label = make("label");
    const box = make("input");
    Object.assign(box, { type: "checkbox", value: source.id, checked: true });
    label.append(box, source.title);
    return label;
  }));
  by("filter").hidden = sources.length < 2;
  by("known").hidden = !sources.length;
  by("known-list").replaceChildren(...sources.map((source) => {
    const item = make("li");
    const count = `${source.documents.toLocaleString()} ${source.documents === 1 ? "document" : "documents"}`;
    item.append(make("span", source.title), make("span", [count, source.synced_at && `read ${ago(source.synced_at)}`].filter(Boolean).join(", ")));
    return item;
  }));
}

async function showAnswer(id) {
  const section = newTurn("…");
  try {
    const answer = await json(`${root}/api/answers/${encodeURIComponent(id)}`);
    section.question = answer.question;
    section.section.querySelector("h2").textContent = answer.question;
    section.section.setAttribute("aria-label", answer.question);
    document.title = answer.question;
    state.turns.push(section);
    finish(section, answer);
  } catch (error) {
    section.section.querySelector("h2").textContent = "This answer can't be shown";
    section.answer = null;
    fail(section, [], { message: error.message, remedy: error.remedy || "", retry: false });
  }
}

function show() {
  state.running?.abort();
  state.turns = [];
  by("conversation").replaceChildren();
  document.body.classList.remove("talking");
  const id = location.pathname.match(/\/a\/([0-9a-f]{32})$/)?.[1];
  const question = new URLSearchParams(location.search).get("q")?.trim();
  if (id) showAnswer(id);
  else if (question) ask(question, { push: false });
  else by("question").focus({ preventScroll: true });
}

async function learn() {
  try {
    showSources(await json(`${root}/api/sources`));
    by("welcome-text").textContent = "Ask in your own words. Every answer shows where it comes from.";
    by("key-place").replaceChildren();
  } catch (error) {
    by("known").hidden = true;
    by("filter").hidden = true;
    by("welcome-text").textContent = needsKey(error) ? error.message : `${error.message} ${error.remedy || ""}`.trim();
    if (error.login) showReader("", error.login);
    by("key-place").replaceChildren(...(needsKey(error) ? [keyForm(learn)] : []));
  }
}

showCitations((link) => {
  const turn = state.turns.find((one) => one.section.contains(link));
  return turn?.answer?.citations.find((one) => String(one.number) === link.dataset.number);
});
by("to-index").hidden = !document.body.dataset.index;
window.addEventListener("popstate", show);
await learn();
show();
