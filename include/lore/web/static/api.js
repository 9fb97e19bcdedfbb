// Calls of the API: JSON, and a stream of server-sent events.
export class HttpError extends Error {
  constructor({ message, remedy = "", retry = true, login = "" }, status = 0) {
    super(message);
    this.remedy = remedy;
    this.retry = retry;
    this.login = login;
    this.status = status;
  }
}

// A key of the API, for servers that answer holders of one alone; it stays until the tab is closed.
const KEY = "lore-key";
const stored = () => { try { return sessionStorage.getItem(KEY); } catch { return null; } };
let key = stored();

export function useKey(text) {
  key = text;
  try { sessionStorage.setItem(KEY, text); } catch { /* storage is refused */ }
}

const withKey = (headers) => (key ? { ...headers, Authorization: `Bearer ${key}` } : headers);

async function checked(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  const unnamed = { message: `The server answered with status ${response.status}.`, retry: true };
  throw new HttpError(body?.error || unnamed, response.status);
}

const posted = (body, accept) => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: withKey({ "Content-Type": "application/json", Accept: accept }),
});

export async function json(url, body) {
  const accept = "application/json";
  const response = await fetch(url, body ? posted(body, accept) : { headers: withKey({ Accept: accept }) }).catch(() => {
    throw new HttpError({ message: "The server can't be reached.", remedy: "Check your connection.", retry: true });
  });
  await checked(response);
  return response.status === 204 ? null : response.json();
}

export async function* stream(url, body, signal) {
  const response = await checked(await fetch(url, { ...posted(body, "text/event-stream"), signal }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pending += value;
    const messages = pending.split("\n\n");
    pending = messages.pop();
    for (const message of messages) {
      const name = message.match(/^event: (.*)$/m)?.[1];
      const data = message.match(/^data: (.*)$/m)?.[1];
      if (name && data) yield [name, JSON.parse(data)];
    }
  }
}
