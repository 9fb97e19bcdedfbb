"""Budgets: refused calls and their notes, and the spending of a day."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from lore.errors import RecordsError
from lore.query.budget import GRACE_SECONDS, REFRESH_SECONDS, Budget
from lore.types import Usage

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Prices:
    """A dollar for a million tokens of input, ten for output, a cent for a search; "free:…" has no price."""

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float | None:
        return None if model.startswith("free") else (input_tokens + 10 * output_tokens) / 1e6

    def search_cost(self, model: str, searches: int) -> float | None:
        return None if model.startswith("free") else 0.01 * searches


class Clock:
    """Both clocks of a budget, which advance together."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)


def make(clock: Clock | None = None, **options: object) -> Budget:
    clock = clock or Clock()
    return Budget(Prices(), now=clock.now, clock=clock, **options)  # type: ignore[arg-type]


def answered(cost: float | None) -> Usage:
    return Usage("m", "answer", 1, 1, cost)


def test_without_limits_everything_may_be_asked() -> None:
    question = make().open_question()
    assert question.refusal("answer", "m", 10**9) == ""


def test_a_call_that_would_go_over_the_budget_of_a_question_is_refused() -> None:
    question = make(per_question=0.02).open_question()
    assert question.refusal("answer", "m", 12_000) == ""  # 0.004 and 0.012
    question.add(answered(0.016))
    refusal = question.refusal("answer", "m", 12_000)
    assert refusal.startswith("The answer quotes the passages, because the question's budget")
    assert "$0.02" in refusal


@pytest.mark.parametrize(
    ("stage", "size", "begins"),
    [
        ("plan", 3_000, "The plan is the question itself"),
        ("rerank", 101, "The passages were ordered without m"),
        ("answer", 60_000, "The answer quotes the passages"),
        ("judge", 60_000, "The stage 'judge' was left out"),
    ],
)
def test_the_refusal_says_what_is_done_instead(stage: str, size: int, begins: str) -> None:
    assert make(per_question=0.001).open_question().refusal(stage, "m", size).startswith(begins)


def test_what_comes_before_the_answer_leaves_enough_for_it() -> None:
    """An answer costs 0.0173 here, a plan 0.005."""
    enough, short = make(per_question=0.024, answer_model="m"), make(per_question=0.020, answer_model="m")
    assert enough.open_question().refusal("plan", "m", 3_000) == ""
    question = short.open_question()
    assert question.refusal("plan", "m", 3_000) != ""
    assert question.refusal("answer", "m", 12_000) == ""


def test_a_question_goes_over_by_the_error_of_one_call_at_most() -> None:
    limit = 0.05
    for real in (0.0, 0.004, 0.016, 0.03, 0.2):
        question, dearest = make(per_question=limit).open_question(), max(real, 0.016)
        for _ in range(50):
            if question.refusal("answer", "m", 12_000):
                break
            question.add(answered(real))
        assert question.spent <= limit + dearest - 0.016 + 1e-9


def test_a_model_without_a_price_is_not_counted() -> None:
    question = make(per_question=0.001).open_question()
    assert question.refusal("answer", "free:m", 10**9) == ""
    assert question.refusal("rerank", "free:m", 10**6) == ""


def test_a_call_that_does_not_say_what_it_cost_is_counted_as_expected() -> None:
    question = make(per_question=0.02).open_question()
    question.refusal("answer", "m", 12_000)
    question.add(answered(None))
    assert question.spent == pytest.approx(0.016)


def test_a_call_that_failed_leaves_its_money_to_the_next() -> None:
    question = make(per_question=0.02).open_question()
    assert question.refusal("plan", "m", 12_000) == ""
    assert question.refusal("answer", "m", 12_000) == ""


def test_a_call_that_tells_after_the_answer_counts_for_the_day() -> None:
    clock = Clock()
    budget = make(clock, per_day=10.0, spent_since=lambda since: 0.0)
    question = budget.open_question()
    question.refusal("plan", "m")
    question.close()
    question.add(Usage("m", "plan", 1, 1, 2.0))
    clock.seconds += 10 * REFRESH_SECONDS
    assert budget.spent_today() == 2.0


def test_a_day_counts_what_is_recorded_what_is_over_and_what_is_under_way() -> None:
    clock, recorded = Clock(), [1.0]
    budget = make(clock, per_day=10.0, spent_since=lambda since: recorded[0])
    over, under_way = budget.open_question(), budget.open_question()
    over.add(answered(2.0))
    over.close()
    under_way.add(answered(4.0))
    assert budget.spent_today() == 7.0
    clock.seconds += REFRESH_SECONDS + GRACE_SECONDS
    recorded[0] = 3.0  # by now the question that is over is recorded
    assert budget.spent_today() == 7.0
    under_way.close()
    under_way.close()
    assert budget.spent_today() == 7.0


def test_a_question_that_has_just_ended_is_not_forgotten_when_the_records_are_read() -> None:
    clock = Clock()
    budget = make(clock, per_day=10.0, spent_since=lambda since: 0.0)
    budget.spent_today()
    clock.seconds += REFRESH_SECONDS - 1
    question = budget.open_question()
    question.add(answered(2.0))
    question.close()
    clock.seconds += 1
    assert budget.spent_today() == 2.0


def test_answers_that_are_not_recorded_count_all_day() -> None:
    clock = Clock()
    budget = make(clock, per_day=10.0, spent_since=lambda since: 1.0, recorded=False)
    question = budget.open_question()
    question.add(answered(2.0))
    question.close()
    clock.seconds += 10 * REFRESH_SECONDS
    assert budget.spent_today() == 3.0


def test_the_records_are_read_from_midnight_and_not_for_each_call() -> None:
    clock, asked = Clock(), []
    budget = make(clock, per_day=10.0, spent_since=lambda since: asked.append(since) or 0.0)
    for _ in range(100):
        budget.open_question().refusal("answer", "m", 100)
    assert asked == [datetime(2026, 11, 30, tzinfo=UTC)]
    clock.seconds += 12 * 3600
    budget.spent_today()
    assert asked[1:] == [datetime(2026, 12, 1, tzinfo=UTC)]


def test_a_new_day_starts_at_nothing() -> None:
    clock = Clock()
    budget = make(clock, per_day=0.02)
    question = budget.open_question()
    question.add(answered(0.02))
    question.close()
    assert "the day's budget" in budget.open_question().refusal("answer", "m", 12_000)
    clock.seconds += 12 * 3600
    assert budget.open_question().refusal("answer", "m", 12_000) == ""


def test_records_that_cannot_be_read_do_not_stop_questions() -> None:
    def broken(_: datetime) -> float:
        raise RecordsError("locked")

    budget = make(per_day=1.0, spent_since=broken)
    question = budget.open_question()
    assert question.refusal("answer", "m", 12_000) == ""
    question.add(answered(0.5))
    assert budget.spent_today() == 0.5


def test_fifty_at_once_do_not_go_over_the_day_together() -> None:
    budget = make(per_day=0.1)

    def ask(_: int) -> float:
        question = budget.open_question()
        if not question.refusal("answer", "m", 12_000):
            question.add(answered(0.016))
        question.close()
        return question.spent

    with ThreadPoolExecutor(50) as pool:
        assert sum(pool.map(ask, range(50))) == pytest.approx(6 * 0.016)
