"""Questions of a Stack Exchange site with their answers, from Posts.xml of its data dump."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from xml.parsers import expat

from lore.declarations import StackOverflowDeclaration
from lore.errors import ConversionError, SourceError
from lore.sources.cursors import NON_SELECTING_KEYS, selection_digest
from lore.sources.stackoverflow.posts import (
    StackAnswer,
    StackQuestion,
    answer_from_dump,
    dump_tags,
    is_wanted,
    question_document,
    question_from_dump,
)
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["StackOverflowDumpSource"]

QUESTION, ANSWER = "1", "2"
BATCH_QUESTIONS = 100
READ_BYTES = 1 << 18
MAX_ROW = 16 * 1024 * 1024
"""Bytes without the end of a row that show another file; posts have at most 30,000 characters."""

TABLES = """
CREATE TABLE question (id INTEGER PRIMARY KEY, row TEXT);
CREATE TABLE answer (id INTEGER PRIMARY KEY, question INTEGER, row TEXT);
"""

Row = Mapping[str, str]


class StackOverflowDumpSource:
    """One document for each question, with the same ids as through the API.

    A dump exceeds memory and has answers anywhere. So it is read twice into a temporary database, first for questions,
    then for their answers. The cursor is the file's size and time; an unchanged file yields nothing.
    """

    def __init__(self, declaration: StackOverflowDeclaration) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._path = declaration.dump or Path("Posts.xml")
        self._tagged = [frozenset(tagged.split()) for tagged in declaration.tagged]

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield all questions, in batches; nothing if the file is the cursor's. Raises SourceError."""
        cursor = self._cursor()
        if since == cursor:
            yield Batch((), cursor)
            return
        documents: list[Document] = []
        failures: list[Failure] = []
        for question, answers in self._threads():
            try:
                documents.append(question_document(question, answers, self._declaration))
            except ConversionError as error:
                failures.append(Failure(f"{self.id}:{question.id}", error.message))
            if len(documents) == BATCH_QUESTIONS:
                yield Batch(tuple(documents))
                documents = []
        yield Batch(tuple(documents), cursor, failures=tuple(failures))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every selected question; reads the whole file."""
        yield from (f"{self.id}:{question.id}" for question, _ in self._threads())

    def _threads(self) -> Iterator[tuple[StackQuestion, list[StackAnswer]]]:
        """Yield the selected questions with their answers, by number."""
        with (
            tempfile.TemporaryDirectory(prefix="lore-dump-") as folder,
            closing(sqlite3.connect(Path(folder) / "posts.db", isolation_level=None)) as database,
        ):
            database.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {TABLES}")
            self._load_posts(database)
            for (row,) in database.execute("SELECT row FROM question ORDER BY id"):
                question = question_from_dump(json.loads(row))
                if question is None:
                    continue
                rows = database.execute("SELECT row FROM answer WHERE question = ? ORDER BY id", (question.id,))
                answers = [one for (text,) in rows if (one := answer_from_dump(json.loads(text)))]
                good = any(one.score > 0 or one.id == question.accepted_id for one in answers)
                question = replace(question, answered=good)
                if is_wanted(question, self._declaration):
                    yield question, answers

    def _load_posts(self, database: sqlite3.Connection) -> None:
        wanted: set[int] = set()
        for row in self._rows():
            if row.get("PostTypeId") != QUESTION or not self._is_tagged(row):  # most rows of a dump end here
                continue
            question = question_from_dump(row)
            if question and is_wanted(replace(question, answered=True), self._declaration):
                wanted.add(question.id)
                if len(wanted) > self._declaration.max_questions:
                    raise SourceError(
                        f"{self._path.name} holds more questions of {self.id} than `max_questions` "
                        f"({self._declaration.max_questions:,}).",
                        remedy="Choose rarer tags, set `since` or `min_score`, or raise `max_questions`.",
                    )
                database.execute("INSERT OR REPLACE INTO question VALUES (?, ?)", (question.id, json.dumps(row)))
        parents = set(map(str, wanted))
        for row in self._rows():
            if row.get("ParentId") in parents and row.get("PostTypeId") == ANSWER and (answer := answer_from_dump(row)):
                values = (answer.id, answer.question_id, json.dumps(row))
                database.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?)", values)
        database.execute("CREATE INDEX by_question ON answer (question)")

    def _is_tagged(self, row: Row) -> bool:
        tags = frozenset(dump_tags(row))
        return any(tagged <= tags for tagged in self._tagged)

    def _rows(self) -> Iterator[Row]:
        """Yield the rows of the file, one at a time. Raises SourceError if it isn't a Posts.xml."""
        reader = _RowReader()
        try:
            with self._path.open("rb") as stream:
                while piece := stream.read(READ_BYTES):
                    yield from reader.feed(piece)
                yield from reader.feed(b"", last=True)
        except OSError as error:
            raise self._unreadable(error) from None
        except (expat.ExpatError, _NotADumpError) as error:
            raise SourceError(
                f"{self._path.name} is not a Posts.xml from a data dump: {error}.",
                remedy="Point `dump` at the unpacked Posts.xml.",
            ) from None

    def _cursor(self) -> Cursor:
        try:
            status = self._path.stat()
        except OSError as error:
            raise self._unreadable(error) from None
        chosen = self._declaration.model_dump_json(exclude=set(NON_SELECTING_KEYS))
        mark = f"{status.st_size}:{status.st_mtime_ns}:{selection_digest(chosen)}"
        return json.dumps({"dump": mark})

    def _unreadable(self, error: OSError) -> SourceError:
        return SourceError(
            f"The dump {self._path} of {self.id} can't be read: {error.strerror}.",
            remedy="Correct `dump`, which starts at the declaration's own folder, and unpack the archive.",
        )


class _NotADumpError(Exception):
    """The file is XML, but not a dump."""


class _RowReader:
    """Reads rows from pieces of XML. Entities are refused, and the length of a row is limited."""

    def __init__(self) -> None:
        self._found: list[Row] = []
        self._depth = self._since_row = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, piece: bytes, *, last: bool = False) -> list[Row]:
        """Return the rows that a piece completes."""
        self._found = []
        self._since_row += len(piece)
        self._parser.Parse(piece, last)
        if self._found:
            self._since_row = 0
        elif self._since_row > MAX_ROW:
            raise _NotADumpError("one of its rows is endless")
        return self._found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if (self._depth, name) not in ((1, "posts"), (2, "row")):
            raise _NotADumpError(f"it has the element <{name[:40]}>")
        if name == "row":
            self._found.append(attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1

    def _doctype(self, *_: object) -> None:
        raise _NotADumpError("it declares a document type")
