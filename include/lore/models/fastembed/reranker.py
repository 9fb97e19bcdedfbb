"""A cross-encoder of fastembed: it reads question and passage together, which ranks best and costs most."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

from lore.errors import ModelError
from lore.models.fastembed.folder import ModelFolder, is_folder, read_folder
from lore.models.fastembed.loading import LoadedOnUse, check_installed, known_model, options, readable
from lore.models.local import cores
from lore.protocols import OnUsage, Reranker
from lore.types import Hit

__all__ = ["FastEmbedReranker"]

SETTING = "LORE_RERANKER"
READ = 32
"""Candidates that the cross-encoder reads; 300 would take a small one some 10 seconds of one processor."""
MAX_TOKENS = 1_024


class FastEmbedReranker:
    """Orders the best candidates of another reranker by a cross-encoder's scores, from 0 to 1.

    Loads on first use; thread-safe. Raises ConfigurationError for an unknown model or an unusable folder, ModelError if
    a model can't be downloaded or fails.
    """

    def __init__(self, model: str, first: Reranker, *, cache_dir: Path, threads: int) -> None:
        check_installed()
        self._first = first
        self._threads = threads or cores()
        self._cache_dir = cache_dir
        self._folder: ModelFolder | None = read_folder(model) if is_folder(model) else None
        self._name = self._folder.name if self._folder else known_model(model, _known(), SETTING)
        self.name = f"fastembed:{self._name}"
        folder = self._folder.path if self._folder else None
        self._model = LoadedOnUse(self._make, self._name, SETTING, folder)

    def rerank(self, query: str, hits: Sequence[Hit], limit: int, *, on_usage: OnUsage | None = None) -> list[Hit]:
        """See `Reranker.rerank`; it costs nothing, so `on_usage` hears nothing."""
        read = self._first.rerank(query, hits, max(READ, limit)) if len(hits) > READ else hits
        model = self._model.get()
        question = readable(query, MAX_TOKENS)

        def score(hit: Hit) -> float:
            try:
                return float(next(iter(model.rerank(question, [readable(hit.chunk.passage, MAX_TOKENS)]))))
            except Exception as error:  # onnxruntime exports no base class of its errors
                raise ModelError(f"{self.name} failed: {error}.") from error

        with ThreadPoolExecutor(self._threads, "lore-rerank") as pool:
            scored = [replace(hit, score=_share(value)) for hit, value in zip(read, pool.map(score, read), strict=True)]
        return sorted(scored, key=lambda hit: -hit.score)[: max(limit, 0)]

    def _make(self) -> Any:
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        if self._folder is None:
            return TextCrossEncoder(self._name, **options(1, self._cache_dir, None))
        if self._name not in _known():
            from fastembed.common.model_description import ModelSource

            TextCrossEncoder.add_custom_model(
                self._name, sources=ModelSource(hf=self._name), model_file=self._folder.graph
            )
        return TextCrossEncoder(self._name, **options(1, self._cache_dir, self._folder.path))


def _share(logit: float) -> float:
    """Return the logistic function of a score; it doesn't overflow."""
    return 1 / (1 + exp(-logit)) if logit >= 0 else exp(logit) / (1 + exp(logit))


def _known() -> list[str]:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return [str(model["model"]) for model in TextCrossEncoder.list_supported_models()]
