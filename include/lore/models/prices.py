"""What models cost: a price list in YAML with dates and sources, and entries of a team's own before it."""

from __future__ import annotations

import logging
import re
from datetime import date
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lore.errors import ConfigurationError

__all__ = ["PriceList", "load_prices"]

LIST = Path(__file__).with_name("prices.yaml")
MILLION = 1_000_000
_log = logging.getLogger(__name__)

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
"""What a dated snapshot has behind the model's name; it costs what the model costs."""


class _Price(BaseModel):
    """What one model costs, in US dollars: a million tokens, or one search."""

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
            raise ValueError("one of input and search is needed")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    same_as: dict[str, str] = Field(default_factory=dict)
    free: list[str] = Field(default_factory=list)
    models: dict[str, _Price] = Field(default_factory=dict)


class PriceList:
    """Costs by the name of a model, "provider:model". A model that is not on the list is said in the log, once."""

    def __init__(self, *files: _File) -> None:
        """Of several files the first that has a model counts."""
        self._files = files
        self._same_as = {name: other for file in reversed(files) for name, other in file.same_as.items()}
        self._unknown: set[str] = set()

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float | None:
        """US dollars for one call; `cached_tokens` are part of the input. None where the price is not known."""
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
        """US dollars for so many searches of a reranker; None where the price is not known or is by the token."""
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
                "%s has no price, so what it costs is not known. Add it to a file named in LORE_PRICES.", model
            )
        return None


def load_prices(own: Path | None = None) -> PriceList:
    """The list that comes with Lore, behind the entries of `own`. Raises ConfigurationError for a wrong file."""
    shipped = _read(LIST)
    return PriceList(_read(own), shipped) if own else PriceList(shipped)


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no YAML in UTF-8"
        raise ConfigurationError(f"The prices in {path} cannot be read: {reason}.", remedy="Set LORE_PRICES.") from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}" for item in error.errors()[:3])
        raise ConfigurationError(
            f"The prices in {path} do not fit: {wrong}.", remedy="Write them as in include/lore/models/prices.yaml."
        ) from None
