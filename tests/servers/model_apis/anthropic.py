"""A small server with the part of Anthropic's Messages API that Lore uses, streamed and whole.

    with AnthropicServer(["The answer [1]."]) as server:
        LangChainChatModel("anthropic:claude-haiku-4-5", api_key="k", base_url=server.base_url, ...)

Each request takes one queued fault. Needs only the standard library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.servers.model_apis.models import Fault, ModelHandler, ModelServer, json_fault

__all__ = ["AnthropicServer", "Fault", "error", "stream_error"]

INPUT_TOKENS, CACHED_TOKENS = 60, 40
"""The reported input tokens of every message, new and from the cache: two figures in Anthropic's API."""


def error(status: int, kind: str, message: str, **headers: str) -> Fault:
    """An error in Anthropic's form; headers are given with underscores, such as Retry_After="1"."""
    return json_fault(status, _error(kind, message), headers)


def stream_error(kind: str, message: str) -> Fault:
    """A stream that starts with status 200 and continues with an error, as from an overloaded server."""
    events = [*message_events("m", "Some words first.")[:3], _error(kind, message)]
    body = b"".join(map(_event, events))
    return Fault(200, body, {"Content-Type": "text/event-stream"})


class Handler(ModelHandler):
    api: AnthropicServer

    def respond(self, body: dict[str, Any], fault: Fault) -> None:
        if self.path.partition("?")[0] != "/v1/messages":
            self.send(404, json.dumps(_error("not_found_error", "Not found")).encode(), {})
        elif "output_config" in body and not self.api.takes_schema:
            message = "output_config.format: Extra inputs are not permitted"
            self.send(400, json.dumps(_error("invalid_request_error", message)).encode(), {})
        elif body.get("stream"):
            self.stream(message_events(body["model"], self.api.reply(body)), fault, _event)
        else:
            self.answer(message_of(body["model"], self.api.reply(body)), fault)


class AnthropicServer(ModelServer):
    """Serves on a free port of 127.0.0.1 while the context is open."""

    handler = Handler

    def __init__(
        self, replies: Iterable[str] | Callable[[dict[str, Any]], str] = (), *, takes_schema: bool = True
    ) -> None:
        super().__init__(replies)
        self.takes_schema = takes_schema


def message_of(model: str, text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": _usage(len(text.split())),
    }


def message_events(model: str, text: str) -> list[dict[str, Any]]:
    """The events of a streamed message, one word each."""
    start = message_of(model, "") | {"content": [], "stop_reason": None, "usage": _usage(1)}
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in words),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": _usage(len(words)),
        },
        {"type": "message_stop"},
    ]


def _usage(output_tokens: int) -> dict[str, Any]:
    return {
        "input_tokens": INPUT_TOKENS,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED_TOKENS,
        "output_tokens": output_tokens,
    }


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _event(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
