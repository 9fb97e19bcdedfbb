"""Checks of the models, with one tiny call each."""

from __future__ import annotations

from lore.doctor.finding import Finding
from lore.errors import ModelError
from lore.protocols import ChatModel, Embedder, FallbackReranker, Reranker
from lore.types import Chunk, Hit, Message


def check_embedder(embedder: Embedder) -> Finding:
    """Check that a real text becomes a vector of the declared length."""
    vector = embedder.embed_query("Does this work?")
    if len(vector) != embedder.dimensions:
        return Finding(
            "embedder",
            "problem",
            f"{embedder.name} gave {len(vector)} numbers instead of {embedder.dimensions}",
            "Set LORE_EMBEDDING_DIMENSIONS to what the model gives.",
        )
    return Finding("embedder", "ok", f"{embedder.name}, {embedder.dimensions} dimensions")


def check_reranker(reranker: Reranker | None, embedder: Embedder) -> Finding:
    """Check that the reranker orders two passages; a fallback must not hide that the first one fails."""
    if reranker is None:
        return Finding("reranker", "skipped", "none is set")
    if isinstance(reranker, FallbackReranker):
        return _first_of(reranker, embedder)
    texts = ("Paris is the capital of France.", "Bread is made from flour.")
    vectors = embedder.embed_documents(texts)
    query = embedder.embed_query("capital of France")
    hits = [
        Hit(_chunk(text), score=float(vector @ query), vector_score=float(vector @ query), vector=vector)
        for text, vector in zip(texts, vectors, strict=True)
    ]
    if len(reranker.rerank("capital of France", hits, 2)) != 2:
        return Finding("reranker", "problem", f"{reranker.name} lost a passage", "Set LORE_RERANKER to local.")
    return Finding("reranker", "ok", reranker.name)


def check_chat_model(chat_model: ChatModel | None) -> Finding:
    """Check that the language model answers."""
    if chat_model is None:
        return Finding("chat model", "skipped", "none is set: answers quote the best passages")
    answer = "".join(chat_model.stream([Message("user", "Answer with the single word: yes")]))
    if not answer.strip():
        return Finding("chat model", "problem", f"{chat_model.name} gave an empty answer", "Choose another model.")
    return Finding("chat model", "ok", chat_model.name)


def _first_of(reranker: FallbackReranker, embedder: Embedder) -> Finding:
    """Return the finding on the first of several; if it fails, the next one takes its place in every question."""
    first, then = reranker.parts[:2]
    try:
        return check_reranker(first, embedder)
    except ModelError as error:
        return Finding(
            "reranker", "problem", f"{error.message} {then.name} takes its place.", error.remedy or "Try again later."
        )


def _chunk(text: str) -> Chunk:
    return Chunk("doctor", "doctor", "doctor", "", "", (), text, position=0, start=0, end=len(text))
