// The page: one conversation, asked over /api/ask and shown as it comes. HTML comes from the server, which has made it safe;
// everything else is set as text.
import { stream, json, useKey, HttpError } from "./api.js";
import { ago, changed } from "./ago.js";
import { load, save, clear, remember } from "./device.js";

const root = document.body.dataset.root;
const by = (id) => document.getElementById(id);
const make = (tag, text = "", className = "") => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const button = (text, act, className = "") => {
  const made = make("button", text, className);
  made.type = "button";
  made.addEventListener("click", () => act(made));
  return made;
};
const webAddress = (url) => (/^https?:\/\//i.test(url || "") ? url : "");

function loginLink(path) {
  const link = make("a", "Log in", "primary");
  link.href = `${root}${path}?to=${encodeURIComponent(location.pathname.slice(root.length) + location.search)}`;
  return link;
}

const needsKey = (error) => error.status === 401 && !error.login;

function keyForm(again) {
  const form = make("form", "", "key");
  const label = make("label", "Your key");
  const field = make("input");
  Object.assign(field, { type: "password", autocomplete: "off", required: true, id: `key-${Math.random().toString(36).slice(2)}` });
  label.htmlFor = field.id;
  const use = make("button", "Use it", "primary");
  form.append(label, field, use);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(field.value.trim());
    again();
  });
  return form;
}

const state = { turns: [], sources: [], running: null };
const announce = (text) => { by("announce").textContent = text; };

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

// ----------------------------------------------------------------------------------------------------------- showing

function setHtml(element, html, prefix) {
  element.innerHTML = html; // rendered and sanitized by the server; the page's policy allows no inline script besides
  for (const link of element.querySelectorAll("a")) {
    if (link.classList.contains("citation")) {
      link.href = `#${prefix}${link.dataset.number}`;
      link.setAttribute("aria-label", `Source ${link.dataset.number}`);
    } else outward(link);
  }
  for (const table of element.querySelectorAll("table")) {
    const scroll = make("div", "", "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Table");
    table.replaceWith(scroll);
    scroll.append(table);
  }
  for (const pre of element.querySelectorAll("pre")) pre.tabIndex = 0;
}

function outward(link) {
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  if (window.parent === window) return;
  link.addEventListener("click", (event) => {
    event.preventDefault(); // the sandbox of a frame opens no window
    window.parent.open(link.href, "_blank", "noopener");
  });
}

function addCodeButtons(element) {
  for (const pre of element.querySelectorAll("pre")) {
    const code = pre.textContent;
    pre.append(button("Copy", (pressed) => copy(code, pressed), "copy-code"));
  }
}

async function copy(text, pressed) {
  const label = pressed.textContent;
  try {
    await navigator.clipboard.writeText(text);
    pressed.textContent = "Copied";
    announce("Copied.");
  } catch {
    pressed.textContent = "Couldn't copy";
  }
  setTimeout(() => { pressed.textContent = label; }, 1_600);
}

function sourceLabel(id) {
  return state.sources.find((source) => source.id === id)?.title || id;
}

function quoteBox(citation) {
  const quote = make("div", "", "quote");
  quote.innerHTML = citation.quote_html;
  quote.querySelectorAll("a").forEach(outward);
  for (const paragraph of quote.querySelectorAll("p, td, li")) {
    const mark = make("mark");
    mark.append(...paragraph.childNodes);
    paragraph.append(mark);
  }
  return quote;
}

function sourceHead(citation, numbered) {
  const head = make("div", "", "source-head");
  if (numbered) head.append(make("span", String(citation.number), "number"));
  const address = webAddress(citation.url);
  const title = make(address ? "a" : "span", citation.title || citation.url || citation.source, "source-title");
  if (address) {
    title.href = address;
    outward(title);
  }
  head.append(title);
  return head;
}

function sourcePlace(citation) {
  return make("p", [citation.headings.join(" › "), sourceLabel(citation.source), changed(citation.updated_at)].filter(Boolean).join(" · "), "source-place");
}

function sourceList(title, citations, prefix, nearest = false) {
  const section = make("section", "", "sources");
  const list = make("ol");
  for (const citation of citations) {
    const item = make("li", "", "source");
    if (!nearest) item.id = `${prefix}${citation.number}`;
    item.append(sourceHead(citation, !nearest), sourcePlace(citation));
    if (!nearest) {
      const quote = quoteBox(citation);
      item.append(quote);
      requestAnimationFrame(() => {
        if (quote.scrollHeight <= quote.clientHeight + 4) return;
        item.append(button("Show all", (pressed) => {
          pressed.textContent = quote.classList.toggle("open") ? "Show less" : "Show all";
        }, "more"));
      });
    }
    list.append(item);
  }
  section.append(make("h3", title), list);
  return section;
}

function actions(turn) {
  const { answer, section } = turn;
  const row = make("div", "", "actions");
  const sources = answer.citations.map((one) => `[${one.number}] ${one.title}${one.url ? ` ${one.url}` : ""}`).join("\n");
  row.append(
    button("Copy answer", (pressed) => copy(`${answer.text}${sources ? `\n\n${sources}` : ""}`, pressed)),
    button("Copy link", (pressed) => copy(new URL(`${root}/a/${answer.id}`, location.href).href, pressed)),
  );
  const judge = async (helpful, pressed, reason = "") => {
    try {
      await json(`${root}/api/answers/${answer.id}/feedback`, { helpful, reason });
      row.querySelectorAll("[aria-pressed]").forEach((one) => one.setAttribute("aria-pressed", String(one === pressed)));
      announce("Thank you.");
      return true;
    } catch (error) {
      announce(`Your feedback wasn't kept: ${error.message}`);
      pressed.textContent = "Couldn't send";
      return false;
    }
  };
  const yes = button("Helpful", (pressed) => judge(true, pressed).then(() => section.querySelector(".reason")?.remove()));
  const no = button("Not helpful", async (pressed) => {
    if ((await judge(false, pressed)) && !section.querySelector(".reason")) row.after(reasonForm(pressed, judge));
  });
  for (const one of [yes, no]) one.setAttribute("aria-pressed", "false");
  row.append(yes, no);
  return row;
}

function reasonForm(pressed, judge) {
  const form = make("form", "", "reason");
  const label = make("label", "What was wrong or missing?");
  const text = make("textarea");
  text.maxLength = 2_000;
  text.id = label.htmlFor = `reason-${Math.random().toString(36).slice(2)}`;
  const send = make("button", "Send");
  send.type = "submit";
  form.append(label, text, send);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await judge(false, pressed, text.value)) form.replaceChildren(make("p", "Thank you. The maintainers can read this.", "quiet"));
  });
  requestAnimationFrame(() => text.focus());
  return form;
}

function details(answer) {
  const box = make("details", "", "details");
  const list = make("dl");
  const rows = {
    "Searched for": answer.trace.wordings.join(" · "),
    Compared: `${answer.trace.candidates} passages, read ${answer.trace.passages}`,
    "Written by": answer.models.chat || "nobody: quoted word for word",
    Took: answer.seconds.total === undefined ? "" : `${answer.seconds.total.toFixed(2)} s`,
    Cost: answer.cost ? `$${answer.cost.toFixed(4)}` : answer.cost === 0 ? "nothing" : "unknown",
    Notes: answer.notes.join(" "),
  };
  for (const [name, value] of Object.entries(rows)) if (value) list.append(make("dt", name), make("dd", value));
  box.append(make("summary", "How this answer came about"), list);
  return box;
}

// ---------------------------------------------------------------------------------------------- citations on hovering

function citationOf(link) {
  const turn = state.turns.find((one) => one.section.contains(link));
  return turn?.answer?.citations.find((one) => String(one.number) === link.dataset.number);
}

function showPopover(link) {
  hidePopover();
  const citation = citationOf(link);
  if (!citation) return;
  const box = make("div");
  box.id = "popover";
  box.setAttribute("role", "tooltip");
  box.append(sourceHead(citation, true), sourcePlace(citation), quoteBox(citation));
  document.body.append(box);
  const place = link.getBoundingClientRect();
  box.style.left = `${Math.max(16, Math.min(place.left, innerWidth - box.offsetWidth - 16)) + scrollX}px`;
  const below = place.bottom + 8 + box.offsetHeight < innerHeight;
  box.style.top = `${(below ? place.bottom + 8 : Math.max(8, place.top - box.offsetHeight - 8)) + scrollY}px`;
  by(link.hash.slice(1))?.classList.add("lit");
}

function hidePopover() {
  by("popover")?.remove();
  document.querySelectorAll(".lit").forEach((one) => one.classList.remove("lit"));
}

const over = (event) => event.target.closest?.(".citation");
document.addEventListener("mouseover", (event) => { if (over(event)) showPopover(over(event)); });
document.addEventListener("mouseout", (event) => { if (over(event)) hidePopover(); });
document.addEventListener("focusin", (event) => { if (over(event)) showPopover(over(event)); });
document.addEventListener("focusout", hidePopover);
document.addEventListener("click", (event) => {
  const link = over(event);
  if (!link) return;
  event.preventDefault();
  hidePopover();
  const card = by(link.hash.slice(1));
  card?.scrollIntoView({ block: "center" });
  card?.classList.add("lit");
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hidePopover(); });

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
    ? "All sources" : `Only ${chosen.map((box) => sourceLabel(box.value)).join(", ")}`;
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

function showReader(reader, login) {
  by("reader").textContent = reader;
  by("reader").hidden = !reader;
  by("log-out").hidden = !(reader && login);
  by("log-in").hidden = !(login && !reader);
  if (login) by("log-in").href = loginLink(login).href;
}

by("log-out").addEventListener("click", async () => {
  await json(`${root}/logout`, {}).catch(() => {});
  location.assign(`${root}/`);
});

function showSources({ name, suggestions, sources, reader, login }) {
  state.sources = sources;
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

by("to-index").hidden = !document.body.dataset.index;
window.addEventListener("popstate", show);
await learn();
show();
