// The widget's panel: one conversation in a modal dialog. The browser keeps the focus inside and closes it with Esc.
import { changed } from "./ago.js";
import { HttpError, json, stream } from "./api.js";
import { safeNodes } from "./safe_html.js";
import { STYLE } from "./widget_style.js";

const MOST_TURNS = 6;
const UNREACHABLE = { message: "The assistant can't be reached.", remedy: "Check your connection.", retry: true };

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter(Boolean));
  return element;
};
const button = (text, act, properties = {}) => {
  const made = make("button", { type: "button", textContent: text, ...properties });
  made.addEventListener("click", () => act(made));
  return made;
};

export function makePanel(shadow, { server, title, placeholder, sources }) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [...shadow.adoptedStyleSheets, sheet];
  const kept = `lore:${server}`;
  const turns = [];
  const labels = new Map();
  let running = null;

  // ---------------------------------------------------------------------------------------------------------- parts

  const name = make("h2", { id: "name", textContent: title });
  const again = button("New", startAgain, { hidden: true, ariaLabel: "New conversation" });
  const close = button("×", () => dialog.close(), { id: "close", ariaLabel: "Close" });
  const tries = make("div", { id: "try", role: "group", ariaLabel: "Questions to try" });
  const welcome = make("div", { id: "welcome" }, make("p", { textContent: "Ask in your own words. Every answer shows where it comes from." }), tries);
  const talk = make("div", { id: "talk", tabIndex: 0, role: "region", ariaLabel: "Conversation" }, welcome);
  const field = make("textarea", { id: "question", rows: 1, maxLength: 4_000, required: true, placeholder: placeholder || "Ask a question", ariaLabel: "Your question" });
  const send = make("button", { type: "submit", textContent: "Ask" });
  const stop = button("Stop", () => running?.abort(), { id: "stop", hidden: true });
  const form = make("form", { autocomplete: "off" }, make("div", { className: "field" }, field, send, stop));
  const announced = make("p", { className: "unseen", role: "status" });
  const dialog = make("dialog", {}, make("header", {}, name, again, close), talk, form, announced);
  dialog.setAttribute("aria-labelledby", "name");
  shadow.append(dialog);

  const announce = (text) => { announced.textContent = text; };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (question) ask(question);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  dialog.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey)) event.stopPropagation(); // shortcuts of the page are not meant
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); }); // beside the panel

  // --------------------------------------------------------------------------------------------------------- asking

  const history = () => turns.filter((turn) => turn.answer).slice(-MOST_TURNS).flatMap(({ question, answer }) => [
    { role: "user", content: question },
    { role: "assistant", content: answer.text.slice(0, 20_000) },
  ]);

  function addTurn(question) {
    const heading = make("h3", { textContent: question });
    const status = make("p", { className: "status", textContent: "Reading the question …" });
    const text = make("div", { className: "answer" });
    const section = make("section", { className: "turn", ariaLabel: question }, heading, status, text);
    const turn = { question, section, status, text, answer: null };
    welcome.hidden = true;
    again.hidden = false;
    talk.append(section);
    turns.push(turn);
    return turn;
  }

  function ask(question) {
    running?.abort();
    field.value = "";
    const before = history();
    const turn = addTurn(question);
    turn.section.scrollIntoView({ block: "start" });
    announce("Searching.");
    run(turn, before);
  }

  async function run(turn, before) {
    const controller = new AbortController();
    running = controller;
    send.hidden = true;
    stop.hidden = false;
    const show = (text) => { turn.status.textContent = text; };
    try {
      const body = { question: turn.question, history: before, sources };
      for await (const [event, data] of stream(`${server}/api/ask`, body, controller.signal)) {
        if (event === "started" && data.waiting) show(`Waiting; ${data.waiting} asked before you …`);
        else if (event === "planned") show("Searching …");
        else if (event === "found") show(`Comparing ${data.candidates} passages …`);
        else if (event === "reading") show(data.passages.length ? "Writing …" : "Looking again …");
        else if (event === "delta") setText(turn, data.html);
        else if (event === "error") throw new HttpError(data);
        else if (event === "done") {
          turn.answer = data.answer;
          showAnswer(turn);
          keep();
          announce(data.answer.found ? `The answer is complete, with ${data.answer.citations.length} sources.` : "Nothing in the sources answers this.");
          return;
        }
      }
      throw new HttpError({ message: "The connection broke before the answer was complete." });
    } catch (error) {
      if (!turns.includes(turn)) return; // a new conversation has begun
      if (controller.signal.aborted) fail(turn, before, { message: "Stopped." });
      else fail(turn, before, error instanceof HttpError ? error : UNREACHABLE);
    } finally {
      if (running === controller) {
        running = null;
        stop.hidden = true;
        send.hidden = false;
      }
    }
  }

  function fail(turn, before, error) {
    turn.status.hidden = true;
    const notice = make("div", { className: "notice", role: "alert" }, make("p", { textContent: [error.message, error.remedy].filter(Boolean).join(" ") }));
    if (error.retry !== false) {
      notice.append(button("Try again", () => {
        notice.remove();
        turn.text.replaceChildren();
        turn.status.hidden = false;
        turn.status.textContent = "Searching …";
        run(turn, before);
      }));
    }
    turn.section.append(notice);
  }

  function startAgain() {
    running?.abort();
    for (const turn of turns.splice(0)) turn.section.remove();
    welcome.hidden = false;
    again.hidden = true;
    keep();
    field.focus();
  }

  // -------------------------------------------------------------------------------------------------------- showing

  function setText(turn, html) {
    turn.text.replaceChildren(safeNodes(html));
    for (const link of turn.text.querySelectorAll("a.citation")) {
      const { number } = link.dataset;
      link.replaceWith(button(number, () => light(turn, number), { className: "citation", ariaLabel: `Source ${number}` }));
    }
    tame(turn.text);
  }

  function tame(element) {
    for (const table of element.querySelectorAll("table")) {
      const scroll = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Table" });
      table.replaceWith(scroll);
      scroll.append(table);
    }
    for (const pre of element.querySelectorAll("pre")) pre.tabIndex = 0;
  }

  function light(turn, number) {
    const cards = [...turn.section.querySelectorAll(".source")];
    for (const card of cards) card.classList.toggle("lit", card.dataset.number === number);
    const card = cards.find((one) => one.dataset.number === number);
    card?.scrollIntoView({ block: "nearest" });
    card?.querySelector("a")?.focus({ preventScroll: true });
  }

  function showAnswer(turn) {
    const { answer, section } = turn;
    turn.status.hidden = true;
    setText(turn, answer.html);
    if (answer.citations.length) section.append(sourceList("Sources", answer.citations, true));
    if (!answer.found && answer.nearest.length) section.append(sourceList("Nearest pages", answer.nearest, false));
    if (answer.id) section.append(actions(turn));
  }

  function sourceList(heading, citations, cited) {
    const cards = citations.map((citation) => card(citation, cited));
    return make("section", { className: "sources" }, make("h4", { textContent: heading }), make("ol", {}, ...cards));
  }

  function card(citation, cited) {
    const address = /^https?:\/\//i.test(citation.url || "") ? citation.url : "";
    const label = citation.title || citation.url || citation.source;
    const link = make(address ? "a" : "span", { textContent: label });
    if (address) {
      Object.assign(link, { href: address, rel: "noopener noreferrer" });
      if (new URL(address).origin !== location.origin) link.target = "_blank"; // on this site the conversation stays open
    }
    const place = [citation.headings.join(" › "), labels.get(citation.source), changed(citation.updated_at)].filter(Boolean).join(" · ");
    const item = make("li", { className: "source" }, cited && make("b", { textContent: citation.number }), link, place && make("p", { className: "place", textContent: place }));
    item.dataset.number = citation.number;
    if (cited) addQuote(item, citation.quote_html);
    return item;
  }

  function addQuote(item, html) {
    const quote = make("div", { className: "quote" }, safeNodes(html));
    for (const part of quote.querySelectorAll("p, td, li")) part.append(make("mark", {}, ...part.childNodes));
    tame(quote);
    item.append(quote);
    requestAnimationFrame(() => {
      if (quote.scrollHeight <= quote.clientHeight + 4) return;
      item.append(button("Show all", (pressed) => { pressed.textContent = quote.classList.toggle("all") ? "Show less" : "Show all"; }, { className: "more" }));
    });
  }

  function actions(turn) {
    const send = async (pressed, helpful, reason = "") => {
      try {
        await json(`${server}/api/answers/${turn.answer.id}/feedback`, { helpful, reason });
        turn.answer.helpful = helpful;
        mark();
        keep();
        announce("Thank you.");
        return true;
      } catch {
        pressed.textContent = "Couldn't send";
        return false;
      }
    };
    const yes = button("Helpful", (pressed) => send(pressed, true));
    const no = button("Not helpful", () => {
      if (form.isConnected) return;
      row.after(form);
      form.querySelector("textarea").focus();
    });
    const form = reasonForm((pressed, reason) => send(pressed, false, reason));
    const mark = () => {
      for (const [one, helpful] of [[yes, true], [no, false]]) {
        one.ariaPressed = String(turn.answer.helpful === helpful);
        one.disabled = turn.answer.helpful !== undefined; // one opinion: without a cookie a second would count again
      }
      if (turn.answer.helpful !== undefined) form.remove();
    };
    mark();
    const page = make("a", { href: `${server}/a/${turn.answer.id}`, target: "_blank", rel: "noopener", textContent: "Open as a page" });
    const row = make("div", { className: "actions" }, yes, no, page);
    return row;
  }

  function reasonForm(send) {
    const text = make("textarea", { rows: 2, maxLength: 2_000 });
    const label = make("label", {}, "What was wrong? (optional)", text);
    const form = make("form", { className: "reason" }, label, make("button", { type: "submit", textContent: "Send" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form.querySelector("button"), text.value.trim());
    });
    return form;
  }

  // ------------------------------------------------------------------------- from page to page of one visit of the site

  function keep() {
    const answered = turns.filter((turn) => turn.answer).slice(-MOST_TURNS);
    try {
      sessionStorage.setItem(kept, JSON.stringify(answered.map(({ question, answer }) => ({ question, answer }))));
    } catch {
      // storage is full or refused
    }
  }

  function restore() {
    let earlier = [];
    try {
      earlier = JSON.parse(sessionStorage.getItem(kept)) || [];
    } catch {
      // storage is refused
    }
    for (const { question, answer } of earlier) {
      const turn = addTurn(question);
      turn.answer = answer;
      showAnswer(turn);
    }
  }

  async function learn() {
    const known = await json(`${server}/api/sources`).catch(() => null);
    if (!known) return;
    name.textContent = known.name;
    for (const source of known.sources) labels.set(source.id, source.title);
    tries.replaceChildren(...known.suggestions.map((question) => button(question, () => ask(question))));
  }

  const ready = learn().then(restore);

  return {
    isOpen: () => dialog.open,
    close: () => dialog.close(),
    async open(question) {
      if (!dialog.open) dialog.showModal();
      field.focus();
      await ready;
      if (question) ask(question);
      else turns.at(-1)?.section.scrollIntoView({ block: "start" });
    },
  };
}
