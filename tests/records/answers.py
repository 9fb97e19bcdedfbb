"""Answers to record: `full_answer` has something in every field there is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from lore.types import (
    Answer,
    CandidateRank,
    Check,
    Chunk,
    Citation,
    Filters,
    Hit,
    Message,
    Plan,
    Question,
    Trace,
    Usage,
)

MARCH = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def full_answer(name: str = "a" * 32, asker: str = "U1", **changes: Any) -> Answer:
    """An answer named `name`, which stands in its texts, too."""
    values: dict[str, Any] = {
        "question": Question(
            f"How is {name} rotated?",
            history=(Message("user", f"Before {name}"), Message("assistant", "An answer.")),
            sources=("docs",),
            audiences=("public", "C1"),
            surface="slack",
            asker=asker,
        ),
        "text": f"Rotate {name} under Settings [1].\n\n```sh\nkeys rotate\n```",
        "citations": (_citation(name, 1),),
        "found": True,
        "trace": _trace(name),
        "nearest": (_citation(name, 2), _citation(name, 3)),
        "id": name,
    }
    return Answer(**(values | changes))


def small_answer(name: str, asker: str = "", **changes: Any) -> Answer:
    """An answer without a search."""
    values: dict[str, Any] = {
        "question": Question(f"Hello, {name}?", asker=asker),
        "text": "Hello.",
        "citations": (),
        "found": True,
        "trace": Trace(Plan("Hello", ("Hello",), search=False)),
        "id": name,
    }
    return Answer(**(values | changes))


def chunk(name: str, number: int) -> Chunk:
    return Chunk(
        id=f"{name}-chunk-{number}",
        document_id=f"docs:{name}",
        source_id="docs",
        url=f"https://docs.example.com/{name}",
        title=f"Page {name}",
        headings=("Security", "Keys"),
        text=f"Passage {number} of {name}.",
        position=number,
        start=number * 10,
        end=number * 10 + 9,
        summary="In short.",
        audiences=("public", "C1"),
        updated_at=MARCH,
    )


def _trace(name: str) -> Trace:
    hits = tuple(
        Hit(chunk(name, number), 0.9 - number / 10, 0.8, None if number else 12.5, np.ones(3, np.float32))
        for number in range(3)
    )
    return Trace(
        plan=Plan(
            f"How is {name} rotated in version 3?",
            (f"rotate {name}", "change the key", "key rotation"),
            filters=Filters(sources=("docs",), updated_after=MARCH),
        ),
        retrieved=300,
        candidates=5,
        passages=hits,
        ranking=tuple(
            CandidateRank(
                f"{name}-chunk-{place}", f"docs:{name}", "Page", place, None if place > 3 else 4 - place, 1 / place
            )
            for place in range(1, 6)
        ),
        check=Check((1,), ("[7]",), ("https://evil.example",)),
        models={"embedder": "local:minilm", "chat": "openai:gpt"},
        prompts={"plan": "0f3a", "answer": "77aa"},
        usage=(Usage("openai:gpt", "plan", 500, 60, 0.25), Usage("openai:gpt", "answer", 4_000_000_000, 200, None)),
        seconds={"plan": 0.5, "retrieve": 0.02, "rerank": 0.1, "answer": 1.5, "total": 2.12},
        notes=("The reranker failed.",),
        ignored=("The language model named dates that cannot be used.",),
        version=4,
    )


def _citation(name: str, number: int) -> Citation:
    return Citation(
        number,
        f"docs:{name}",
        f"{name}-chunk-{number}",
        "docs",
        "https://docs.example.com",
        "Page",
        ("Keys",),
        "Rotate",
        datetime(2026, 2, 3, tzinfo=UTC),
    )
