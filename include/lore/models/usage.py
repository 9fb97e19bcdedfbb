"""The tokens and the cost of one call to a chat model."""

from __future__ import annotations

from typing import Any

from lore.protocols import OnUsage, Prices
from lore.types import Usage

__all__ = ["UsageCollector"]


class UsageCollector:
    """Collects the usage that the replies of one call report, and passes it on once."""

    def __init__(self, name: str, prices: Prices | None, on_usage: OnUsage | None) -> None:
        self._name = name
        self._prices = prices
        self._on_usage = on_usage
        self._answered = False
        self._input: int | None = None
        self._output: int | None = None
        self._cached = 0

    def add(self, reply: Any) -> None:
        """Read the usage of a reply or a piece of one. Figures are totals so far, and many pieces have none."""
        if reply is None:
            return
        self._answered = True
        if usage := getattr(reply, "usage", None):  # OpenAI's own object
            figures = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
        else:
            figures = getattr(reply, "usage_metadata", None) or {}
        self._input = _larger(self._input, figures.get("input_tokens") or None)  # 0 means unknown: no prompt is empty
        self._output = _larger(self._output, figures.get("output_tokens"))
        self._cached = max(self._cached, (figures.get("input_token_details") or {}).get("cache_read") or 0)

    def report(self) -> None:
        """Call `on_usage` once, if the model replied at all."""
        if self._answered and self._on_usage:
            self._answered = False
            cost = None
            if self._prices and self._input is not None and self._output is not None:
                cost = self._prices.cost(self._name, self._input, self._output, cached_tokens=self._cached)
            self._on_usage(Usage(self._name, "", self._input, self._output, cost))


def _larger(known: int | None, new: int | None) -> int | None:
    return known if new is None else max(known or 0, new)
