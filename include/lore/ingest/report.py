"""Reports of a sync: of one shard, of the whole run, and its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, Literal

from lore.types import Failure, Usage

__all__ = [
    "Duplicate",
    "DuplicateReport",
    "Progress",
    "ProgressCallback",
    "ShardReport",
    "SyncReport",
    "UsageTotal",
    "escape_surrogates",
    "no_progress",
]

DUPLICATES_NAMED = 100

ProgressCallback = Callable[[int, int], None]
"""Receives the number of documents done, and their total."""


def no_progress(done: int, total: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a run: its stage, and how many documents and chunks of it are done.

    A document of the stage "index" is done once its passages are embedded. `total` is None until everything is staged.
    """

    stage: Literal["wait", "extract", "index", "versions", "reconcile"]
    documents: int
    total: int | None = None
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """Sum over calls of a language model: tokens and US dollars, as far as they are known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @staticmethod
    def of(usage: Sequence[Usage]) -> UsageTotal:
        """Sum up these calls."""
        return UsageTotal(
            calls=len(usage),
            input_tokens=sum(call.input_tokens or 0 for call in usage),
            output_tokens=sum(call.output_tokens or 0 for call in usage),
            cost=sum(call.cost or 0.0 for call in usage),
        )

    def __add__(self, other: UsageTotal) -> UsageTotal:
        return UsageTotal(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class ShardReport:
    """Outcome of indexing one shard: documents by outcome, and the chunks written with them.

    `indexed` are the ids of the written documents. `notes` name the other versions of the index that couldn't be
    brought up to date. `lost_text` maps documents to the share of their text, in percent, that conversion left out.
    """

    indexed: tuple[str, ...] = ()
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    failures: tuple[Failure, ...] = ()
    chunks: int = 0
    embedding_calls: int = 0
    embedded_texts: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    spent: UsageTotal = UsageTotal()
    lost_text: Mapping[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Number of documents in the shard."""
        return self.new + self.changed + self.unchanged + len(self.failures)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, for Airflow's XCom."""
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> ShardReport:
        """Return the report from what `to_json` gave."""
        failures = tuple(Failure(**failure) for failure in values["failures"])
        lists = {name: tuple(values[name]) for name in ("indexed", "notes")}
        return ShardReport(**{**values, **lists, "failures": failures, "spent": UsageTotal(**values["spent"])})


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A hidden document, and the one shown in its place."""

    document_id: str
    duplicate_of: str


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """Number of a source's hidden documents, of those this run hid, and of those it shows again.

    `named` are the first hundred; those that this run hid come first.
    """

    hidden: int = 0
    newly_hidden: int = 0
    shown_again: int = 0
    named: tuple[Duplicate, ...] = ()

    @staticmethod
    def of(originals: Mapping[str, str], hidden: Sequence[str], shown: Sequence[str]) -> DuplicateReport:
        """Return the report on hidden documents, each with its original; `hidden` and `shown` changed in this run."""
        ids = dict.fromkeys((*sorted(hidden), *sorted(originals)))
        named = tuple(Duplicate(document_id, originals[document_id]) for document_id in islice(ids, DUPLICATES_NAMED))
        return DuplicateReport(len(originals), len(hidden), len(shown), named)

    def lines(self, limit: int) -> Iterator[str]:
        """Yield a line for each document that this run hid, at most `limit`, and one for the rest."""
        shown = min(self.newly_hidden, limit)
        for duplicate in self.named[:shown]:
            yield f"{duplicate.document_id} is hidden as a duplicate of {duplicate.duplicate_of}"
        if self.newly_hidden > shown:
            yield f"and {self.newly_hidden - shown:,} more"


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Outcome of a whole sync: documents by outcome, chunks written, embedding calls and texts, seconds of work.

    `resumed` documents were staged by an interrupted run and not read again. `lost_text` maps the source's documents,
    also unchanged ones, to the share of their text, in percent, that conversion left out. `attempt` names the run.
    """

    source_id: str
    status: Literal["ok", "warning", "failed"]
    new: int
    changed: int
    unchanged: int
    removed: int
    failures: tuple[Failure, ...]
    chunks: int
    embedding_calls: int
    embedded_texts: int
    seconds: float
    reason: str = ""
    duplicates: DuplicateReport = DuplicateReport()
    spent: UsageTotal = UsageTotal()
    resumed: int = 0
    lost_text: Mapping[str, int] = field(default_factory=dict)
    attempt: str = ""

    @property
    def changes(self) -> int:
        """Number of documents that this run wrote, removed, hid or showed again."""
        return self.new + self.changed + self.removed + self.duplicates.newly_hidden + self.duplicates.shown_again

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> SyncReport:
        """Return the report from what `to_json` gave."""
        duplicates = values["duplicates"]
        named = tuple(Duplicate(**duplicate) for duplicate in duplicates["named"])
        parts = {
            "failures": tuple(Failure(**failure) for failure in values["failures"]),
            "duplicates": DuplicateReport(**{**duplicates, "named": named}),
            "spent": UsageTotal(**values["spent"]),
        }
        return SyncReport(**{**values, **parts})

    def summary(self) -> str:
        """Return the report in one line."""
        parts = [
            f"{self.new} new",
            f"{self.changed} changed",
            f"{self.unchanged} unchanged",
            f"{self.removed} removed",
            f"{len(self.failures)} failed",
        ]
        if self.duplicates.hidden:
            parts.append(f"{self.duplicates.hidden} hidden as duplicates")
        if self.duplicates.shown_again:
            parts.append(f"{self.duplicates.shown_again} shown again")
        work = f"{_counted(self.chunks, 'chunk')}, {_counted(self.embedding_calls, 'embedding call')}"
        if self.spent.calls:
            work += f", {_counted(self.spent.calls, 'call')} for summaries (${self.spent.cost:.4f})"
        if self.resumed:
            work += f"; {_counted(self.resumed, 'document')} already read by an interrupted run"
        line = f"{self.source_id}: {self.status}. Documents: {', '.join(parts)}; {work}, {self.seconds:.1f} s."
        return f"{line} {self.reason}".strip()


def escape_surrogates(text: str) -> str:
    """Return the text with lone surrogates spelled out: neither logs nor databases take them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
