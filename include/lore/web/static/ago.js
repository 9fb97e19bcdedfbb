// How long ago something was, in words.
const DAY = 86_400_000;

export function ago(iso) {
  if (!iso) return "";
  const days = Math.floor((Date.now() - Date.parse(iso)) / DAY);
  if (days < 1) return "today";
  if (days === 1) return "yesterday";
  return days < 60 ? `${days} days ago` : new Date(iso).toLocaleDateString(undefined, { dateStyle: "medium" });
}

export function changed(iso) {
  return iso ? `changed ${ago(iso)}` : "";
}
