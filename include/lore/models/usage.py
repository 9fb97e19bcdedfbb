"""What a call of a chat model says that it took."""

from __future__ import annotations

from typing import Any

from lore.protocols import OnUsage, Prices
from lore.types import Usage

__all__ = ["Told"]


class Told:
    """What a call says that it took, and told once."""

    def __init__(self, name: str, prices: Prices | None, on_usage: OnUsage | None) -> None:
        self._name = name
        self._prices = prices
        self._on_usage = on_usage
        self._answered = False
        self._input: int | None = None
        self._output: int | None = None
        self._cached = 0

    def add(self, reply: Any) -> None:
        """Take what a reply or a piece of one says: figures are of the whole so far, and many pieces have none."""
        if reply is None:
            return
        self._answered = True
        if usage := getattr(reply, "usage", None):  # OpenAI's own object
            said = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
        else:
            said = getattr(reply, "usage_metadata", None) or {}
        self._input = _larger(self._input, said.get("input_tokens") or None)  # no prompt is empty: 0 is not known
        self._output = _larger(self._output, said.get("output_tokens"))
        self._cached = max(self._cached, (said.get("input_token_details") or {}).get("cache_read") or 0)

    def tell(self) -> None:
        """Pass it on, once, if the model answered at all."""
        if self._answered and self._on_usage:
            self._answered = False
            cost = None
            if self._prices and self._input is not None and self._output is not None:
                cost = self._prices.cost(self._name, self._input, self._output, cached_tokens=self._cached)
            self._on_usage(Usage(self._name, "", self._input, self._output, cost))


def _larger(known: int | None, said: int | None) -> int | None:
    return known if said is None else max(known or 0, said)
