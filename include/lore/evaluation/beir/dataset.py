"""A retrieval benchmark in BEIR's folder layout, and its corpus as a source that Lore can sync.

    corpus.jsonl      {"_id": "…", "title": "…", "text": "…", "metadata": {"url": "…", "path": "…"}}   one a line
    queries.jsonl     {"_id": "…", "text": "…"}                                                        one a line
    qrels/test.tsv    query-id <tab> corpus-id <tab> grade, below a header

The layout is that of Thakur et al., "BEIR", NeurIPS 2021. `metadata` is optional, and so are its keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore.convert import format_of
from lore.errors import ConfigurationError
from lore.types import Batch, Cursor, Document

__all__ = ["SOURCE_ID", "BeirDataset", "BeirSource", "Query", "load_beir", "load_queries"]

SOURCE_ID = "beir"
BATCH_SIZE = 200
JUDGEMENTS = ("queries.jsonl", "qrels/test.tsv")
REMEDY = "A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv."


@dataclass(frozen=True, slots=True)
class Query:
    """A judged query: `relevance` maps corpus ids to grades, at least one of them above 0."""

    id: str
    text: str
    relevance: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BeirDataset:
    """A benchmark: the place of its corpus, and its judged queries in file order.

    `missing` counts relevant pages that the corpus lacks. No search can find them, so they lower the figures.
    """

    folder: Path
    queries: tuple[Query, ...]
    missing: int = 0

    @property
    def name(self) -> str:
        return self.folder.resolve().name


def load_beir(folder: Path, limit_queries: int | None = None) -> BeirDataset:
    """Read the queries that have a relevant document, the first `limit_queries` of them.

    Only the ids of the corpus are read. Raises ConfigurationError with file and line for invalid content.
    """
    _require(folder, "corpus.jsonl", *JUDGEMENTS)
    judged = load_queries(folder)[:limit_queries]
    return BeirDataset(folder, judged, _count_missing(folder, judged))


def load_queries(folder: Path) -> tuple[Query, ...]:
    """Read the queries that have a relevant document, in file order, without looking at the corpus.

    Raises ConfigurationError with file and line for invalid content, and when no query is left.
    """
    _require(folder, *JUDGEMENTS)
    relevance = _read_qrels(folder / "qrels" / "test.tsv")
    queries: dict[str, Query] = {}
    path = folder / "queries.jsonl"
    for line, row in _read_jsonl(path):
        identifier = _string(row, "_id", path, line)
        if identifier in queries:
            raise _wrong(path, line, f"the query {identifier!r} was there before")
        text = _string(row, "text", path, line)
        if not text.strip():
            raise _wrong(path, line, f"the text of the query {identifier!r} is empty")
        queries[identifier] = Query(identifier, text, relevance.get(identifier, {}))
    missing = next((identifier for identifier in relevance if identifier not in queries), None)
    if missing is not None:
        raise ConfigurationError(f"{folder}: qrels/test.tsv judges the query {missing!r}, which queries.jsonl lacks.")
    judged = tuple(query for query in queries.values() if any(grade > 0 for grade in query.relevance.values()))
    if not judged:
        raise ConfigurationError(f"{folder}: no query has a relevant document in qrels/test.tsv.", remedy=REMEDY)
    return judged


@dataclass(frozen=True, slots=True)
class BeirSource:
    """The corpus as a source: every page is a document with the id "beir:" plus the page's own.

    Pages are treated as Markdown, which leaves their text unchanged. With `by_path`, the suffix of `metadata.path`
    names the format, so that the page passes through that format's converter.
    """

    folder: Path
    by_path: bool = False
    id: str = SOURCE_ID

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield the whole corpus, whatever the cursor. Raises ConfigurationError for an invalid line."""
        batch: list[Document] = []
        seen: set[str] = set()
        path = self.folder / "corpus.jsonl"
        for line, row in _read_jsonl(path):
            document = self._document(row, path, line)
            if document.id in seen:
                raise _wrong(path, line, f"the document {row['_id']!r} was there before")
            seen.add(document.id)
            batch.append(document)
            if len(batch) == BATCH_SIZE:
                yield Batch(tuple(batch))
                batch = []
        if batch:
            yield Batch(tuple(batch))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every document."""
        path = self.folder / "corpus.jsonl"
        for line, row in _read_jsonl(path):
            yield f"{self.id}:{_string(row, '_id', path, line)}"

    def _document(self, row: Mapping[str, Any], path: Path, line: int) -> Document:
        identifier = _string(row, "_id", path, line)
        text = _string(row, "text", path, line)
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise _wrong(path, line, '"metadata" is not an object')
        return Document(
            id=f"{self.id}:{identifier}",
            source_id=self.id,
            url=str(metadata.get("url") or ""),
            title=_string(row, "title", path, line) if row.get("title") else "",
            text=text,
            format=_format(str(metadata.get("path") or ""), text) if self.by_path else "markdown",
        )


def _require(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise ConfigurationError(f"{folder / name} does not exist.", remedy=REMEDY)


def _count_missing(folder: Path, queries: Sequence[Query]) -> int:
    relevant = {document for query in queries for document, grade in query.relevance.items() if grade > 0}
    missing = relevant.difference(
        identifier.removeprefix(f"{SOURCE_ID}:") for identifier in BeirSource(folder).list_ids()
    )
    if missing == relevant:
        raise ConfigurationError(
            f"{folder}: corpus.jsonl holds none of the pages that qrels/test.tsv calls relevant, such as "
            f"{min(missing)!r}.",
            remedy="Check that the second column holds ids of the corpus.",
        )
    return len(missing)


def _format(path: str, text: str) -> str:
    """Return the format that the path names, unless it is a notebook whose text has already been extracted."""
    found = format_of(path) or "markdown"
    return "markdown" if found == "notebook" and not text.lstrip().startswith("{") else found


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise _wrong(path, number, f"not JSON ({error})") from None
                if not isinstance(row, dict):
                    raise _wrong(path, number, "not a JSON object")
                yield number, row
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", remedy=REMEDY) from error


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    relevance: dict[str, dict[str, int]] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", remedy=REMEDY) from error
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and cells[0].strip() == "query-id"):
            continue
        if len(cells) != 3:
            raise _wrong(path, number, f"{len(cells)} columns instead of query-id, corpus-id and score")
        query, document, grade = (cell.strip() for cell in cells)
        try:
            relevance.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise _wrong(path, number, f"the score {grade!r} is not a whole number") from None
    return relevance


def _string(row: Mapping[str, Any], key: str, path: Path, line: int) -> str:
    value = row.get(key)
    if not isinstance(value, str) or (key == "_id" and not value):
        raise _wrong(path, line, f'"{key}" is missing or not a text')
    return value


def _wrong(path: Path, line: int, what: str) -> ConfigurationError:
    return ConfigurationError(f"{path}, line {line}: {what}.", remedy=REMEDY)
