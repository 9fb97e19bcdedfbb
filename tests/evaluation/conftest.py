"""A small benchmark on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

PAGES: list[dict[str, Any]] = [
    {"_id": "keys", "title": "API keys", "text": "Rotate an API key with `keys rotate`.", "metadata": {"path": "a.md"}},
    {"_id": "backup", "title": "Backups", "text": "Nightly backups are kept for thirty days.", "metadata": {}},
    {"_id": "scale", "title": "Scaling", "text": "Workers scale with the length of the queue."},
    {"_id": "long", "title": "Everything", "text": "\n\n".join(f"## Part {n}\n\nFiller words." for n in range(30))},
]
QUERIES = [
    {"_id": "q1", "text": "rotate api key"},
    {"_id": "q2", "text": "how long are backups kept"},
    {"_id": "q3", "text": "not judged at all"},
]
QRELS = [("q1", "keys", "1"), ("q2", "backup", "2"), ("q2", "scale", "0")]

WriteBeir = Callable[..., Path]


@pytest.fixture
def write_beir(tmp_path: Path) -> WriteBeir:
    def write(
        pages: Sequence[Mapping[str, Any]] = PAGES,
        queries: Sequence[Mapping[str, Any]] = QUERIES,
        qrels: Sequence[Sequence[str]] = QRELS,
    ) -> Path:
        folder = tmp_path / "tiny"
        (folder / "qrels").mkdir(parents=True)
        for name, rows in (("corpus", pages), ("queries", queries)):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        lines = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in qrels)]
        (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder

    return write
