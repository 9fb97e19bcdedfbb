"""A small server with the part of OpenAI's API that Lore uses: embeddings, and chat completions with streaming.

    with OpenAIServer() as server:
        OpenAIEmbedder("text-embedding-3-small", api_key="k", base_url=server.base_url, ...)

Each request takes one queued fault. Needs only the standard library.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Iterable
from typing import Any

from tests.servers.model_apis.models import Fault, ModelHandler, ModelServer, Request, json_fault

__all__ = ["Fault", "OpenAIServer", "Request", "embedding_of", "error"]

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
PROMPT_TOKENS, CACHED_TOKENS = 100, 40
"""The reported input tokens of every completion."""


def error(status: int, message: str, code: str | None = None, **headers: str) -> Fault:
    """An error in OpenAI's form; headers are given with underscores, such as Retry_After="0.01"."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return json_fault(status, body, headers)


class Handler(ModelHandler):
    api: OpenAIServer

    def respond(self, body: dict[str, Any], fault: Fault) -> None:
        if self.path == "/v1/embeddings":
            self.answer(self.api.embeddings(body), fault)
        elif self.path.partition("?")[0].endswith("/chat/completions"):
            self.chat(body, fault)
        else:
            self.send(404, b'{"error": {"message": "Unknown path"}}', {})

    def chat(self, body: dict[str, Any], fault: Fault) -> None:
        unknown = [name for name in self.api.unknown_options if name in body]
        if unknown:
            self.send(400, error(400, f"'{unknown[0]}' is not supported.").body or b"", {})
        elif body.get("stream"):
            with_usage = body.get("stream_options", {}).get("include_usage", False)
            events = completion_events(body["model"], self.api.reply(body), with_usage, self.api.pieces)
            self.stream(events, fault, lambda event: f"data: {json.dumps(event)}\n\n".encode(), b"data: [DONE]\n\n")
        else:
            self.answer(completion(body["model"], self.api.reply(body)), fault)


class OpenAIServer(ModelServer):
    """Chat answers are a list or a function. The server rejects `unknown_options`. `pieces` cuts streamed answers.

    Embeddings have `dimensions` numbers (default: the model's, or the request's), made from a hash of the text and
    deliberately not of unit length.
    """

    handler = Handler
    root = "/v1"

    def __init__(
        self,
        replies: Iterable[str] | Callable[[dict[str, Any]], str] = (),
        *,
        dimensions: int = 8,
        unknown_options: tuple[str, ...] = (),
        pieces: Callable[[str], list[str]] | None = None,
    ) -> None:
        super().__init__(replies)
        self.pieces = pieces or words_of
        self.dimensions = dimensions
        self.unknown_options = unknown_options

    def embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        inputs = [body["input"]] if isinstance(body["input"], str) else body["input"]
        size = body.get("dimensions") or DIMENSIONS.get(body["model"], self.dimensions)
        data = []
        for index, text in enumerate(inputs):
            vector = embedding_of(text, size)
            packed = base64.b64encode(struct.pack(f"<{size}f", *vector)).decode()
            value = packed if body.get("encoding_format") == "base64" else vector
            data.append({"object": "embedding", "index": index, "embedding": value})
        tokens = sum(len(text.split()) for text in inputs)
        return {
            "object": "list",
            "data": data,
            "model": body["model"],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


def embedding_of(text: str, size: int) -> list[float]:
    """The server's vector for a text; equal texts have equal vectors."""
    seed = hashlib.sha256(text.encode()).digest()
    return [(seed[at % 32] - 127.5 + at % 7) / 64 for at in range(size)]


def usage_of(text: str) -> dict[str, Any]:
    """One token per word."""
    tokens = len(text.split())
    return {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": tokens,
        "total_tokens": PROMPT_TOKENS + tokens,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def completion(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": usage_of(text),
    }


def words_of(text: str) -> list[str]:
    """The text in pieces of a word."""
    words = [word + " " for word in text.split(" ")]
    return [*words[:-1], words[-1][:-1]]


def completion_events(
    model: str, text: str, with_usage: bool, pieces: Callable[[str], list[str]]
) -> list[dict[str, Any]]:
    """The events of a streamed completion, and at the end the usage on request."""

    def event(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
        return head | {"choices": list(choices)} | ({"usage": None} if with_usage else {}) | more

    def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}

    return [
        event(choice({"role": "assistant", "content": ""})),
        *(event(choice({"content": piece})) for piece in pieces(text)),
        event(choice({}, "stop")),
        *([event(usage=usage_of(text))] if with_usage else []),
    ]
