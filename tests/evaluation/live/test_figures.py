"""Means and their intervals."""

from __future__ import annotations

import pytest
from lore.evaluation.live.figures import METRICS, costs_of, figures_of, interval, timings_of
from lore.evaluation.live.results import QuestionResult


def result(**changes: object) -> QuestionResult:
    values: dict[str, object] = {
        "key": "k", "id": "q1", "question": "?", "pages": ("a",), "unanswerable": False, "reference": "", "found": True,
        "answer": "x", "cited": (), "seconds": 2.0, "first_token_seconds": 1.0, "search_seconds": 0.5,
    }  # fmt: skip
    return QuestionResult(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0] * 10, (0.722, 1.0)),  # Wilson for 10 of 10, and of 7 of 10, as R's binom package gives them
        ([1.0] * 7 + [0.0] * 3, (0.397, 0.892)),
        ([0.0] * 5, (0.0, 0.434)),
        ([0.5] * 10, (None, None)),
        ([1.0], (None, None)),
        ([], (None, None)),
    ],
)
def test_an_interval_is_known_where_values_tell_of_it(values: list[float], expected: tuple[object, object]) -> None:
    assert interval(values) == pytest.approx(expected, abs=5e-4)


def test_an_interval_of_other_values_holds_their_mean_and_stays_between_0_and_1() -> None:
    lower, upper = interval([0.2, 0.9, 1.0, 0.4, 0.7])
    assert lower is not None and upper is not None
    assert 0.0 <= lower < 0.64 < upper <= 1.0


def test_abstention_is_measured_over_what_was_not_answered_and_what_nothing_answers() -> None:
    results = [
        result(),
        result(found=False),
        result(unanswerable=True, found=False),
        result(unanswerable=True, found=False),
        result(unanswerable=True),
    ]
    found = {figure.name: (round(figure.mean, 3), figure.count) for figure in figures_of(results)}
    assert found == {"answered": (0.5, 2), "abstention_precision": (0.667, 3), "abstention_recall": (0.667, 3)}


def test_abstention_is_not_measured_without_an_unanswerable_question() -> None:
    assert [figure.name for figure in figures_of([result(found=False)])] == ["answered"]


def test_a_figure_is_over_the_questions_that_have_a_value() -> None:
    results = [result(support=0.5), result(support=1.0), result(), result(verdict="partly")]
    found = {figure.name: (figure.mean, figure.count) for figure in figures_of(results)}
    assert (found["support"], found["correctness"]) == ((0.75, 2), (0.5, 1))
    assert set(found) <= set(METRICS)


def test_times_are_percentiles_and_costs_are_sums() -> None:
    results = [result(seconds=float(number), cost=0.5, judge_cost=None, calls=2) for number in range(1, 101)]
    whole = next(timing for timing in timings_of(results) if timing.name == "whole answer")
    assert (whole.p50, whole.p95) == (50.0, 95.0)
    loading = result(seconds=1_000.0, cold=True)
    assert timings_of([loading, *results]) == timings_of(results)
    assert timings_of([loading])[1].p50 == 1_000.0
    costs = costs_of(results)
    assert (costs.calls, costs.cost, costs.judge_cost) == (200, 50.0, None)
