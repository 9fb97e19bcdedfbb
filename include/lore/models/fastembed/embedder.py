"""An embedder of fastembed, such as a multilingual one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lore.errors import ConfigurationError, ModelError
from lore.models.fastembed.folder import ModelFolder, is_folder, read_folder
from lore.models.fastembed.loading import LoadedOnUse, check_installed, known_model, options, readable
from lore.models.fastembed.prompts import prompts_of
from lore.models.local import cores

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["FastEmbedEmbedder"]

SETTING = "LORE_EMBEDDER"
DEFAULT_TOKENS = 512

_TOKENS = re.compile(r"(\d+) input tokens")


class FastEmbedEmbedder:
    """Embeds with a model that fastembed knows, by its name, or with one in a folder.

    Loads on first use; thread-safe. A vector depends on its text alone, as each text runs by itself, on one of
    `threads` threads (0: one per core). Prompts such as "query: " are put before the texts. Raises ConfigurationError
    for an unknown model or an unusable folder, ModelError if a model can't be downloaded or fails.
    """

    def __init__(self, model: str, *, cache_dir: Path, threads: int) -> None:
        check_installed()
        self._threads = threads or cores()
        self._cache_dir = cache_dir
        self._folder: ModelFolder | None = None
        if is_folder(model):
            self._folder = read_folder(model)
            if not self._folder.dimensions:
                raise ConfigurationError(
                    f"No file in {self._folder.path} says how many dimensions its vectors have.",
                    remedy="Add config.json with hidden_size, as the model's repository has it.",
                )
            self._name, self.dimensions = self._folder.name, self._folder.dimensions
            self.max_tokens, self._prompts = self._folder.max_tokens, self._folder.prompts
        else:
            described = _described()
            self._name = known_model(model, described, SETTING)
            self.dimensions = int(described[self._name]["dim"])
            found = _TOKENS.search(described[self._name]["description"])
            self.max_tokens = int(found[1]) if found else DEFAULT_TOKENS
            self._prompts = prompts_of(self._name)
        self.name = f"fastembed:{self._name}"
        folder = self._folder.path if self._folder else None
        self._model = LoadedOnUse(self._make, self._name, SETTING, folder)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        model = self._model.get()
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)

        def embed(row: int) -> None:
            vectors[row] = self._embed(model.passage_embed, "document", texts[row])

        longest_first = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        with ThreadPoolExecutor(self._threads, "lore-embed") as pool:
            list(pool.map(embed, longest_first))
        return vectors

    def embed_query(self, text: str) -> Vector:
        return self._embed(self._model.get().query_embed, "query", text)

    def _embed(self, method: Any, prompt: str, text: str) -> Vector:
        given = self._prompts.get(prompt, "") + readable(text, self.max_tokens)
        try:
            vector = np.asarray(next(iter(method([given], batch_size=1))), dtype=np.float32)
        except Exception as error:  # onnxruntime exports no base class of its errors
            raise ModelError(f"{self.name} failed: {error}.") from error
        if vector.shape != (self.dimensions,):
            raise ModelError(
                f"{self.name} gave an array of shape {vector.shape}, not ({self.dimensions},).",
                remedy="Check hidden_size in config.json and 1_Pooling/config.json of the model's folder.",
            )
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length <= 0:
            raise ModelError(f"{self.name} gave a vector without a direction.", remedy="Choose another model.")
        return np.asarray(vector / length, dtype=np.float32)

    def _make(self) -> Any:
        from fastembed import TextEmbedding

        if self._folder is None:
            return TextEmbedding(self._name, **options(1, self._cache_dir, None))
        if self._name not in _described():
            from fastembed.common.model_description import ModelSource, PoolingType

            TextEmbedding.add_custom_model(
                self._name,
                pooling=PoolingType(self._folder.pooling),
                normalization=True,
                sources=ModelSource(hf=self._name),
                dim=self.dimensions,
                model_file=self._folder.graph,
            )
        return TextEmbedding(self._name, **options(1, self._cache_dir, self._folder.path))


def _described() -> dict[str, dict[str, Any]]:
    from fastembed import TextEmbedding

    return {model["model"]: model for model in TextEmbedding.list_supported_models()}
