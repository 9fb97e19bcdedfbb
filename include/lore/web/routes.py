"""The API: questions, searches, answers, feedback, sources and health."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from lore.errors import ConfigurationError, RecordsError
from lore.types import Question
from lore.web.access import refusal
from lore.web.asking import Asking, last_item
from lore.web.callers import Caller, Callers
from lore.web.events import ServerEvent, encode, server_events
from lore.web.forms import (
    EXAMPLE_ANSWER,
    EXAMPLE_HIT,
    EXAMPLE_SOURCES,
    AskBody,
    FeedbackBody,
    answer_form,
    documented,
    error_form,
    hit_form,
)
from lore.web.metrics import Metrics
from lore.web.services import Services

__all__ = ["make_routes"]

SURFACE = "web"
MOST_HITS = 50
EVENT_STREAM = "text/event-stream"
BROKEN_OFF: ServerEvent = ("error", {"message": "The answer broke off.", "remedy": "Ask again.", "retry": True})

AnswerId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Id of an answer")]


def make_routes(asking: Asking, surfaces: Collection[str] = (SURFACE,)) -> APIRouter:
    """Return the routes of the API, which shows answers that were given on these surfaces."""
    routes = APIRouter()
    services, callers = asking.services, asking.callers
    by_key = [Security(HTTPBearer(auto_error=False, description="A key that `lore keys create` made"))]
    routes.include_router(_asking(asking), dependencies=by_key)
    routes.include_router(_answers(services, callers, asking.metrics, surfaces), dependencies=by_key)
    routes.include_router(_looking_up(asking), dependencies=by_key)
    routes.include_router(_health(services))
    return routes


def _asking(asking: Asking) -> APIRouter:
    routes = APIRouter(tags=["questions"])

    @routes.post("/api/ask", response_model=None, responses=documented(EXAMPLE_ANSWER, 401, 429, 503))
    async def ask(body: AskBody, request: Request, response: Response) -> Response | dict[str, Any]:
        """Answer a question: as JSON, or as server-sent events with `Accept: text/event-stream`.

        The events are started, planned, found, reading, delta (the answer so far as HTML), verified, citation, and done
        or error.
        """
        caller = await asking.caller(request)
        question = Question(
            body.question,
            history=tuple(turn.message() for turn in body.history),
            sources=tuple(body.sources),
            audiences=caller.audiences,
            surface=SURFACE,
            asker=caller.asker(request, response),
        )
        events = asking.start(question, server_events)
        if EVENT_STREAM in request.headers.get("accept", ""):
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **_cookies(response)}
            started: ServerEvent = ("started", {"waiting": asking.runner.waiting})
            return StreamingResponse(_encoded(started, events), media_type=EVENT_STREAM, headers=headers)
        name, data = await last_item(events, request) or BROKEN_OFF
        if name == "done":
            answer: dict[str, Any] = data["answer"]
            return answer
        return JSONResponse({"error": data}, 503 if data["retry"] else 422)

    return routes


def _cookies(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name == "set-cookie"}


async def _encoded(first: ServerEvent, events: AsyncIterator[ServerEvent]) -> AsyncIterator[bytes]:
    yield encode(first)
    async for event in events:
        yield encode(event)


def _answers(services: Services, callers: Callers, metrics: Metrics, surfaces: Collection[str]) -> APIRouter:
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
        if question.surface not in surfaces or not set(question.audiences) <= set(caller.audiences):
            return None
        return answer_form(record.answer) | {"asked_at": record.asked_at.isoformat()}

    missing = refusal(404, "There is no such answer.", "It may have been removed; ask again.")

    @routes.get("/{answer_id}", response_model=None, responses=documented(EXAMPLE_ANSWER, 401, 404))
    def get(answer_id: AnswerId, request: Request) -> Response | dict[str, Any]:
        """Return an answer that was given before."""
        return readable_answer(answer_id, callers.identify(request)) or missing

    @routes.post("/{answer_id}/feedback", response_model=None, status_code=204)
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


def _looking_up(asking: Asking) -> APIRouter:
    routes = APIRouter(tags=["index"])
    services, callers = asking.services, asking.callers

    @routes.get(
        "/api/search",
        response_model=None,
        responses=documented({"question": "key rotation", "hits": [EXAMPLE_HIT]}, 401, 429),
    )
    async def search(
        request: Request,
        q: Annotated[
            str, Query(min_length=1, max_length=4_000, description="Question or keywords", examples=["key rotation"])
        ],
        source: Annotated[list[str] | None, Query(description="Only these sources")] = None,
        most: Annotated[int, Query(ge=1, le=MOST_HITS, alias="limit")] = 8,
    ) -> dict[str, Any]:
        """Return the passages that answer a question best, best first, without a language model."""
        caller = await asking.caller(request)
        question = Question(q, sources=tuple(source or ()), audiences=caller.audiences, surface=SURFACE)
        hits = await run_in_threadpool(services.pipeline.search, question, most)
        return {"question": q, "hits": [hit_form(hit) for hit in hits]}

    @routes.get("/api/sources", responses=documented(EXAMPLE_SOURCES, 401))
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
