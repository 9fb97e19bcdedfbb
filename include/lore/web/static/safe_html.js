// HTML from the server as nodes, without innerHTML: a page with Trusted Types allows it, and only known elements come to be.
const TAGS = new Set(
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split(" "),
);
const LONE = new Set(["br", "hr"]);
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0" };
const PIECE = /<\/([a-z0-9]+)>|<([a-z0-9]+)((?:\s+[a-z-]+="[^"]*")*)\s*\/?>|([^<]+|<)/gi;

const plain = (text) => text.replace(/&(\w+);/g, (all, name) => ENTITIES[name] ?? all);

function setAttributes(element, text) {
  for (const [, name, value] of text.matchAll(/([a-z-]+)="([^"]*)"/gi)) {
    const given = plain(value);
    if (name === "class") element.className = given;
    else if (name === "data-number") element.dataset.number = given;
    else if (name === "start") element.setAttribute("start", given);
    else if (name === "href" && /^https?:\/\//i.test(given)) {
      element.href = given;
      element.target = "_blank";
      element.rel = "noopener noreferrer nofollow";
    }
  }
}

export function safeNodes(html) {
  const root = document.createDocumentFragment();
  const open = [root];
  for (const [, closed, opened, attributes, text] of html.matchAll(PIECE)) {
    const within = open.at(-1);
    if (text) within.append(plain(text));
    else if (closed) {
      const at = open.findLastIndex((element) => element.localName === closed.toLowerCase());
      if (at > 0) open.length = at;
    } else if (TAGS.has(opened.toLowerCase())) {
      const element = document.createElement(opened);
      setAttributes(element, attributes);
      within.append(element);
      if (!LONE.has(element.localName)) open.push(element);
    }
  }
  return root;
}
