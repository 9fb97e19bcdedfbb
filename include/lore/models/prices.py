"""Prices of models: a list in YAML with dates and sources, and a team's own entries before it."""

from __future__ import annotations

import logging
import re
from datetime import date
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lore.errors import ConfigurationError
from lore.validation import explain_error

__all__ = ["PriceList", "load_prices"]

LIST = Path(__file__).with_name("prices.yaml")
MILLION = 1_000_000
_log = logging.getLogger(__name__)

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
"""The date suffix of a model snapshot, which costs the same as the model."""


class _Price(BaseModel):
    """The price of one model in US dollars, per million tokens or per search."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float | None = Field(None, ge=0)
    cached_input: float | None = Field(None, ge=0)
    output: float | None = Field(None, ge=0)
    search: float | None = Field(None, ge=0)
    date: date
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _has_a_price(self) -> Self:
        if (self.input is None) == (self.search is None):
            raise ValueError("set one of input and search")
        return self


class _PriceFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    same_as: dict[str, str] = Field(default_factory=dict)
    free: list[str] = Field(default_factory=list)
    models: dict[str, _Price] = Field(default_factory=dict)


class PriceList:
    """Costs by model name, "provider:model". A model that is not on the list is logged once."""

    def __init__(self, *files: _PriceFile) -> None:
        """The first file with an entry for a model wins."""
        self._files = files
        self._same_as = {name: other for file in reversed(files) for name, other in file.same_as.items()}
        self._unknown: set[str] = set()

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float | None:
        """US dollars for one call; `cached_tokens` are part of the input. None for an unknown price."""
        if self._is_free(model):
            return 0.0
        price = self._price(model)
        if price is None or price.input is None or (price.output is None and output_tokens):
            return None
        cached_price = price.input if price.cached_input is None else price.cached_input
        fresh = max(0, input_tokens - cached_tokens)
        total = fresh * price.input + cached_tokens * cached_price + output_tokens * (price.output or 0.0)
        return total / MILLION

    def search_cost(self, model: str, searches: int) -> float | None:
        """US dollars for searches of a reranker; None for an unknown price or one per token."""
        if self._is_free(model):
            return 0.0
        price = self._price(model)
        return None if price is None or price.search is None else price.search * searches

    def _is_free(self, model: str) -> bool:
        return any(model.partition(":")[0] in file.free for file in self._files)

    def _price(self, model: str) -> _Price | None:
        provider, _, name = model.partition(":")
        names = [f"{owner}:{name}" for owner in (provider, self._same_as.get(provider)) if owner]
        for file in self._files:
            for known in names:
                if price := file.models.get(known) or file.models.get(_SNAPSHOT.sub("", known)):
                    return price
        if model not in self._unknown:
            self._unknown.add(model)
            _log.warning(
                "%s has no price, so its costs are unknown. Add one to the file that LORE_PRICES names.", model
            )
        return None


def load_prices(own: Path | None = None) -> PriceList:
    """Lore's list after the entries of `own`. Raises ConfigurationError for an invalid file."""
    shipped = _read(LIST)
    return PriceList(_read(own), shipped) if own else PriceList(shipped)


def _read(path: Path) -> _PriceFile:
    try:
        return _PriceFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not YAML in UTF-8"
        message = f"Couldn't read the prices in {path}: {reason}."
        raise ConfigurationError(message, remedy="Correct LORE_PRICES.") from None
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'file'} {explain_error(item)}" for item in error.errors()[:3]
        )
        raise ConfigurationError(
            f"The prices in {path} are invalid: {wrong}.", remedy="Follow the form of include/lore/models/prices.yaml."
        ) from None
