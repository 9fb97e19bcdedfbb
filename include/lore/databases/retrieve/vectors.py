"""Vectors of a schema's tables, kept in a file so that each schema is embedded once."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError
from lore.protocols import Embedder

if TYPE_CHECKING:
    from lore.types import Matrix

__all__ = ["VectorFiles"]

KEPT_FILES = 50


class VectorFiles:
    """Vectors of lists of texts, in a folder; a list that was embedded before is read from its file."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self.embedder = embedder
        self._folder = folder

    def key(self, texts: Sequence[str]) -> str:
        """Return a hash of the texts and the embedder."""
        return hashlib.sha256("\0".join([self.embedder.name, *texts]).encode(errors="replace")).hexdigest()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors: shape (len(texts), dimensions). Raises ModelError and ConfigurationError."""
        import numpy as np

        file = self._folder / f"{self.key(texts)}.npy"
        try:
            if file.exists():
                vectors: Matrix = np.load(file, allow_pickle=False)
                if vectors.shape == (len(texts), self.embedder.dimensions):
                    os.utime(file)
                    return vectors
        except (OSError, ValueError):  # damaged: it is made again
            pass
        vectors = self.embedder.embed_documents(texts)
        try:
            self._save(file, vectors)
        except OSError as error:
            raise ConfigurationError(
                f"Couldn't write {file}: {error.strerror}.",
                remedy="Set LORE_CACHE_DIR to a folder that can be written.",
            ) from None
        return vectors

    def _save(self, file: Path, vectors: Matrix) -> None:
        """Put the file in place whole, and remove the least recently used ones."""
        import numpy as np

        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as half:
            np.save(half, vectors)
        Path(half.name).replace(file)
        kept = sorted(self._folder.glob("*.npy"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in kept[KEPT_FILES:]:
            old.unlink(missing_ok=True)
