"""Which documents of a source are there twice, and which of them is shown.

A document is hidden by its mark (`visibility`). Its metadata name the document that is shown in its place, for people:
nothing is decided by them.

The decision is made anew at the end of each sync, over all kept documents, and depends on nothing else. Documents are
taken in the order of preference, and each is hidden behind one that is shown already, if it is like that one. So each
hidden document is like the one that is shown, and no chain of small differences makes one page of two.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from lore.errors import ConfigurationError
from lore.ingest.finish.similarity import Similar, is_signature, signature
from lore.ingest.finish.visibility import hidden, shown
from lore.protocols import Store
from lore.types import Document, DocumentInfo

if TYPE_CHECKING:
    from lore.declarations import Duplicates

__all__ = ["Decision", "decide", "signed", "unsigned", "winners_of"]

SIGNATURE = "text_signature"
DUPLICATE_OF = "duplicate_of"
MAX_ADDRESS = 2_000
"""Of a longer address the beginning is looked at."""
VARIANTS_SECONDS = 30.0
"""What the declared expressions may take for all addresses of a source, of which 100,000 take one second: an expression
that tries each way of many to match the same text would take years.
"""
VERSION = re.compile(r"/v?(\d{1,6}(?:\.\d{1,6})+|(?<=v)\d{1,6})(?=/|$)")

Rank: TypeAlias = tuple[tuple[bool, ...], bool, tuple[int, ...], int, str, str]


def signed(document: Document) -> Document:
    """The document with what its text is compared by in its metadata."""
    return _with(document, {SIGNATURE: signature(document.title, document.text)})


def unsigned(document: Document) -> Document:
    """The document without a signature that it brings along itself: what is kept as one is to be ours."""
    return _with(document, {SIGNATURE: None}) if SIGNATURE in document.metadata else document


def _with(document: Document, values: Mapping[str, str | None]) -> Document:
    """The document with these values in its metadata; None takes one out."""
    metadata = {**document.metadata, **values}
    return replace(document, metadata={name: metadata[name] for name in metadata if values.get(name, "") is not None})


@dataclass(frozen=True, slots=True)
class Decision:
    """Which documents of a source are hidden, each with the one in whose place it stands.

    `named` is what their kept metadata say of that now. `signatures` are those that were not kept yet.
    """

    winners: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, object] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)

    def mark(self, document_id: str, mark: str) -> str:
        """The mark that a document with this mark is to have."""
        return hidden(mark) if document_id in self.winners else shown(mark)

    def is_unwritten(self, document_id: str) -> bool:
        """Whether a document's metadata do not say yet what was decided."""
        winner = self.winners.get(document_id)
        return document_id in self.signatures or (winner is not None and self.named.get(document_id) != winner)

    def written(self, document: Document, *, was_hidden: bool) -> Document:
        """A kept document with metadata that say what was decided."""
        winner = self.winners.get(document.id)
        values: dict[str, str | None] = {DUPLICATE_OF: winner} if winner or was_hidden else {}
        if document.id in self.signatures:
            values[SIGNATURE] = self.signatures[document.id]
        return _with(document, values)


def decide(store: Store, source_id: str, rule: Duplicates | None, *, gone: Collection[str] = ()) -> Decision:
    """The decision over a source's kept documents but for those that are `gone`; without a rule all are shown.

    It takes one read without texts, and memory of some 2 KB a document. A document that has no signature yet, because
    it was kept before the rule was declared, is read with its text, once. Raises StoreError.
    """
    if rule is None:
        return Decision()
    outlines = [outline for outline in store.document_infos(source_id) if outline.id not in gone]
    signatures: dict[str, str] = {}
    if rule.similarity is not None:
        unsigned = [outline.id for outline in outlines if not is_signature(outline.metadata.get(SIGNATURE))]
        for document in store.documents(ids=unsigned) if unsigned else ():
            signatures[document.id] = signature(document.title, document.text)
    winners = winners_of(outlines, rule, signatures)
    named = {outline.id: outline.metadata.get(DUPLICATE_OF) for outline in outlines if outline.id in winners}
    return Decision(winners, named, signatures)


def winners_of(
    outlines: Iterable[DocumentInfo],
    rule: Duplicates,
    signatures: Mapping[str, str],
    *,
    variants_seconds: float = VARIANTS_SECONDS,
) -> dict[str, str]:
    """Hidden document → the one that is shown in its place. Raises ConfigurationError for an expression among the
    variants that takes too long.

    Variants by address come first, as they are what was declared: of each page the preferred variant goes on to be
    compared by text, and the others stand behind whatever it then stands behind. `signatures` go before those that
    the metadata have.
    """
    order = sorted(outlines, key=_ranking(rule))
    behind: dict[str, str] = {}
    best: dict[object, DocumentInfo] = {}
    pages: list[DocumentInfo] = []
    without_part = _without_part(rule, variants_seconds)
    for outline in order:
        address = address_of(outline)
        first = best.setdefault((_audiences(outline), without_part(address)), outline)
        if first is outline or address_of(first) == address:  # equal addresses are not what the pattern is about
            pages.append(outline)
        else:
            behind[outline.id] = first.id
    if rule.similarity is not None:
        behind |= _alike(pages, rule.similarity, signatures)
    return {loser: behind.get(winner, winner) for loser, winner in behind.items()}


def _alike(pages: Sequence[DocumentInfo], similarity: float, signatures: Mapping[str, str]) -> dict[str, str]:
    """Page → the page before it that it is most like, of those that are like none themselves."""
    behind: dict[str, str] = {}
    similar: dict[object, Similar] = {}
    for number, page in enumerate(pages):
        value = signatures.get(page.id) or page.metadata.get(SIGNATURE)
        if not is_signature(value):  # its text is gone by now: a sync of the same source is under way
            continue
        among = similar.setdefault(_audiences(page), Similar(similarity))
        found = among.find(str(value))
        if found is None:
            among.add(number, str(value))
        else:
            behind[page.id] = pages[found.number].id
    return behind


def address_of(outline: DocumentInfo) -> str:
    """What tells where a page stands: its address, else its id without the source, from a slash on."""
    return (outline.url or "/" + outline.id.partition(":")[2].lstrip("/"))[:MAX_ADDRESS]


def _audiences(outline: DocumentInfo) -> tuple[str, ...]:
    """Who may see it: a page that is hidden behind one for others would be lost to its own readers."""
    return tuple(sorted(set(outline.audiences)))


def _without_part(rule: Duplicates, seconds: float) -> Callable[[str], str]:
    """An address → what is left of it without the parts that the declared expressions name; for so many seconds."""
    if not rule.variants:
        return lambda address: address
    import regex

    patterns = [regex.compile(pattern) for pattern in rule.variants]
    end = time.thread_time() + seconds  # which no other process shortens

    def shortened(address: str) -> str:
        for pattern in patterns:
            try:
                match = pattern.search(address, timeout=max(end - time.thread_time(), 0.001))
            except TimeoutError:
                raise ConfigurationError(
                    f"The expression {pattern.pattern!r} in `duplicates.variants` takes too long: the addresses of the "
                    f"source could not be compared in {seconds:g} s.",
                    remedy="Write it so that it can match a text in one way only: no star or plus within another one.",
                ) from None
            if match and match[1]:
                address = address[: match.start(1)] + address[match.end(1) :]
        return address

    return shortened


def _has(address: str, pieces: Sequence[str]) -> bool:
    """Whether an address has these pieces in this order. The first place of each leaves the most for the others."""
    place = 0
    for piece in pieces:
        found = address.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return True


def _ranking(rule: Duplicates) -> Callable[[DocumentInfo], Rank]:
    """The order of preference, best first; no two documents have the same place in it."""
    preferred = [piece.split("*") for piece in rule.prefer]

    def rank(outline: DocumentInfo) -> Rank:
        address = address_of(outline)
        version = VERSION.search(address)
        numbers = [-int(number) for number in version[1].split(".")] if version else []
        lacks = tuple(not _has(address, pieces) for pieces in preferred)
        # The 1 lets 1.10.2 come before 1.10, whose numbers it begins with.
        return lacks, version is not None, (*numbers, 1), len(address), address, outline.id

    return rank
