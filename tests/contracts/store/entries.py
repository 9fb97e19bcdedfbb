"""Documents with chunks and vectors for tests of stores."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable, Sequence

import numpy as np
from lore.protocols import Store
from lore.types import Chunk, Counts, EmbeddedDocument, Hit, Recipe

from tests.fakes import FakeEmbedder, make_document

DIMENSIONS = 64
EMBEDDER = FakeEmbedder(DIMENSIONS)
RECIPE = Recipe(EMBEDDER.name, DIMENSIONS)
OTHER_MODEL = Recipe("fake:other", DIMENSIONS, "fake:9", choices={"chunk_characters": 900})

HOSTILE = (
    "",
    "   \n\t ",
    "the and of",
    'say "unbalanced (',
    "AND OR NOT + - && || ! ( ) { } [ ] ^ ~ * ? : \\ /",
    "title:secret AND *",
    "'; DROP TABLE chunks; --",
    "it's \\' \\",
    "nul \0 byte",
    "lone \ud800 surrogate",
    "emoji 😀 👩‍👩‍👧 é 日本語 \u202e \u200b",
    "word " * 2_000,
    "x" * 10_000,
    " ".join(f"term{number}" for number in range(1_500)),
    "{{ template }} %s %(x)s $1 ? :name `tick` --",
)

MakeStore = Callable[..., Store]


def embed(text: str) -> np.ndarray:
    return EMBEDDER.embed_query(text)


def make_entry(
    name: str, texts: Sequence[str], *, source_id: str = "fake", fingerprint: str = "1", **changes: object
) -> EmbeddedDocument:
    """A document with these texts as chunks."""
    document = make_document(name, "\n".join(texts), source_id, **changes)
    chunks, start = [], 0
    for position, text in enumerate(texts):
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{document.id}\n{text}".encode("utf-8", "replace").decode())
        chunks.append(
            Chunk(
                id=str(identity),
                document_id=document.id,
                source_id=source_id,
                url=document.url,
                title=document.title,
                headings=("Guide", f"Part {position}"),
                text=text,
                position=position,
                start=start,
                end=start + len(text),
                audiences=document.audiences,
                updated_at=document.updated_at,
            )
        )
        start += len(text) + 1
    vectors = EMBEDDER.embed_documents([chunk.embedded_text for chunk in chunks])
    return EmbeddedDocument(document, fingerprint, tuple(chunks), vectors)


def assert_holds(store: Store, entries: Sequence[EmbeddedDocument]) -> None:
    """Assert that the store holds exactly these entries, bit for bit."""
    assert {document.id: document for document in store.documents()} == {
        entry.document.id: entry.document for entry in entries
    }
    for entry in entries:
        name = entry.document.id
        assert store.document(name) == entry.document
        assert store.chunks(name) == list(entry.chunks)
        assert store.fingerprints(entry.document.source_id)[name] == entry.fingerprint
    vectors = store.vectors_for([chunk.content_hash for entry in entries for chunk in entry.chunks])
    for entry in entries:
        for chunk, vector in zip(entry.chunks, entry.vectors, strict=True):
            assert vectors[chunk.content_hash].dtype == np.float32
            assert vectors[chunk.content_hash].tobytes() == vector.tobytes()
    total = sum(len(entry.chunks) for entry in entries)
    assert store.count() == Counts(len(entries), total, total)


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.text for hit in hits]


def open_named(opener: str, address: str, *arguments: object) -> Store:
    """Open a store by the name of a function, as another process does."""
    module, _, function = opener.partition(":")
    return getattr(importlib.import_module(module), function)(address, *arguments)
