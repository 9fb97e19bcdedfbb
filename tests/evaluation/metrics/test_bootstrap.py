"""The bounds of a mean difference: against exact values where there are some, and by how often they are wrong."""

from __future__ import annotations

import math
import random
import tracemalloc
from itertools import product
from statistics import NormalDist, fmean

import pytest
from lore.evaluation.metrics.bootstrap import paired_bootstrap


def test_equal_differences_have_no_width() -> None:
    for value in (0.0, -0.1, 0.3):
        bounds = paired_bootstrap([value] * 7)
        assert (bounds.mean, bounds.lower, bounds.upper, bounds.deviation) == (value, value, value, 0.0)


def test_two_values_by_hand() -> None:
    # The draws' means are 0, .5, .5 and 1, a quarter each; 5 % moved out for two values is .000: both ends are there.
    bounds = paired_bootstrap([0.0, 1.0])
    assert (bounds.mean, bounds.lower, bounds.upper) == (0.5, 0.0, 1.0)
    assert bounds.deviation == pytest.approx(math.sqrt(0.5))


def test_five_values_against_all_their_draws() -> None:
    # Student's t of 4 degrees at 95 % is 2.1318; times √(5/4) it cuts off Φ(−2.3835) = .00857 at either end.
    values = [-0.63, -0.1, 0.02, 0.25, 0.5]
    means = sorted(fmean(draw) for draw in product(values, repeat=5))
    bounds = paired_bootstrap(values, resamples=100_000)
    assert bounds.lower == pytest.approx(means[round(0.00857 * len(means))], abs=0.006)
    assert bounds.upper == pytest.approx(means[-1 - round(0.00857 * len(means))], abs=0.006)


def test_many_values_agree_with_the_normal_bounds() -> None:
    dice = random.Random(3)
    values = [dice.gauss(-0.01, 0.2) for _ in range(400)]
    bounds = paired_bootstrap(values)
    half = NormalDist().inv_cdf(0.95) * bounds.deviation / math.sqrt(400)
    assert bounds.mean == pytest.approx(fmean(values))
    assert bounds.lower == pytest.approx(bounds.mean - half, abs=0.0015)
    assert bounds.upper == pytest.approx(bounds.mean + half, abs=0.0015)


def test_the_same_values_give_the_same_bounds_in_any_order() -> None:
    values = [0.3, -0.2, 0.0, 0.0, 0.5, -0.63, 0.1]
    assert paired_bootstrap(values) == paired_bootstrap(values[::-1])
    assert paired_bootstrap(values, seed=1) != paired_bootstrap(values, seed=2)


@pytest.mark.parametrize("count", [5, 20])
def test_with_few_values_about_one_bound_in_twenty_is_wrong(count: int) -> None:
    dice = random.Random(11)
    trials = 1_000
    wrong = {"lower": 0, "upper": 0}
    for _ in range(trials):
        bounds = paired_bootstrap([dice.gauss(0, 1) for _ in range(count)], resamples=1_000)
        wrong["lower"] += bounds.lower > 0
        wrong["upper"] += bounds.upper < 0
    for errors in wrong.values():  # plain percentiles of five values are wrong in 100 of 1,000
        assert 25 <= errors <= 75


def test_memory_is_bounded() -> None:
    dice = random.Random(1)
    values = [dice.random() for _ in range(3_000)]
    paired_bootstrap(values[:10], resamples=10)  # imports
    tracemalloc.start()
    paired_bootstrap(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_one_difference_is_none_to_go_by() -> None:
    with pytest.raises(ValueError, match="at least two"):
        paired_bootstrap([0.1])
