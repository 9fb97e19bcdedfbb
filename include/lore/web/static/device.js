// What is kept on this device alone; a browser that refuses storage loses nothing else.
const KEY = "lore:";
const MOST = 50;

export function load(name) {
  try {
    return JSON.parse(localStorage.getItem(KEY + name));
  } catch {
    return null;
  }
}

export function save(name, value) {
  try {
    localStorage.setItem(KEY + name, JSON.stringify(value));
  } catch {
    // storage is full or refused
  }
}

export function clear(name) {
  try {
    localStorage.removeItem(KEY + name);
  } catch {
    // storage is refused
  }
}

export function remember(entry) {
  const known = (load("history") || []).filter((one) => one.id !== entry.id);
  save("history", [entry, ...known].slice(0, MOST));
}
