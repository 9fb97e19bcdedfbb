"""Duplicate documents of a source, and which of them is shown.

A document is hidden by its fingerprint (`visibility`). Its metadata name the document shown in its place, for people:
no decision reads them.

The decision is made anew at the end of each sync, over all kept documents, and depends on nothing else. Documents are
taken in order of preference, and each is hidden behind a shown one that it is similar to. So every hidden document is
similar to the one shown, and no chain of small differences merges two pages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from lore.errors import ConfigurationError
from lore.ingest.finish.similarity import SimilarityIndex, is_signature, signature
from lore.ingest.finish.visibility import as_hidden, as_shown
from lore.protocols import Store
from lore.types import Document, DocumentInfo

if TYPE_CHECKING:
    from lore.declarations import Duplicates

__all__ = ["DuplicateDecision", "find_duplicates", "originals_of", "with_signature", "without_signature"]

SIGNATURE = "text_signature"
DUPLICATE_OF = "duplicate_of"
MAX_ADDRESS = 2_000
"""A longer address is compared by its beginning."""
VARIANTS_SECONDS = 30.0
"""Time that the declared expressions have for all addresses of a source; 100,000 addresses take one second.

An expression that backtracks would take years.
"""
VERSION = re.compile(r"/v?(\d{1,6}(?:\.\d{1,6})+|(?<=v)\d{1,6})(?=/|$)")

Rank: TypeAlias = tuple[tuple[bool, ...], bool, tuple[int, ...], int, str, str]


def with_signature(document: Document) -> Document:
    """Return the document with the signature of its text in its metadata."""
    return _with(document, {SIGNATURE: signature(document.title, document.text)})


def without_signature(document: Document) -> Document:
    """Return the document without a signature that it brings along: only ours may be stored as one."""
    return _with(document, {SIGNATURE: None}) if SIGNATURE in document.metadata else document


def _with(document: Document, values: Mapping[str, str | None]) -> Document:
    """Return the document with these values in its metadata; None removes one."""
    metadata = {**document.metadata, **values}
    return replace(document, metadata={name: metadata[name] for name in metadata if values.get(name, "") is not None})


@dataclass(frozen=True, slots=True)
class DuplicateDecision:
    """The hidden documents of a source, each with its original: the document shown in its place.

    `named` are the originals that the kept metadata name now. `signatures` are those that aren't stored yet.
    """

    originals: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, object] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)

    def apply_to(self, document_id: str, fingerprint: str) -> str:
        """Return the document's fingerprint, hidden or shown as decided."""
        return as_hidden(fingerprint) if document_id in self.originals else as_shown(fingerprint)

    def changes_metadata(self, document_id: str) -> bool:
        """Return True if the document's stored metadata don't match the decision yet."""
        original = self.originals.get(document_id)
        return document_id in self.signatures or (original is not None and self.named.get(document_id) != original)

    def with_metadata(self, document: Document, *, was_hidden: bool) -> Document:
        """Return a kept document with metadata that match the decision."""
        original = self.originals.get(document.id)
        values: dict[str, str | None] = {DUPLICATE_OF: original} if original or was_hidden else {}
        if document.id in self.signatures:
            values[SIGNATURE] = self.signatures[document.id]
        return _with(document, values)


def find_duplicates(
    store: Store, source_id: str, rule: Duplicates | None, *, gone: Collection[str] = ()
) -> DuplicateDecision:
    """Return the decision over a source's kept documents except those `gone`; without a rule, all are shown.

    It reads the documents once, without texts, and takes some 2 KB of memory a document. A document without a
    signature, kept before the rule was declared, is read with its text, once. Raises StoreError.
    """
    if rule is None:
        return DuplicateDecision()
    infos = [info for info in store.document_infos(source_id) if info.id not in gone]
    signatures: dict[str, str] = {}
    if rule.similarity is not None:
        unsigned = [info.id for info in infos if not is_signature(info.metadata.get(SIGNATURE))]
        for document in store.documents(ids=unsigned) if unsigned else ():
            signatures[document.id] = signature(document.title, document.text)
    originals = originals_of(infos, rule, signatures)
    named = {info.id: info.metadata.get(DUPLICATE_OF) for info in infos if info.id in originals}
    return DuplicateDecision(originals, named, signatures)


def originals_of(
    infos: Iterable[DocumentInfo],
    rule: Duplicates,
    signatures: Mapping[str, str],
    *,
    variants_seconds: float = VARIANTS_SECONDS,
) -> dict[str, str]:
    """Return hidden document → original. `signatures` take precedence over those in the metadata.

    Variants by address come first, since they were declared. The preferred variant of each page is then compared by
    text; the others follow it if it is hidden itself. Raises ConfigurationError for an expression among the variants
    that takes too long.
    """
    order = sorted(infos, key=_ranking(rule))
    originals: dict[str, str] = {}
    best: dict[object, DocumentInfo] = {}
    pages: list[DocumentInfo] = []
    remove_variant = _variant_remover(rule, variants_seconds)
    for info in order:
        address = _address(info)
        first = best.setdefault((_audiences(info), remove_variant(address)), info)
        if first is info or _address(first) == address:  # the pattern isn't about equal addresses
            pages.append(info)
        else:
            originals[info.id] = first.id
    if rule.similarity is not None:
        originals |= _similar_pages(pages, rule.similarity, signatures)
    return {hidden: originals.get(original, original) for hidden, original in originals.items()}


def _similar_pages(pages: Sequence[DocumentInfo], similarity: float, signatures: Mapping[str, str]) -> dict[str, str]:
    """Return page → the most similar page before it that isn't hidden itself."""
    originals: dict[str, str] = {}
    indexes: dict[object, SimilarityIndex] = {}
    for number, page in enumerate(pages):
        value = signatures.get(page.id) or page.metadata.get(SIGNATURE)
        if not is_signature(value):  # its text is gone by now: another sync of the same source is running
            continue
        index = indexes.setdefault(_audiences(page), SimilarityIndex(similarity))
        found = index.find(str(value))
        if found is None:
            index.add(number, str(value))
        else:
            originals[page.id] = pages[found.number].id
    return originals


def _address(info: DocumentInfo) -> str:
    """Return the page's address, or its id without the source, with a slash in front."""
    return (info.url or "/" + info.id.partition(":")[2].lstrip("/"))[:MAX_ADDRESS]


def _audiences(info: DocumentInfo) -> tuple[str, ...]:
    """Return the page's audiences: hidden behind a page for others, it would be lost to its own readers."""
    return tuple(sorted(set(info.audiences)))


def _variant_remover(rule: Duplicates, seconds: float) -> Callable[[str], str]:
    """Return a function that removes from an address the parts that the declared expressions match.

    All its calls together may take so many seconds.
    """
    if not rule.variants:
        return lambda address: address
    import regex

    patterns = [regex.compile(pattern) for pattern in rule.variants]
    end = time.thread_time() + seconds  # processor time: other processes don't shorten it

    def remove(address: str) -> str:
        for pattern in patterns:
            try:
                match = pattern.search(address, timeout=max(end - time.thread_time(), 0.001))
            except TimeoutError:
                raise ConfigurationError(
                    f"The expression {pattern.pattern!r} in `duplicates.variants` takes too long: comparing the "
                    f"addresses of the source took more than {seconds:g} s.",
                    remedy="Write it so that it matches a text in one way only: no star or plus within another one.",
                ) from None
            if match and match[1]:
                address = address[: match.start(1)] + address[match.end(1) :]
        return address

    return remove


def _has(address: str, pieces: Sequence[str]) -> bool:
    """Return True if the address contains these pieces in this order."""
    place = 0
    for piece in pieces:  # the first place of each leaves the most for the others
        found = address.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return True


def _ranking(rule: Duplicates) -> Callable[[DocumentInfo], Rank]:
    """Return the sort key of the order of preference, best first; no two documents have the same key."""
    preferred = [piece.split("*") for piece in rule.prefer]

    def rank(info: DocumentInfo) -> Rank:
        address = _address(info)
        version = VERSION.search(address)
        numbers = [-int(number) for number in version[1].split(".")] if version else []
        lacks = tuple(not _has(address, pieces) for pieces in preferred)
        # The 1 sorts 1.10.2 before 1.10, its own beginning.
        return lacks, version is not None, (*numbers, 1), len(address), address, info.id

    return rank
