"""What a sync says of itself: per shard, for the whole run, and while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

from lore.types import Failure, Usage

__all__ = [
    "Duplicate",
    "DuplicateReport",
    "Listener",
    "Progress",
    "ShardReport",
    "Spent",
    "SyncReport",
    "readable",
    "silent",
]

DUPLICATES_NAMED = 100

Listener = Callable[[int, int], None]
"""Is told how many documents are done, and of how many."""


def silent(done: int, total: int) -> None:
    """A listener that says nothing."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: at first it may wait for another one. `total` documents are known once everything is staged."""

    stage: Literal["wait", "extract", "index", "reconcile"]
    documents: int
    total: int | None = None
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls of a language model took: tokens and US dollars, as far as they are known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @staticmethod
    def on(usage: Sequence[Usage]) -> Spent:
        """The sum of these calls."""
        return Spent(
            calls=len(usage),
            input_tokens=sum(each.input_tokens or 0 for each in usage),
            output_tokens=sum(each.output_tokens or 0 for each in usage),
            cost=sum(each.cost or 0.0 for each in usage),
        )

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What indexing one shard did. `indexed` are the ids that were written; `chunks` were written with them.

    `notes` name the versions of the index, besides the one that was written, that could not be brought up to date.
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
    spent: Spent = Spent()

    @property
    def documents(self) -> int:
        """How many documents the shard held."""
        return self.new + self.changed + self.unchanged + len(self.failures)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, for Airflow's XCom."""
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> ShardReport:
        """The report from what `to_json` gave."""
        failures = tuple(Failure(**failure) for failure in values["failures"])
        lists = {name: tuple(values[name]) for name in ("indexed", "notes")}
        return ShardReport(**{**values, **lists, "failures": failures, "spent": Spent(**values["spent"])})


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document that is hidden, and the one that is shown in its place."""

    document_id: str
    duplicate_of: str


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """How many of a source's documents are hidden; how many of these since this run, and how many are shown again.

    `named` are the first hundred, those that were hidden by this run before the others.
    """

    hidden: int = 0
    newly_hidden: int = 0
    shown_again: int = 0
    named: tuple[Duplicate, ...] = ()

    @staticmethod
    def of(winners: Mapping[str, str], hidden: Sequence[str], shown: Sequence[str]) -> DuplicateReport:
        """The report on hidden documents, each with the one in its place, of which these were hidden or shown now."""
        names = dict.fromkeys((*sorted(hidden), *sorted(winners)))
        named = tuple(Duplicate(name, winners[name]) for name in islice(names, DUPLICATES_NAMED))
        return DuplicateReport(len(winners), len(hidden), len(shown), named)

    def lines(self, limit: int) -> Iterator[str]:
        """What this run changed, a line for each document and at most so many."""
        shown = min(self.newly_hidden, limit)
        for duplicate in self.named[:shown]:
            yield f"{duplicate.document_id} is not shown: {duplicate.duplicate_of} is the same page"
        if self.newly_hidden > shown:
            yield f"and {self.newly_hidden - shown:,} more"


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a whole sync did: documents by outcome, chunks written, embedding calls and texts, seconds of work.

    `resumed` documents were not asked for again, because a run that was cut off had staged them.
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
    spent: Spent = Spent()
    resumed: int = 0

    @staticmethod
    def of(
        source_id: str,
        parts: Sequence[ShardReport],
        *,
        status: Literal["ok", "warning", "failed"],
        removed: int,
        failures: tuple[Failure, ...],
        seconds: float,
        reason: str,
        duplicates: DuplicateReport,
        spent: Spent,
        resumed: int,
    ) -> SyncReport:
        """The report of a run from those of its parts; `failures` are all of its failures, `spent` all that it cost."""
        return SyncReport(
            source_id=source_id,
            status=status,
            new=sum(part.new for part in parts),
            changed=sum(part.changed for part in parts),
            unchanged=sum(part.unchanged for part in parts),
            removed=removed,
            failures=failures,
            chunks=sum(part.chunks for part in parts),
            embedding_calls=sum(part.embedding_calls for part in parts),
            embedded_texts=sum(part.embedded_texts for part in parts),
            seconds=round(seconds, 3),
            reason=reason,
            duplicates=duplicates,
            spent=spent,
            resumed=resumed,
        )

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> SyncReport:
        """The report from what `to_json` gave."""
        told = values["duplicates"]
        duplicates = DuplicateReport(**{**told, "named": tuple(Duplicate(**each) for each in told["named"])})
        failures = tuple(Failure(**failure) for failure in values["failures"])
        parts = {"failures": failures, "duplicates": duplicates, "spent": Spent(**values["spent"])}
        return SyncReport(**{**values, **parts})

    def summary(self) -> str:
        """The report in one line."""
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
            work += f"; {_counted(self.resumed, 'document')} had been read by a run that was cut off"
        line = f"{self.source_id}: {self.status}. Documents: {', '.join(parts)}; {work}, {self.seconds:.1f} s."
        return f"{line} {self.reason}".strip()


def readable(text: str) -> str:
    """The text with half characters spelled out, which neither logs nor databases take."""
    return text.encode("utf-8", "backslashreplace").decode()


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
