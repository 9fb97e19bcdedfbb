"""A small server with the part of Amazon Bedrock's Converse API that Lore uses, streamed and whole.

    with BedrockServer(["The answer [1]."]) as server:
        LangChainChatModel("bedrock_converse:MODEL_ID", api_key=None, base_url=server.base_url, ...)

Streams are in AWS's binary event format. Each request takes one queued fault. Needs only the standard library.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from tests.servers.model_apis.models import Fault, ModelHandler, ModelServer

__all__ = ["BedrockServer", "Fault", "error", "stream_error"]

INPUT_TOKENS = 100
TEXT_HEADER = 7


def error(status: int, kind: str, message: str, **headers: str) -> Fault:
    """An error in Bedrock's form; headers are given with underscores."""
    named = {"x-amzn-ErrorType": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(status, json.dumps({"message": message}).encode(), named)


def stream_error(kind: str, message: str) -> Fault:
    """A stream that starts with status 200 and continues with an error."""
    events = [*converse_events("Some words first.")[:2], {":exception-type": kind, "message": message}]
    return Fault(200, b"".join(map(_event, events)), {"Content-Type": "application/vnd.amazon.eventstream"})


class Handler(ModelHandler):
    def respond(self, body: dict[str, Any], fault: Fault) -> None:
        if self.path.endswith("/converse-stream"):
            self.stream(converse_events(self.api.reply(body)), fault, _event)
        elif self.path.endswith("/converse"):
            self.answer(converse(self.api.reply(body)), fault)
        else:
            self.send(404, b'{"message": "not found"}', {})


class BedrockServer(ModelServer):
    """Serves on a free port of 127.0.0.1 while the context is open."""

    handler = Handler


def converse(text: str) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": "end_turn",
        "usage": _usage(text),
        "metrics": {"latencyMs": 1},
    }


def converse_events(text: str) -> list[dict[str, Any]]:
    """The events of a streamed answer, one word each; ":event-type" becomes the header of its message."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    return [
        {":event-type": "messageStart", "role": "assistant"},
        *({":event-type": "contentBlockDelta", "contentBlockIndex": 0, "delta": {"text": word}} for word in words),
        {":event-type": "contentBlockStop", "contentBlockIndex": 0},
        {":event-type": "messageStop", "stopReason": "end_turn"},
        {":event-type": "metadata", "usage": _usage(text), "metrics": {"latencyMs": 1}},
    ]


def _usage(text: str) -> dict[str, int]:
    words = len(text.split())
    return {"inputTokens": INPUT_TOKENS, "outputTokens": words, "totalTokens": INPUT_TOKENS + words}


def _event(event: dict[str, Any]) -> bytes:
    """A message of AWS's event stream: lengths, headers and payload, each part with its checksum."""
    names = {name: value for name, value in event.items() if name.startswith(":")}
    payload = json.dumps({name: value for name, value in event.items() if name not in names}).encode()
    names[":message-type"] = "exception" if ":exception-type" in names else "event"
    names[":content-type"] = "application/json"
    headers = b"".join(
        bytes([len(name)]) + name.encode() + bytes([TEXT_HEADER]) + struct.pack(">H", len(value)) + value.encode()
        for name, value in names.items()
    )
    prelude = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))
