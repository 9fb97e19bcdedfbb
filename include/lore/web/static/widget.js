// One tag puts a button on any site; the panel is loaded when somebody opens it. The host page's policy needs this
// server in script-src and connect-src alone: styles are constructed, and nothing of the page is changed.
(() => {
  const script = document.currentScript;
  if (!script || document.getElementById("lore-widget")) return;
  const server = new URL(".", script.src).href.replace(/\/$/, "");
  const { title = "Ask", position = "right", theme = "auto", shortcut = "", sources = "", placeholder = "" } = script.dataset;
  const options = { server, title, placeholder, sources: sources.split(",").map((id) => id.trim()).filter(Boolean) };

  const STYLE = `
    :host { all: initial; color-scheme: light dark;
      --accent: var(--lore-accent, light-dark(#2f5d50, #8fc7b4)); --accent-ink: var(--lore-accent-text, light-dark(#fff, #10201a));
      font: 16px/1.55 var(--lore-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif); }
    :host([data-theme=light]) { color-scheme: light; } :host([data-theme=dark]) { color-scheme: dark; }
    #open { position: fixed; bottom: 20px; right: 20px; z-index: var(--lore-z-index, 2147483000); display: inline-flex; align-items: center;
      gap: 10px; min-height: 48px; padding: 0 18px; border: 0; border-radius: 24px; font: inherit; font-weight: 600;
      background: var(--accent); color: var(--accent-ink); cursor: pointer; text-decoration: none; box-shadow: 0 2px 6px rgb(0 0 0 / .18), 0 8px 28px rgb(0 0 0 / .16); }
    :host([data-position=left]) #open { right: auto; left: 20px; }
    #open svg { width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round; }
    #open kbd { font: inherit; font-size: .75em; font-weight: 400; padding: 1px 6px; border: 1px solid; border-radius: 6px; }
    #open:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
    @media (max-width: 480px) { #open kbd { display: none; } }
    @media print { #open { display: none; } }`;

  const host = document.createElement("div");
  host.id = "lore-widget";
  host.dataset.position = position;
  host.dataset.theme = theme;
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];

  const withKeys = shortcut !== "none";
  const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? ["Meta+K", "⌘K"] : ["Control+K", "Ctrl K"];

  function icon() {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const path = document.createElementNS(space, "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", "M4 5h16v11h-9l-5 4v-4H4zM8 9h8M8 12h5");
    svg.append(path);
    return svg;
  }

  function launcher(tag) {
    const made = document.createElement(tag);
    made.id = "open";
    made.append(icon(), title);
    return made;
  }

  const button = launcher("button");
  button.type = "button";
  button.setAttribute("aria-haspopup", "dialog");
  if (withKeys) {
    button.setAttribute("aria-keyshortcuts", keys[0]);
    const hint = document.createElement("kbd");
    hint.textContent = keys[1];
    hint.setAttribute("aria-hidden", "true");
    button.append(hint);
  }
  shadow.append(button);

  let panel = null;
  let loading = null;

  async function open(question = "") {
    loading ??= import(`${server}/static/widget_panel.js`).then((module) => module.makePanel(shadow, options));
    try {
      panel = await loading;
    } catch (error) {
      console.error(`The assistant at ${server} can't be used on this site. Its setting LORE_WEB_SITES needs ${location.origin}.`, error);
      const link = launcher("a");
      link.href = `${server}/`;
      link.target = "_blank";
      link.rel = "noopener";
      shadow.getElementById("open").replaceWith(link);
      link.focus();
      return;
    }
    panel.open(question);
  }

  button.addEventListener("click", () => open());
  document.addEventListener("keydown", (event) => {
    if (!withKeys || event.defaultPrevented || event.altKey || event.shiftKey) return;
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    if (panel?.isOpen()) panel.close();
    else open();
  });
  document.addEventListener("click", (event) => {
    const asking = event.target.closest?.("[data-lore-ask]");
    if (!asking || event.defaultPrevented) return;
    event.preventDefault();
    open(asking.dataset.loreAsk);
  });

  const show = () => document.body.append(host);
  if (document.body) show();
  else document.addEventListener("DOMContentLoaded", show);
})();
