// Elements of the page, made and found.
export const root = document.body.dataset.root;
export const by = (id) => document.getElementById(id);
export const make = (tag, text = "", className = "") => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (className) element.className = className;
  return element;
};
export const button = (text, act, className = "") => {
  const made = make("button", text, className);
  made.type = "button";
  made.addEventListener("click", () => act(made));
  return made;
};
export const webAddress = (url) => (/^https?:\/\//i.test(url || "") ? url : "");
export const announce = (text) => { by("announce").textContent = text; };

// A frame's sandbox opens no window; its parent does.
export function leaveFrame(link) {
  if (window.parent === window) return;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    window.parent.open(link.href, "_blank", "noopener");
  });
}
