"""A corpus as large as one likes, made of real pages: the original pages, then copies with changes, ready to be stored.

A copy has a tenth of its words replaced by others of the corpus (frequent ones more often), and each of its vectors is
the real vector plus noise with the covariance of the real vectors, renormalised: its cosine to the original is about
0.86, so that copies lie as near each other as pages on one subject do. One page in 20 is not public. Everything follows
from page, copy and revision, so that any process makes the same corpus without keeping it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from lore.evaluation.beir.dataset import BeirSource
from lore.settings import Settings, load_settings
from lore.types import PUBLIC, Chunk, Document, EmbeddedDocument
from lore.wiring.models import make_embedder
from lore.wiring.stores import make_splitter

from bench.corpus import load_corpus, wordings

if TYPE_CHECKING:
    from lore.types import Matrix

SOURCE_ID = "scale"
NOISE = 0.7
REPLACED_WORDS = 0.1
PRIVATE_EVERY = 20
BATCH_CHUNKS = 512


@dataclass(frozen=True)
class Asked:
    """A question with its three wordings and their vectors."""

    text: str
    wordings: tuple[str, ...]
    vectors: Matrix


@dataclass(frozen=True)
class Page:
    """A real page: its passages and their real vectors."""

    title: str
    chunks: tuple[Chunk, ...]
    vectors: Matrix


class ScaleCorpus:
    """The first `chunks` chunks, more or less: the last page is whole. `folder` keeps the real vectors between runs."""

    def __init__(self, chunks: int, folder: Path) -> None:
        self._pages, self.questions = _real(folder)
        real = np.concatenate([page.vectors for page in self._pages])
        values, axes = np.linalg.eigh(np.cov(real, rowvar=False))
        self._root = ((axes * np.sqrt(np.clip(values, 0, None))) @ axes.T).astype(np.float32)
        self._words = " ".join(chunk.text for page in self._pages for chunk in page.chunks).split(" ")
        self.dimensions = real.shape[1]
        self.documents = self._first(chunks)

    def _first(self, chunks: int) -> int:
        sizes = [len(page.chunks) for page in self._pages]
        rounds, rest = divmod(chunks, sum(sizes))
        return rounds * len(sizes) + int(np.searchsorted(np.cumsum(sizes), rest)) + 1

    def document_ids(self) -> Iterator[str]:
        """The ids of all documents."""
        return (_document_id(number) for number in range(self.documents))

    def changing(self, count: int) -> list[int]:
        """The numbers of the `count` documents that syncs change: spread evenly, always the same."""
        return list(map(int, np.linspace(0, self.documents - 1, count)))

    def batches(self) -> Iterator[list[EmbeddedDocument]]:
        """All documents as first written, in groups as a sync writes them."""
        batch: list[EmbeddedDocument] = []
        size = 0
        for number in range(self.documents):
            batch.append(self.entry(number))
            size += len(batch[-1].chunks)
            if size >= BATCH_CHUNKS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def entry(self, number: int, revision: int = 0) -> EmbeddedDocument:
        """Document `number`; a later revision differs in one of its passages, which is at another place each time."""
        copy, place = divmod(number, len(self._pages))
        page = self._pages[place]
        chance = np.random.default_rng([place, copy])
        texts = [self._changed(chunk.text, chance) if copy else chunk.text for chunk in page.chunks]
        vectors = self._noisy(page.vectors, chance) if copy else page.vectors.copy()
        if revision:
            again = np.random.default_rng([place, copy, revision])
            edited = revision % len(texts)
            texts[edited] = self._changed(texts[edited], again) + f" Revision {revision}."
            vectors[edited] = self._noisy(vectors[edited : edited + 1], again)[0]
        return _entry(number, copy, page, texts, vectors, revision)

    def _changed(self, text: str, chance: np.random.Generator) -> str:
        words = text.split(" ")
        for position in np.flatnonzero(chance.random(len(words)) < REPLACED_WORDS):
            words[position] = self._words[chance.integers(len(self._words))]
        return " ".join(words)

    def _noisy(self, vectors: Matrix, chance: np.random.Generator) -> Matrix:
        noise = chance.standard_normal(vectors.shape).astype(np.float32) @ self._root
        return _unit(vectors + NOISE * noise)


def bench_settings(**changes: object) -> Settings:
    """The settings of the environment, which may hold the benches' own names besides."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LORE_BENCH_")}
    return load_settings(environment, **changes)


def _entry(
    number: int, copy: int, page: Page, texts: Sequence[str], vectors: Matrix, revision: int
) -> EmbeddedDocument:
    name = _document_id(number)
    audiences = (PUBLIC,) if (number + 1) % PRIVATE_EVERY else ("staff",)
    title = f"{page.title} ({copy})" if copy else page.title
    url = f"https://docs.example.com/{number}"
    chunks, start = [], 0
    for position, (original, text) in enumerate(zip(page.chunks, texts, strict=True)):
        chunks.append(
            replace(
                original,
                id=str(uuid5(NAMESPACE_URL, f"{name} {position} {text}")),
                document_id=name,
                source_id=SOURCE_ID,
                url=url,
                title=title,
                text=text,
                position=position,
                start=start,
                end=start + len(text),
                audiences=audiences,
            )
        )
        start += len(text) + 2
    document = Document(name, SOURCE_ID, url, title, "\n\n".join(texts), audiences=audiences)
    return EmbeddedDocument(document, f"revision {revision}", tuple(chunks), vectors)


def _document_id(number: int) -> str:
    return f"{SOURCE_ID}:{number:07d}"


def _real(folder: Path) -> tuple[list[Page], list[Asked]]:
    """The real pages and questions with the vectors of the embedder, which are computed once and kept in the folder."""
    dataset = load_corpus()
    settings = bench_settings(store="lancedb", index_uri=str(folder), chat_model="")
    embedder = make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    documents = [document for batch in BeirSource(dataset.folder).read(None) for document in batch.documents]
    cut = [(document.title, tuple(splitter.split(document))) for document in documents]
    cut = [(title, chunks) for title, chunks in cut if chunks]
    asked = [(query.text, wordings(query.text)) for query in dataset.queries]
    kept = folder / f"{dataset.name}.npz"
    if kept.exists():
        with np.load(kept) as stored:
            passages, asked_vectors = stored["passages"], stored["wordings"]
    else:
        passages = embedder.embed_documents([chunk.embedded_text for _, chunks in cut for chunk in chunks])
        asked_vectors = np.stack([embedder.embed_query(wording) for _, three in asked for wording in three])
        np.savez(kept, passages=passages, wordings=asked_vectors)
    ends = np.cumsum([len(chunks) for _, chunks in cut])[:-1]
    pages = [Page(title, chunks, part) for (title, chunks), part in zip(cut, np.split(passages, ends), strict=True)]
    questions = [
        Asked(text, three, part) for (text, three), part in zip(asked, np.split(asked_vectors, len(asked)), strict=True)
    ]
    return pages, questions


def _unit(vectors: Matrix) -> Matrix:
    unit: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
