// An answer as its reader sees it: text, sources, what one may do with it. HTML comes from the server, which has made it safe;
// everything else is set as text.
import { json } from "./api.js";
import { changed } from "./ago.js";
import { root, make, button, webAddress, announce, leaveFrame } from "./dom.js";

export const labels = new Map(); // titles of the sources, by id

export function setHtml(element, html, prefix) {
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
  leaveFrame(link);
}

export function addCodeButtons(element) {
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

export function quoteBox(citation) {
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

export function sourceHead(citation, numbered) {
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

export function sourcePlace(citation) {
  return make("p", [citation.headings.join(" › "), labels.get(citation.source) || citation.source, changed(citation.updated_at)].filter(Boolean).join(" · "), "source-place");
}

export function sourceList(title, citations, prefix, nearest = false) {
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

export function actions(turn) {
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

export function details(answer) {
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
