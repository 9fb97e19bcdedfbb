// Who reads: a login, or a key where the server asks for one.
import { json, useKey } from "./api.js";
import { root, by, make } from "./dom.js";

export function loginLink(path) {
  const link = make("a", "Log in", "primary");
  link.href = `${root}${path}?to=${encodeURIComponent(location.pathname.slice(root.length) + location.search)}`;
  return link;
}

export const needsKey = (error) => error.status === 401 && !error.login;

export function keyForm(again) {
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

export function showReader(reader, login) {
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
