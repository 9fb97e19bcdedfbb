"""Events of a question as server-sent events: planned, found, reading, delta …, verified, citation …, done or error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from time import monotonic
from typing import Any

from lore.errors import LoreError
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved, Verified
from lore.web.forms import answer_form, error_form
from lore.web.render import render_markdown

__all__ = ["ServerEvent", "server_events"]

RENDER_SECONDS = 0.08
"""The unfinished answer is rendered at most so often."""

ServerEvent = tuple[str, dict[str, Any]]


def encode(event: ServerEvent) -> bytes:
    """Return an event in the wire format."""
    name, data = event
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def server_events(events: Iterator[Event]) -> Iterator[ServerEvent]:
    """Translate the events of a pipeline. An error of the pipeline becomes the last event."""
    writing = _Writing()
    try:
        for event in events:
            match event:
                case Planned(plan):
                    yield "planned", {"question": plan.question, "wordings": list(plan.wordings)}
                case Retrieved(candidates=candidates):
                    yield "found", {"candidates": candidates}
                case Reranked(hits):
                    writing = _Writing(len(hits))
                    yield "reading", {"passages": [_passage(number, hit) for number, hit in enumerate(hits, 1)]}
                case Delta(text):
                    if changed := writing.add(text):
                        yield "delta", changed
                case Verified(corrected=corrected):
                    yield "verified", {"corrected": corrected}
                case Answered(answer):
                    form = answer_form(answer)
                    yield from (("citation", citation) for citation in form["citations"])
                    yield "done", {"answer": form}
    except LoreError as error:
        yield "error", error_form(error)["error"]


class _Writing:
    """The answer as it is written; `passages` is the number that it may cite."""

    def __init__(self, passages: int = 0) -> None:
        self._numbers = range(1, passages + 1)
        self._text = ""
        self._rendered_at = 0.0

    def add(self, text: str) -> dict[str, Any] | None:
        """Return the whole answer so far as HTML; None if it was rendered a moment ago."""
        self._text += text
        if monotonic() - self._rendered_at < RENDER_SECONDS:
            return None
        html = render_markdown(self._text, self._numbers)
        self._rendered_at = monotonic()
        return {"html": html}


def _passage(number: int, hit: Any) -> dict[str, Any]:
    return {"number": number, "title": hit.chunk.title, "url": hit.chunk.url, "source": hit.chunk.source_id}
