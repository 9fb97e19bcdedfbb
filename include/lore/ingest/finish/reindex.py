"""What the end of a sync writes anew out of the kept documents; the source is not asked, and nothing is converted."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from lore.ingest.finish.duplicates import Decision
from lore.ingest.finish.visibility import is_hidden
from lore.ingest.report import ShardReport
from lore.ingest.strategies.strategy import mark_of, strategy_of
from lore.ingest.write.prepare import Prepared, Preparer
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Store
from lore.types import Failure

__all__ = ["Remade", "remake"]


@dataclass(frozen=True, slots=True)
class Remade:
    """What was written anew; `hidden` and `shown` are those of it that were shown, or hidden, before."""

    report: ShardReport = field(default_factory=ShardReport)
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def remake(
    store: Store,
    source_id: str,
    preparer: Preparer,
    writer: EntryWriter,
    *,
    strategy: str,
    decision: Decision,
    failed: Collection[str] = (),
    gone: Collection[str] = (),
) -> Remade:
    """Make passages anew where another strategy made them or a write was cut off, and hide and show as was decided.

    Documents that are `gone` are left alone, and so are those that `failed` in this run, unless they are to be hidden
    or shown. What is shown again is written first, so that no page is missing in between, and nothing is hidden behind
    a document whose passages could not be made.
    """
    started = time.monotonic()
    kept, held = store.document_fingerprints(source_id), store.fingerprints(source_id)
    marks: dict[str, str] = {}
    stale: set[str] = set()
    for name, mark in kept.items():
        wanted = decision.mark(name, mark_of(mark, strategy))
        if name in gone or (name in failed and is_hidden(wanted) == is_hidden(mark)):
            continue
        if not held.get(name) or {strategy_of(held[name]), strategy_of(mark)} != {strategy}:
            stale.add(name)
        if name in stale or wanted != mark or decision.is_unwritten(name):
            marks[name] = wanted
    failures: dict[str, Failure] = {}
    for hiding in (False, True):
        names = [name for name, mark in marks.items() if is_hidden(mark) == hiding]
        for document in store.documents(ids=names) if names else ():
            name = document.id
            if hiding and decision.winners[name] in failures:
                continue
            document = decision.written(document, was_hidden=is_hidden(kept[name]))
            prepared = Prepared(document, ()) if hiding else preparer.split(document)
            if isinstance(prepared, Prepared):
                writer.add(prepared.document, marks[name], prepared.chunks)
            else:
                failures[name] = prepared
        writer.flush()
    written = dict.fromkeys(writer.written)
    report = ShardReport(
        indexed=tuple(written),
        changed=len(stale.intersection(written)),
        failures=tuple(failures.values()),
        chunks=writer.chunks,
        embedding_calls=writer.embedding_calls,
        embedded_texts=writer.embedded_texts,
        seconds=time.monotonic() - started,
    )
    turned = [name for name in written if is_hidden(marks[name]) != is_hidden(kept[name])]
    return Remade(
        report,
        hidden=tuple(name for name in turned if is_hidden(marks[name])),
        shown=tuple(name for name in turned if not is_hidden(marks[name])),
    )
