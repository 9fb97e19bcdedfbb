"""The API of OpenAI's chat completions: any chat client asks Lore as if it were a language model.

A stream can't take back what it has shown, so the text comes once it is verified. Until then the connection is kept
open by comments, which clients skip.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse

from lore.errors import LoreError
from lore.query.events import Answered, Event
from lore.types import Answer, Question
from lore.web.asking import Asking, last_item
from lore.web.callers import Caller
from lore.web.chat.request import ChatBody, ChatRequestError, read_chat
from lore.web.chat.text import CitedText, cited_text, pieces_of
from lore.web.http_errors import status_of

__all__ = ["make_openai_routes"]

SURFACE = "openai"
MODEL = "lore"
"""The model that searches all sources; `lore:SOURCE` searches one."""
KEEP_SECONDS = 10.0
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
BROKEN_OFF = "The answer broke off. Ask again."
TYPES = {401: "authentication_error", 404: "invalid_request_error", 429: "rate_limit_error"}
SCHEMA: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": ChatBody.model_json_schema(),
                "example": {"model": MODEL, "messages": [{"role": "user", "content": "How do I rotate an API key?"}]},
            }
        },
    }
}


def make_openai_routes(asking: Asking) -> APIRouter:
    """Return the routes below /v1."""
    routes = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
    _add_models(routes, asking)
    _add_completions(routes, asking)
    return routes


def _models_of(asking: Asking, caller: Caller) -> list[str]:
    return [MODEL, *(f"{MODEL}:{source.id}" for source in asking.services.sources(caller.audiences))]


def _add_models(routes: APIRouter, asking: Asking) -> None:
    def models_of_sender(request: Request) -> list[str]:
        return _models_of(asking, asking.callers.identify(request))

    @routes.get("/models", response_model=None)
    async def models(request: Request) -> Response | dict[str, Any]:
        """List the models: `lore`, and `lore:SOURCE` for each source that the caller may read."""
        try:
            names = await run_in_threadpool(models_of_sender, request)
        except LoreError as error:
            return _error(error)
        return {"object": "list", "data": list(map(_model, names))}

    @routes.get("/models/{name}", response_model=None)
    async def model(name: str, request: Request) -> Response | dict[str, Any]:
        """Return one model."""
        try:
            return _model(name) if name in await run_in_threadpool(models_of_sender, request) else _no_model(name)
        except LoreError as error:
            return _error(error)


def _add_completions(routes: APIRouter, asking: Asking) -> None:
    @routes.post("/chat/completions", response_model=None, openapi_extra=SCHEMA)
    async def complete(request: Request) -> Response | dict[str, Any]:
        """Answer the last message of a user; the messages before it are the conversation. System prompts are ignored.

        Sampling parameters change nothing. Parameters that ask for another kind of answer are refused.
        """
        try:
            body = read_chat(await request.body())
            text, history = body.question()
            caller = await asking.caller(request)
            if body.model not in await run_in_threadpool(_models_of, asking, caller):
                return _no_model(body.model)
            question = Question(
                text,
                history=history,
                sources=tuple(filter(None, [body.model.partition(":")[2]])),
                audiences=caller.audiences,
                surface=SURFACE,
                asker=caller.id,
            )
            answers = asking.start(question, _answers)
            name = {"id": f"chatcmpl-{time.time_ns():x}", "created": int(time.time()), "model": body.model}
            if body.stream:
                usage = bool(body.stream_options and body.stream_options.include_usage)
                stream = _stream(answers, name, usage=usage)
                return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)
            answer = await last_item(answers, request)
        except ChatRequestError as error:
            return _refusal(400, str(error), error.param)
        except LoreError as error:
            return _error(error)
        return _completion(answer, name) if answer else _refusal(503, BROKEN_OFF)


def _answers(events: Iterator[Event]) -> Iterator[Answer]:
    for event in events:
        if isinstance(event, Answered):
            yield event.answer


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "lore"}


def _no_model(name: str) -> JSONResponse:
    return _refusal(404, f"There is no model {name!r}. See /v1/models.", "model", "model_not_found")


def _refusal(status: int, message: str, param: str | None = None, code: str | None = None) -> JSONResponse:
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return JSONResponse({"error": {"message": message, "type": kind, "param": param or None, "code": code}}, status)


def _error(error: LoreError) -> JSONResponse:
    status, headers = status_of(error)
    response = _refusal(status, f"{error.message} {error.remedy}".strip())
    response.headers.update(headers)
    return response


def _usage(answer: Answer) -> dict[str, int]:
    given = sum(usage.input_tokens or 0 for usage in answer.trace.usage)
    written = sum(usage.output_tokens or 0 for usage in answer.trace.usage)
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


def _annotations(text: CitedText) -> list[dict[str, Any]]:
    return [
        {
            "type": "url_citation",
            "url_citation": {"start_index": start, "end_index": end, "url": citation.url, "title": citation.title},
        }
        for start, end, citation in text.places
    ]


def _completion(answer: Answer, name: dict[str, Any]) -> dict[str, Any]:
    text = cited_text(answer)
    message = {"role": "assistant", "content": text.content, "refusal": None, "annotations": _annotations(text)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**name, "object": "chat.completion", "choices": [choice], "usage": _usage(answer)}


async def _stream(answers: AsyncGenerator[Answer], name: dict[str, Any], *, usage: bool) -> AsyncIterator[bytes]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]
        return _encoded({**name, "object": "chat.completion.chunk", "choices": choices})

    async with aclosing(answers):
        yield chunk({"role": "assistant", "content": ""})
        waiting = asyncio.ensure_future(anext(answers, None))
        try:
            while not (await asyncio.wait({waiting}, timeout=KEEP_SECONDS))[0]:
                yield b": working\n\n"
            answer = waiting.result()
        except LoreError as error:
            kind = {"message": f"{error.message} {error.remedy}".strip(), "type": "server_error"}
            yield _encoded({"error": {**kind, "param": None, "code": None}})
            return
        finally:
            waiting.cancel()
        if answer is None:
            yield _encoded({"error": {"message": BROKEN_OFF, "type": "server_error", "param": None, "code": None}})
            return
        text = cited_text(answer)
        for piece in pieces_of(text.content):
            yield chunk({"content": piece})
        yield chunk({"annotations": _annotations(text)})
        yield chunk({}, "stop")
        if usage:
            yield _encoded({**name, "object": "chat.completion.chunk", "choices": [], "usage": _usage(answer)})
        yield b"data: [DONE]\n\n"


def _encoded(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
