"""A small server with the part of Ollama's chat call that Lore uses: lines of JSON, streamed and whole.

    with OllamaServer(["The answer [1]."]) as server:
        LangChainChatModel("ollama:tiny", api_key=None, base_url=server.base_url, ...)

Each request takes one queued fault. Needs only the standard library.
"""

from __future__ import annotations

import json
from typing import Any

from tests.servers.model_apis.models import Fault, ModelHandler, ModelServer, json_fault

__all__ = ["Fault", "OllamaServer", "error", "stream_error"]

PROMPT_TOKENS = 100


def error(status: int, message: str, **headers: str) -> Fault:
    """An error in Ollama's form; headers are given with underscores."""
    return json_fault(status, {"error": message}, headers)


def stream_error(message: str) -> Fault:
    """A stream that starts with status 200 and continues with an error."""
    lines = [*chat_events("m", "Some words first.")[:2], {"error": message}]
    return Fault(200, b"".join(map(_line, lines)), {"Content-Type": "application/x-ndjson"})


class Handler(ModelHandler):
    def respond(self, body: dict[str, Any], fault: Fault) -> None:
        if self.path != "/api/chat":
            self.send(404, b'{"error": "not found"}', {})
        elif body.get("stream", True):
            self.stream(chat_events(body["model"], self.api.reply(body)), fault, _line)
        else:
            self.answer(_end(body["model"], self.api.reply(body)), fault)


class OllamaServer(ModelServer):
    """Serves on a free port of 127.0.0.1 while the context is open."""

    handler = Handler


def chat_events(model: str, text: str) -> list[dict[str, Any]]:
    """The lines of a streamed answer, one word each, the last one with the usage."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    head = {"model": model, "created_at": "2026-11-30T12:00:00.000000Z"}
    lines = [head | {"message": {"role": "assistant", "content": word}, "done": False} for word in words]
    end = _end(model, "")
    return [*lines, end | {"eval_count": len(words)}]


def _end(model: str, text: str) -> dict[str, Any]:
    return {
        "model": model,
        "created_at": "2026-11-30T12:00:00.000000Z",
        "message": {"role": "assistant", "content": text},
        "done": True,
        "done_reason": "stop",
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": PROMPT_TOKENS,
        "prompt_eval_duration": 2_000_000,
        "eval_count": len(text.split()),
        "eval_duration": 2_000_000,
    }


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode() + b"\n"
