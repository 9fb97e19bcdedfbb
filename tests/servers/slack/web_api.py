"""A small server that speaks the part of Slack's Web API that Lore reads: the wire format, paging, limits and faults.

    with SlackServer(channels, users, messages) as slack:
        ...  # point a slack declaration's base_url at slack.base_url

Built from Slack's public documentation of the methods. It needs nothing but the standard library.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.servers.github import Fault, Request
from tests.servers.local import LocalServer, QuietHandler, take_fault

Payload = Mapping[str, Any]

TOKEN = "xoxb-test-token"
LOGIN_PAGE = b"<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in</body></html>"


def ratelimited(retry_after: str = "30", match: str = "", times: int = 1, after: int = 0) -> Fault:
    """Slack's rate limit: 429 with Retry-After."""
    body = b'{"ok":false,"error":"ratelimited"}'
    return Fault(match, 429, {"Retry-After": retry_after}, body, times=times, after=after)


def refuses(error: str, match: str = "", times: int = 1, after: int = 0, **more: object) -> Fault:
    """An answer that is not ok, as Slack gives it: with status 200."""
    body = json.dumps({"ok": False, "error": error, **more}).encode()
    return Fault(match, 200, body=body, times=times, after=after)


class _Handler(QuietHandler):
    api: SlackServer

    def do_GET(self) -> None:
        slack = self.api
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        with slack._lock:
            slack.requests.append(Request(parts.path, query, {k.lower(): v for k, v in self.headers.items()}))
            if slack.before:
                slack.before(len(slack.requests))
            fault = take_fault(slack.faults, self.path)
            known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            status, content_type, body = self._answer(parts.path, query, known)
        told = {"x-oauth-scopes": ",".join(sorted(slack.scopes))} if known and slack.tells_scopes else {}
        self.reply(status, {"Content-Type": content_type, **told}, body, fault)

    def _answer(self, path: str, query: Payload, known: bool) -> tuple[int, str, bytes]:
        slack = self.api
        if path.startswith("/files-pri/"):
            if not known or "files:read" not in slack.scopes:
                return 200, "text/html; charset=utf-8", LOGIN_PAGE
            content = slack.files.get(path.split("/")[2].partition("-")[2])
            return (
                (200, "text/plain", content) if content is not None else (404, "text/html", b"<html>Not found</html>")
            )
        if not known:
            given = self.headers.get("Authorization")
            answer: Payload = {"ok": False, "error": "invalid_auth" if given else "not_authed"}
        else:
            answer = slack.answer(path.rpartition("/")[2], query)
        return 200, "application/json; charset=utf-8", json.dumps(answer).encode()


class SlackServer(LocalServer):
    """Serves one workspace on 127.0.0.1 while the `with` block runs.

    `messages` are lists by channel id, in any order, as an export has them; `files` are the bytes of files by id. All
    may be changed while it runs. `scopes` are the token's, `max_limit` the most messages it gives in a page, and
    `before` is called with each request's number, from 1, before it is answered.
    """

    handler = _Handler
    root = "/api"

    def __init__(
        self,
        channels: Iterable[Payload] = (),
        users: Iterable[Payload] = (),
        messages: Mapping[str, Sequence[Payload]] | None = None,
        *,
        files: Mapping[str, bytes] | None = None,
        faults: Sequence[Fault] = (),
        scopes: Iterable[str] = (
            "channels:history", "channels:read", "groups:history", "groups:read", "users:read", "files:read"
        ),
        max_limit: int = 999,
        url: str = "https://acme.slack.com/",
        strangers: Iterable[Payload] = (),
        before: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        self.channels = [dict(channel) for channel in channels]
        self.users = list(users)
        self.messages = {key: [dict(one) for one in value] for key, value in (messages or {}).items()}
        self.files = dict(files or {})
        self.file_objects: dict[str, Payload] = {}
        self.faults = list(faults)
        self.scopes = set(scopes)
        self.max_limit = max_limit
        self.url = url
        self.strangers = list(strangers)
        self.before = before
        self.tells_scopes = True
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def calls(self, start: int = 0) -> dict[str, int]:
        """How often each method was called, from the request with this number on."""
        counts: dict[str, int] = {}
        for request in self.requests[start:]:
            name = request.path.rpartition("/")[2]
            counts[name] = counts.get(name, 0) + 1
        return counts

    def answer(self, method: str, query: Mapping[str, str]) -> Payload:
        """What the method answers."""
        found = getattr(self, "_" + method.replace(".", "_"), None)
        return found(query) if found else {"ok": False, "error": "unknown_method"}

    def _auth_test(self, _: Payload) -> Payload:
        return {"ok": True, "url": self.url, "team": "Acme", "user": "lore", "team_id": "T1", "user_id": "UBOT"}

    def _conversations_list(self, query: Payload) -> Payload:
        types = query.get("types", "public_channel").split(",")
        needed = ["groups:read" if one == "private_channel" else "channels:read" for one in types]
        if refusal := self._lacks(*needed):
            return refusal
        kinds = {"private_channel": True, "public_channel": False}
        wanted = {kinds.get(name) for name in types}
        rows = [one for one in map(_as_channel, self.channels) if one["is_private"] in wanted]
        rows = [one for one in rows if one["is_member"] or not one["is_private"]]
        if query.get("exclude_archived") == "true":
            rows = [one for one in rows if not one.get("is_archived")]
        return self._listed("channels", rows, query)

    def _conversations_info(self, query: Payload) -> Payload:
        channel = self._channel(query)
        if channel is None or (channel["is_private"] and not channel["is_member"]):
            return {"ok": False, "error": "channel_not_found"}
        needed = "groups:read" if channel["is_private"] else "channels:read"
        return self._lacks(needed) or {"ok": True, "channel": channel}

    def _users_list(self, query: Payload) -> Payload:
        return self._lacks("users:read") or self._listed("members", self.users, query)

    def _users_info(self, query: Payload) -> Payload:
        found = [user for user in [*self.users, *self.strangers] if user["id"] == query.get("user")]
        return {"ok": True, "user": found[0]} if found else {"ok": False, "error": "user_not_found"}

    def _files_info(self, query: Payload) -> Payload:
        found = self.file_objects.get(query.get("file", ""))
        return self._lacks("files:read") or (
            {"ok": True, "file": found} if found else {"ok": False, "error": "file_not_found"}
        )

    def _conversations_history(self, query: Payload) -> Payload:
        if refusal := self._unreadable(query):
            return refusal
        latest, oldest = float(query.get("latest", "inf")), float(query.get("oldest", 0))
        shown = [one for one in self._shown(query["channel"]) if oldest < float(one["ts"]) < latest]
        return self._paged(sorted(shown, key=lambda one: float(one["ts"]), reverse=True), query)

    def _conversations_replies(self, query: Payload) -> Payload:
        if refusal := self._unreadable(query):
            return refusal
        ts = query["ts"]
        thread = [one for one in self.messages.get(query["channel"], []) if one.get("thread_ts", one["ts"]) == ts]
        if not thread:
            return {"ok": False, "error": "thread_not_found"}
        if all(one["ts"] != ts for one in thread):
            thread.append(self._tombstone(ts))
        oldest = float(query.get("oldest", 0))
        rows = [self._counted(query["channel"], one) for one in sorted(thread, key=lambda one: float(one["ts"]))]
        after = [row for row in rows[1:] if float(row["ts"]) > oldest]
        return self._paged([rows[0], *after], query)

    def _shown(self, channel: str) -> list[Payload]:
        """What history has: no replies, but those that were sent to the channel too; a deleted root as tombstone."""
        messages = self.messages.get(channel, [])
        present = {one["ts"] for one in messages}
        lost = {one["thread_ts"] for one in messages if one.get("thread_ts", one["ts"]) not in present}
        top = [
            one
            for one in messages
            if one.get("thread_ts", one["ts"]) == one["ts"] or one.get("subtype") == "thread_broadcast"
        ]
        return [self._counted(channel, one) for one in [*top, *map(self._tombstone, lost)]]

    def _tombstone(self, ts: str) -> dict[str, Any]:
        text = "This message was deleted."
        return {"type": "message", "subtype": "tombstone", "text": text, "hidden": True, "ts": ts, "thread_ts": ts}

    def _counted(self, channel: str, message: Payload) -> Payload:
        ts = message["ts"]
        replies = [one for one in self.messages.get(channel, []) if one.get("thread_ts") == ts and one["ts"] != ts]
        if not replies:
            return message
        people = list(dict.fromkeys(one.get("user") or one.get("bot_id") or "U0" for one in replies))
        last = max((one["ts"] for one in replies), key=float)
        more = {"thread_ts": ts, "reply_count": len(replies), "reply_users_count": len(people)}
        return {**message, **more, "latest_reply": last, "reply_users": people[:5]}

    def _unreadable(self, query: Payload) -> Payload | None:
        channel = self._channel(query)
        if channel is None or (channel["is_private"] and not channel["is_member"]):
            return {"ok": False, "error": "channel_not_found"}
        if not channel["is_member"]:
            return {"ok": False, "error": "not_in_channel"}
        return self._lacks("groups:history" if channel["is_private"] else "channels:history")

    def _channel(self, query: Payload) -> Payload | None:
        return next((_as_channel(one) for one in self.channels if one["id"] == query.get("channel")), None)

    def _lacks(self, *needed: str) -> Payload | None:
        lacking = [scope for scope in needed if scope not in self.scopes]
        provided = ",".join(sorted(self.scopes))
        error = {"ok": False, "error": "missing_scope", "needed": lacking[0] if lacking else "", "provided": provided}
        return error if lacking else None

    def _listed(self, key: str, rows: Sequence[Payload], query: Payload) -> Payload:
        start = _position(query.get("cursor", ""), "offset")
        if start is None:
            return {"ok": False, "error": "invalid_cursor"}
        first, limit = int(start or 0), int(query.get("limit", 100))
        more = first + limit < len(rows)
        cursor = _cursor("offset", str(first + limit)) if more else ""
        return {"ok": True, key: rows[first : first + limit], "response_metadata": {"next_cursor": cursor}}

    def _paged(self, rows: Sequence[Payload], query: Payload) -> Payload:
        """A page from the message on that the cursor names, as Slack's do: what comes or goes before shifts nothing."""
        start = _position(query.get("cursor", ""), "next_ts")
        if start is None:
            return {"ok": False, "error": "invalid_cursor"}
        limit = min(self.max_limit, int(query.get("limit", 100)))
        if start:
            down = len(rows) > 1 and float(rows[0]["ts"]) > float(rows[-1]["ts"])
            rows = [
                row for row in rows if (float(row["ts"]) <= float(start) if down else float(row["ts"]) >= float(start))
            ]
        page, more = rows[:limit], len(rows) > limit
        answer = {"ok": True, "messages": page, "has_more": more}
        return (
            {**answer, "response_metadata": {"next_cursor": _cursor("next_ts", rows[limit]["ts"])}} if more else answer
        )


def _as_channel(channel: Payload) -> Payload:
    return {"is_channel": True, "is_member": True, "is_private": False, **channel}


def _cursor(kind: str, value: str) -> str:
    return base64.b64encode(f"{kind}:{value}".encode()).decode()


def _position(cursor: str, kind: str) -> str | None:
    """What the cursor points to, "" without one, None when it is not one of this list."""
    try:
        given, _, value = base64.b64decode(cursor, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return value if given in (kind, "") else None
