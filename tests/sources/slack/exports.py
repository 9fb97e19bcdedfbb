"""Exports that the tests of Slack share."""

from __future__ import annotations

import json

from lore.declarations import SlackExportDeclaration
from lore.sources.slack.export import SlackExportSource

CHANNELS = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "deploys"}]


USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann  Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {"real_name": ""}},
    {"id": "UB", "name": "robot", "is_bot": True, "profile": {"real_name": "Robot"}},
]


NOON = 1_700_049_600  # 2023-11-15 12:00 UTC


def say(minutes: float, text: str, user: str | None = "U1", **more: object) -> dict[str, object]:
    ts = f"{NOON + int(minutes * 60)}.000100"
    return {"type": "message", "ts": ts, "text": text} | ({"user": user} if user else {}) | more


def ts(minutes: float) -> str:
    return f"{NOON + int(minutes * 60)}.000100"


def write(folder, days: dict[str, object], users=USERS, channels=CHANNELS, **lists):
    files = {"users.json": users, "channels.json": channels, **{f"{name}.json": value for name, value in lists.items()}}
    for name, value in (files | days).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def source_of(path, **options) -> SlackExportSource:
    return SlackExportSource(SlackExportDeclaration(id="slack", path=path, **options))


def documents(source):
    return {document.id: document for batch in source.read(None) for document in batch.documents}


def only(source):
    (document,) = documents(source).values()
    return document
