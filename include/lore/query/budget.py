"""What may be spent on models, in a day and on a question, asked before each call that costs something."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from weakref import WeakSet

from lore.errors import LoreError
from lore.protocols import Prices
from lore.types import Usage

__all__ = ["Budget", "Purse"]

BYTES_A_TOKEN = 3
"""English has four or five, other languages' texts fewer characters but more bytes: an estimate that is rather high."""
INPUT_BYTES = {"plan": 6_000, "answer": 16_000}
"""What the requests of these stages are in most cases; a stage that is not here is taken for one like the answer."""
OUTPUT_TOKENS = {"plan": 400, "answer": 1_200}
"""Longer replies are rare."""
DOCUMENTS_A_SEARCH = 100
INSTEAD = {
    "plan": "The plan is the question itself",
    "rerank": "The passages were ordered without {model}",
    "answer": "The answer quotes the passages",
}
REFRESH_SECONDS = 30.0
GRACE_SECONDS = 10.0
"""How long after an answer its record may be written."""

_log = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Closed:
    """What a question cost that is over, and when it ended by the clock."""

    at: float
    cost: float


class Budget:
    """US dollars for a day (UTC) and for a question; 0 is no limit. Safe to use from several threads.

    `spent_since` sums what all processes recorded since a moment; it is read every 30 seconds, and what this process
    has spent and cannot have recorded yet is added, or all that it has spent where its answers are not `recorded`.
    Without `spent_since` only this process counts, since it started.
    `answer_model` is the model that writes answers, for which the stages before it leave enough ("": none).
    """

    def __init__(
        self,
        prices: Prices,
        *,
        per_day: float = 0.0,
        per_question: float = 0.0,
        answer_model: str = "",
        spent_since: Callable[[datetime], float] | None = None,
        recorded: bool = True,
        now: Callable[[], datetime] = _utc_now,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._prices = prices
        self._per_day = per_day
        self._per_question = per_question
        self._answer_model = answer_model
        self._spent_since = spent_since
        self._records_own = recorded and spent_since is not None
        self._now = now
        self._clock = clock
        self._lock = threading.RLock()
        self._open: WeakSet[Purse] = WeakSet()
        self._closed: list[_Closed] = []
        self._unrecorded = 0.0
        """What today's records will never have."""
        self._day = now().date()
        self._recorded = 0.0
        self._read_at: float | None = None

    def open(self) -> Purse:
        """The purse of one question, to be closed when it is answered."""
        purse = Purse(self)
        with self._lock:
            self._open.add(purse)
        return purse

    def spent_today(self) -> float:
        """US dollars, those included that calls under way are expected to cost."""
        self._refresh()
        with self._lock:
            return self._sum()

    def estimate(self, stage: str, model: str, size: int | None = None) -> float:
        """What a call of the stage may cost: `size` is bytes of text (None: as usual) or, for the stage "rerank",
        passages. 0 without a price.
        """
        size = INPUT_BYTES.get(stage, INPUT_BYTES["answer"]) if size is None else size
        if stage == "rerank":
            cost = self._prices.search_cost(model, -(-size // DOCUMENTS_A_SEARCH))
        else:
            output = OUTPUT_TOKENS.get(stage, OUTPUT_TOKENS["answer"])
            cost = self._prices.cost(model, size // BYTES_A_TOKEN, output)
        return cost or 0.0

    def _reserve(self, purse: Purse, stage: str, model: str, size: int | None) -> str:
        """Put the expected cost aside and return ""; or say why not."""
        cost = self.estimate(stage, model, size)
        if not cost or not (self._per_day or self._per_question):
            return ""
        kept = 0.0
        if stage != "answer" and self._answer_model:
            kept = self.estimate("answer", self._answer_model)
        self._refresh()
        with self._lock:
            for limit, spent, name in (
                (self._per_question, purse.spent, "the budget of a question"),
                (self._per_day, self._sum(), "the day's budget"),
            ):
                if limit and spent + cost + kept > limit:
                    instead = INSTEAD.get(stage, f"The stage {stage!r} was left out").format(model=model)
                    return f"{instead}, because {name} for models (${limit:g}) does not allow the call."
            purse.reserved[stage] = cost
        return ""

    def _sum(self) -> float:
        """Today's dollars as far as they are known; with the lock held."""
        under_way = sum(each.spent + sum(each.reserved.values()) for each in self._open)
        return self._recorded + self._unrecorded + sum(each.cost for each in self._closed) + under_way

    def _book(self, purse: Purse, usage: Usage) -> None:
        with self._lock:
            reserved = purse.reserved.pop(usage.stage, 0.0)
            cost = reserved if usage.cost is None else usage.cost
            purse.spent += cost
            if purse not in self._open:
                self._unrecorded += cost  # its answer went without it, and so did the record

    def _close(self, purse: Purse) -> None:
        with self._lock:
            if purse not in self._open:
                return
            self._open.remove(purse)
            if self._records_own:
                self._closed.append(_Closed(self._clock(), purse.spent))
            else:
                self._unrecorded += purse.spent

    def _refresh(self) -> None:
        """Read what was recorded, when that is due; one thread does, and the others go on with what is known."""
        with self._lock:
            now, clock = self._now(), self._clock()
            if now.date() != self._day:
                self._day, self._recorded, self._unrecorded, self._read_at = now.date(), 0.0, 0.0, None
                self._closed.clear()
            due = self._read_at is None or clock - self._read_at >= REFRESH_SECONDS
            if self._spent_since is None or not self._per_day or not due:
                return
            self._read_at = clock
        try:
            recorded = self._spent_since(now.replace(hour=0, minute=0, second=0, microsecond=0))
        except LoreError as error:
            _log.warning("What was spent today cannot be read, so only this process counts: %s", error)
            return
        with self._lock:
            self._recorded = recorded
            self._closed = [each for each in self._closed if each.at > clock - GRACE_SECONDS]


class Purse:
    """What one question may spend, and has spent. Its stages come one after another, and each makes one call."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.spent = 0.0
        self.reserved: dict[str, float] = {}
        """What is put aside for the call of a stage that has not told what it took; it may have failed."""

    def refusal(self, stage: str, model: str, size: int | None = None) -> str:
        """Why the stage may not call its model, in a sentence for the answer's notes; "" where it may.

        `size` is the bytes of what is sent as text (None: as usual), or the number of passages for the stage "rerank".
        """
        return self._budget._reserve(self, stage, model, size)

    def book(self, usage: Usage) -> None:
        """Take down what a call cost, also after the question is answered; where it does not say, what was put aside
        for it.
        """
        self._budget._book(self, usage)

    def close(self) -> None:
        """The question is answered, and its record made."""
        self._budget._close(self)
