"""Bringing a version of the index up to date from the kept documents: no source is asked, nothing is converted.

The same act builds a new version, resumes a build that was killed, and lets a sync write to every version. What there
is to do is seen by comparing the fingerprint of each kept document with the one that the version's chunks were made at.
A sync may change a document in the middle; the comparison is repeated until nothing differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any
from zlib import crc32

from lore.errors import StoreError
from lore.ingest.finish.visibility import is_hidden
from lore.ingest.report import Listener, silent
from lore.ingest.strategies.strategy import Splitters, only_basic, strategy_of
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Embedder, Splitter, Store
from lore.types import IndexVersion

__all__ = ["BuildReport", "VersionBuilder", "behind", "part_of"]

PASSES = 20


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What bringing a version up to date took. `embedded_texts` of `chunks` had no vector yet; `removed` documents
    were in the version and are kept no longer.
    """

    version: int
    documents: int = 0
    removed: int = 0
    chunks: int = 0
    embedding_calls: int = 0
    embedded_texts: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)


class VersionBuilder:
    """Writes the passages of kept documents into one version, the way its recipe says.

    `relatives` are stores of other versions that hold vectors of the same embedder. `splitters` gives what makes the
    passages of documents whose mark names a strategy; without it only the version's own `splitter` is to be had.
    """

    def __init__(
        self,
        version: IndexVersion,
        store: Store,
        embedder: Embedder,
        splitter: Splitter,
        *,
        relatives: Sequence[Store] = (),
        splitters: Splitters | None = None,
    ) -> None:
        self.version = version
        self.store = store
        self._embedder = embedder
        self._splitters = splitters or only_basic(splitter)
        self._relatives = relatives

    def catch_up(
        self,
        source_id: str | None = None,
        *,
        ids: Sequence[str] | None = None,
        part: tuple[int, int] | None = None,
        listener: Listener = silent,
    ) -> BuildReport:
        """Bring the version up to date: for all documents, those of a source, or those `ids`; in the end none differs.

        `part` (k, n) takes the k-th of n shares of the documents, so that several workers do one each. May be killed
        and called again. Raises ModelError, StoreError, and ConfigurationError where the strategy of a document cannot
        be had; what was written before stays.
        """
        started = monotonic()
        writer = EntryWriter(self.store, self._embedder, write=self.store.replace_chunks, relatives=self._relatives)
        removed = done = 0
        for _ in range(PASSES):
            changed, gone = self._differences(source_id, ids, part)
            if not changed and not gone:
                return BuildReport(
                    version=self.version.number,
                    documents=len(set(writer.written)),
                    removed=removed,
                    chunks=writer.chunks,
                    embedding_calls=writer.embedding_calls,
                    embedded_texts=writer.embedded_texts,
                    seconds=round(monotonic() - started, 3),
                )
            if gone:
                self.store.remove_chunks(gone)
                removed += len(gone)
            total = done + len(changed)
            for document in self.store.documents(ids=list(changed)):
                mark = changed[document.id]
                chunks = () if is_hidden(mark) else self._splitters(strategy_of(mark)).split(document)
                writer.add(document, mark, chunks)
                done += 1
                listener(done, total)
            writer.flush()
        raise StoreError(
            f"Version {self.version.number} does not come to rest: documents are changed faster than it is built.",
            remedy="Run `lore index build` again when no sync is under way.",
            retryable=True,
        )

    def _differences(
        self, source_id: str | None, ids: Sequence[str] | None, part: tuple[int, int] | None = None
    ) -> tuple[dict[str, str], list[str]]:
        """The documents to be written, with the fingerprint that each is kept at, and the ids of those to be removed.

        Fingerprints are read before the documents are: text that is newer than its fingerprint is left out by
        `replace_chunks`, while an older text under a newer fingerprint would pass for it.
        """
        held = self.store.fingerprints(source_id, ids=ids)
        kept = self.store.document_fingerprints(source_id, ids=ids)

        def mine(name: str) -> bool:
            return part is None or part_of(name, part)

        changed = {name: mark for name, mark in kept.items() if held.get(name) != mark and mine(name)}
        return changed, [name for name in held if name not in kept and mine(name)]


def behind(store: Store) -> list[str]:
    """The ids of documents that a version does not hold as they are kept, or holds and should not."""
    held, kept = store.fingerprints(), store.document_fingerprints()
    return [name for name in {**held, **kept} if held.get(name) != kept.get(name)]


def part_of(name: str, part: tuple[int, int]) -> bool:
    """Whether a document belongs to the k-th of n shares; the same in every process."""
    number, of = part
    return crc32(name.encode("utf-8", "surrogatepass")) % of == number
