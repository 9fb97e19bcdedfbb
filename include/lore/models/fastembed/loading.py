"""Loading of fastembed's models, and what can go wrong with it."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

from lore.errors import ConfigurationError, LoreError, ModelError, require

__all__ = ["LoadedOnUse", "check_installed", "known_model", "options", "readable"]

Model = TypeVar("Model")

MAX_CHARACTERS_PER_TOKEN = 100
"""A longer text has no tokens beyond the model's limit, whatever its script."""


def check_installed() -> None:
    """Raise MissingPackageError if fastembed isn't installed; silence its log, as errors say the same."""
    require("fastembed", "fastembed", "A model of fastembed")
    from loguru import logger

    logger.disable("fastembed")


def known_model(model: str, known: Iterable[str], setting: str) -> str:
    """Return the name as fastembed spells it. Raises ConfigurationError that lists the known models."""
    names = sorted(known, key=str.lower)
    by_lower = {name.lower(): name for name in names}
    if found := by_lower.get(model.lower()):
        return found
    near = difflib.get_close_matches(model.lower(), by_lower, n=1)
    hint = f"Did you mean {by_lower[near[0]]}? " if near else ""
    raise ConfigurationError(
        f"fastembed knows no model {model!r} for {setting}.",
        remedy=f"{hint}Set {setting} to fastembed:FOLDER with a folder that holds the model, or to fastembed: and one "
        f"of: {', '.join(names)}.",
    )


class LoadedOnUse(Generic[Model]):
    """A model that is loaded when it is first asked for, once for all threads. `name` and `setting` are for errors."""

    def __init__(self, make: Callable[[], Model], name: str, setting: str, folder: Path | None) -> None:
        self._make = make
        self._name = name
        self._setting = setting
        self._folder = folder
        self._lock = threading.Lock()
        self._model: Model | None = None

    def get(self) -> Model:
        """Return the model.

        Raises ConfigurationError for a folder with unusable files, ModelError for a failed download.
        """
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Model:
        try:
            return self._make()
        except LoreError:
            raise
        except Exception as error:  # fastembed, its tokenizer and onnxruntime share no base class of errors
            reason = " ".join(str(error).split())[:300]
            if self._folder is not None:
                raise ConfigurationError(
                    f"Couldn't load the model in {self._folder}: {reason}",
                    remedy="Check that the folder has the whole ONNX graph, with its tokenizer, of such a model.",
                ) from error
            raise ModelError(
                f"Couldn't load {self._name}, which fastembed downloads from Hugging Face's hub: {reason}",
                remedy=f"Give this machine access to the hub; or copy the model's files from another machine, and set "
                f"{self._setting} to fastembed:FOLDER.",
                retryable=True,
            ) from error


def readable(text: str, max_tokens: int) -> str:
    """Return the part of a text that a model reads, without lone surrogates, which a tokenizer can't encode."""
    return text[: max_tokens * MAX_CHARACTERS_PER_TOKEN].encode("utf-8", "replace").decode("utf-8")


def options(threads: int, cache_dir: Path, folder: Path | None) -> dict[str, Any]:
    """Return the options of fastembed's classes: texts run concurrently instead of each on several threads."""
    place = {"specific_model_path": str(folder)} if folder else {}
    return {"cache_dir": str(cache_dir / "fastembed"), "threads": threads, "cuda": False, **place}
