"""The API: questions, searches, answers, feedback, sources and health."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from lore.errors import ConfigurationError, RecordsError
from lore.types import Question
from lore.web.access import RateLimit, refusal
from lore.web.callers import Caller, Callers
from lore.web.events import ServerEvent, encode, server_events
from lore.web.forms import AskBody, FeedbackBody, answer_form, error_form, hit_form
from lore.web.metrics import Metrics
from lore.web.question_threads import QuestionThreads, TooManyQuestionsError
from lore.web.services import Services

__all__ = ["make_routes"]

SURFACE = "web"
MOST_HITS = 50
LEFT_SECONDS = 1.0
"""How often a reader who waits for a whole answer is looked for."""
EVENT_STREAM = "text/event-stream"

AnswerId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Id of an answer")]


def make_routes(services: Services, runner: QuestionThreads, callers: Callers, metrics: Metrics) -> APIRouter:
    """Return the routes of the API."""
    routes = APIRouter()
    limit = RateLimit()
    by_key = [Security(HTTPBearer(auto_error=False, description="A key that `lore keys create` made"))]
    routes.include_router(_asking(services, runner, callers, limit, metrics), dependencies=by_key)
    routes.include_router(_answers(services, callers, metrics), dependencies=by_key)
    routes.include_router(_looking_up(services, callers, limit), dependencies=by_key)
    routes.include_router(_health(services))
    return routes


def _asking(
    services: Services, runner: QuestionThreads, callers: Callers, limit: RateLimit, metrics: Metrics
) -> APIRouter:
    routes = APIRouter(tags=["questions"])

    @routes.post("/api/ask", response_model=None)
    async def ask(body: AskBody, request: Request, response: Response) -> Response | dict[str, Any]:
        """Answer a question: as JSON, or as server-sent events with `Accept: text/event-stream`.

        The events are started, planned, found, reading, delta (the answer so far as HTML), verified, and done or error.
        """
        caller = await run_in_threadpool(callers.identify, request)
        if refused := _too_many(limit, caller):
            metrics.refuse()
            return refused
        question = Question(
            body.question,
            history=tuple(turn.message() for turn in body.history),
            sources=tuple(body.sources),
            audiences=caller.audiences,
            surface=SURFACE,
            asker=caller.asker(request, response),
        )

        def journey() -> Iterator[ServerEvent]:
            return server_events(metrics.watch(services.pipeline.stream(question)))

        try:
            events = runner.run(journey)
        except TooManyQuestionsError:
            metrics.refuse()
            raise
        if EVENT_STREAM in request.headers.get("accept", ""):
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **_cookies(response)}
            started: ServerEvent = ("started", {"waiting": runner.waiting})
            return StreamingResponse(_encoded(started, events), media_type=EVENT_STREAM, headers=headers)
        name, data = await _last(events, request)
        if name == "done":
            answer: dict[str, Any] = data["answer"]
            return answer
        return JSONResponse({"error": data}, 503 if data["retry"] else 422)

    return routes


def _too_many(limit: RateLimit, caller: Caller) -> Response | None:
    if not (seconds := limit.seconds_to_wait(caller.sender, caller.rate)):
        return None
    again = {"Retry-After": str(seconds)}
    return refusal(429, "You have asked many questions in a short time.", f"Ask again in {seconds} s.", again)


async def _last(events: AsyncGenerator[ServerEvent], request: Request) -> ServerEvent:
    """Return the last event; a reader who leaves ends the question."""
    last: ServerEvent = ("error", {"message": "The answer broke off.", "remedy": "Ask again.", "retry": True})
    while True:
        following = asyncio.ensure_future(anext(events, None))
        while not following.done():
            await asyncio.wait({following}, timeout=LEFT_SECONDS)
            if not following.done() and await request.is_disconnected():
                following.cancel()
                await asyncio.wait({following})
                await events.aclose()
                return last
        event = following.result()
        if event is None:
            return last
        last = event


def _cookies(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name == "set-cookie"}


async def _encoded(first: ServerEvent, events: AsyncIterator[ServerEvent]) -> AsyncIterator[bytes]:
    yield encode(first)
    async for event in events:
        yield encode(event)


def _answers(services: Services, callers: Callers, metrics: Metrics) -> APIRouter:
    routes = APIRouter(prefix="/api/answers", tags=["answers"])

    def readable_answer(answer_id: str, caller: Caller) -> dict[str, Any] | None:
        """Return an answer that was given here from nothing that the caller may not read."""
        if services.records is None:
            return None
        try:
            record = services.records.get(answer_id)
        except ConfigurationError:
            return None
        question = record.answer.question
        if question.surface != SURFACE or not set(question.audiences) <= set(caller.audiences):
            return None
        return answer_form(record.answer) | {"asked_at": record.asked_at.isoformat()}

    missing = refusal(404, "There is no such answer.", "It may have been removed; ask again.")

    @routes.get("/{answer_id}", response_model=None)
    def get(answer_id: AnswerId, request: Request) -> Response | dict[str, Any]:
        """Return an answer that was given before."""
        return readable_answer(answer_id, callers.identify(request)) or missing

    @routes.post("/{answer_id}/feedback", response_model=None)
    def feedback(answer_id: AnswerId, body: FeedbackBody, request: Request) -> Response:
        """Keep a reader's opinion of an answer; a later one replaces it."""
        caller = callers.identify(request)
        if readable_answer(answer_id, caller) is None or services.records is None:
            return missing
        response = Response(status_code=204)
        asker = caller.asker(request, response)
        services.records.judge(answer_id, body.helpful, asker=asker, reason=body.reason)
        metrics.judge(body.helpful)
        return response

    return routes


def _looking_up(services: Services, callers: Callers, limit: RateLimit) -> APIRouter:
    routes = APIRouter(tags=["index"])

    @routes.get("/api/search", response_model=None)
    async def search(
        request: Request,
        q: Annotated[str, Query(min_length=1, max_length=4_000, description="Question or keywords")],
        source: Annotated[list[str] | None, Query(description="Only these sources")] = None,
        most: Annotated[int, Query(ge=1, le=MOST_HITS, alias="limit")] = 8,
    ) -> Response | dict[str, Any]:
        """Return the passages that answer a question best, best first, without a language model."""
        caller = await run_in_threadpool(callers.identify, request)
        if refused := _too_many(limit, caller):
            return refused
        question = Question(q, sources=tuple(source or ()), audiences=caller.audiences, surface=SURFACE)
        hits = await run_in_threadpool(services.pipeline.search, question)
        return {"question": q, "hits": [hit_form(hit) for hit in hits[:most]]}

    @routes.get("/api/sources")
    def sources(request: Request) -> dict[str, Any]:
        """Return the assistant's name, its suggested questions, who asks, and the sources that are searched for them.

        `reader` has the name of who logged in, and `login` the path at which others do; each is empty if there is none.
        """
        caller = callers.identify(request)
        rows = [
            {
                "id": one.id,
                "kind": one.kind,
                "title": one.title,
                "documents": one.documents,
                "state": one.state,
                "synced_at": one.synced_at.isoformat() if one.synced_at else None,
            }
            for one in services.sources(caller.audiences)
        ]
        return {
            "name": services.name,
            "suggestions": list(services.suggestions),
            "reader": caller.name,
            "login": callers.login,
            "sources": rows,
        }

    return routes


def _health(services: Services) -> APIRouter:
    routes = APIRouter(tags=["operation"])

    @routes.get("/healthz")
    async def health() -> dict[str, str]:
        """Say that the process runs."""
        return {"status": "ok"}

    @routes.get("/readyz", response_model=None)
    def ready() -> Response | dict[str, str]:
        """Say whether questions can be answered: the index is there and the records can be read."""
        try:
            if services.records is not None:
                services.records.count()
        except RecordsError as error:
            return JSONResponse(error_form(error), 503)
        if not services.sources():
            return refusal(503, "The index holds no public source.", "Run: lore sync --all")
        return {"status": "ok"}

    return routes
