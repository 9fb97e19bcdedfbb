"""Spending limits on models, by day and by question, consulted before each call that costs money."""

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

__all__ = ["Budget", "QuestionBudget"]

BYTES_PER_TOKEN = 3
"""A low figure, so that the estimate of tokens is rather high: English has four or five."""
INPUT_BYTES = {"plan": 6_000, "answer": 16_000, "verify": 16_000}
"""Usual request sizes by stage; any other stage counts like the answer."""
OUTPUT_TOKENS = {"plan": 400, "answer": 1_200, "verify": 600}
"""Longer replies are rare."""
DOCUMENTS_PER_SEARCH = 100
FALLBACKS = {
    "plan": "The plan is the question itself",
    "rerank": "The passages were ordered without {model}",
    "answer": "The answer quotes the passages",
    "verify": "The answer was checked by words and meaning alone",
    "sql": "No statement was written",
    "sql_review": "The statement was not reviewed",
    "sql_summary": "The result has no summary by a model",
}
REFRESH_SECONDS = 30.0
GRACE_SECONDS = 10.0
"""The longest delay between an answer and its record."""

_log = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _AnsweredQuestion:
    """The cost of an answered question, and the time of the answer by the monotonic clock."""

    at: float
    cost: float


class Budget:
    """US dollars for a day (UTC) and for a question; 0 means no limit. Thread-safe.

    `spent_since` sums the recorded spending of all processes since a moment, and is read every 30 seconds. Spending of
    this process that can't be recorded yet is added; without `recorded` answers, all of it is. Without `spent_since`
    only this process counts, since its start. Earlier stages leave enough for `answer_model` ("": none).
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
        self._open: WeakSet[QuestionBudget] = WeakSet()
        self._closed: list[_AnsweredQuestion] = []
        self._unrecorded = 0.0
        """Today's spending that no record will have."""
        self._day = now().date()
        self._recorded = 0.0
        self._read_at: float | None = None

    def open_question(self) -> QuestionBudget:
        """Return the budget of one question, to be closed with its answer."""
        question = QuestionBudget(self)
        with self._lock:
            self._open.add(question)
        return question

    def spent_today(self) -> float:
        """Return today's US dollars, including the expected cost of calls under way."""
        self._refresh()
        with self._lock:
            return self._sum()

    def estimate(self, stage: str, model: str, size: int | None = None) -> float:
        """Return the expected cost of a stage's call in US dollars, 0 without a price.

        `size` is the request's bytes of text (None: the usual size), or the number of passages for "rerank".
        """
        size = INPUT_BYTES.get(stage, INPUT_BYTES["answer"]) if size is None else size
        if stage == "rerank":
            cost = self._prices.search_cost(model, -(-size // DOCUMENTS_PER_SEARCH))
        else:
            output = OUTPUT_TOKENS.get(stage, OUTPUT_TOKENS["answer"])
            cost = self._prices.cost(model, size // BYTES_PER_TOKEN, output)
        return cost or 0.0

    def _reserve(self, question: QuestionBudget, stage: str, model: str, size: int | None) -> str:
        """Reserve the expected cost and return ""; or return the reason for refusing it."""
        cost = self.estimate(stage, model, size)
        if not cost or not (self._per_day or self._per_question):
            return ""
        left_for_answer = 0.0
        if stage not in ("answer", "verify") and self._answer_model:
            left_for_answer = self.estimate("answer", self._answer_model)
        self._refresh()
        with self._lock:
            for limit, spent, name in (
                (self._per_question, question.spent, "the question's budget"),
                (self._per_day, self._sum(), "the day's budget"),
            ):
                if limit and spent + cost + left_for_answer > limit:
                    instead = FALLBACKS.get(stage, f"The stage {stage!r} was left out").format(model=model)
                    return f"{instead}, because {name} for models (${limit:g}) doesn't allow the call."
            question.reserved[stage] = cost
        return ""

    def _sum(self) -> float:
        """Return today's known dollars. The caller holds the lock."""
        under_way = sum(each.spent + sum(each.reserved.values()) for each in self._open)
        return self._recorded + self._unrecorded + sum(each.cost for each in self._closed) + under_way

    def _add(self, question: QuestionBudget, usage: Usage) -> None:
        with self._lock:
            reserved = question.reserved.pop(usage.stage, 0.0)
            cost = reserved if usage.cost is None else usage.cost
            question.spent += cost
            if question not in self._open:
                self._unrecorded += cost  # its answer, and so its record, came without this

    def _close(self, question: QuestionBudget) -> None:
        with self._lock:
            if question not in self._open:
                return
            self._open.remove(question)
            if self._records_own:
                self._closed.append(_AnsweredQuestion(self._clock(), question.spent))
            else:
                self._unrecorded += question.spent

    def _refresh(self) -> None:
        """Read the recorded spending when due, in one thread; the others go on with the last figure."""
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
            _log.warning("Couldn't read today's spending, so only this process counts: %s", error)
            return
        with self._lock:
            self._recorded = recorded
            self._closed = [each for each in self._closed if each.at > clock - GRACE_SECONDS]


class QuestionBudget:
    """The spending of one question. Its stages run one after another, and each makes one call."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.spent = 0.0
        self.reserved: dict[str, float] = {}
        """Expected costs of calls that have not reported their usage, by stage; they may have failed."""

    def refusal(self, stage: str, model: str, size: int | None = None) -> str:
        """Return the reason, as a note for the answer, why the stage may not call its model; "" if it may.

        `size` is the request's bytes of text (None: the usual size), or the number of passages for "rerank".
        """
        return self._budget._reserve(self, stage, model, size)

    def add(self, usage: Usage) -> None:
        """Add the cost of a call, also after the answer; without a known cost, add the reserved one."""
        self._budget._add(self, usage)

    def close(self) -> None:
        """Mark the question as answered and recorded."""
        self._budget._close(self)
