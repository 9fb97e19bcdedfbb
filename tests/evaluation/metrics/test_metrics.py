"""The metrics against figures computed by hand, and the laws they obey."""

from __future__ import annotations

import math
import random

import pytest
from lore.evaluation.metrics.ranking import ndcg_at, percentile, recall_at, reciprocal_rank_at

GRADED = {"a": 3, "c": 2, "d": 1, "z": 0}


@pytest.mark.parametrize(
    ("ranking", "k", "expected"),
    [
        # DCG 3 + 2/log2(4) = 4; ideal 3 + 2/log2(3) + 1/log2(4) = 4.761860
        (["a", "b", "c"], 10, 4.0 / 4.761859507),
        (["a", "c", "d"], 10, 1.0),
        # DCG 1 + 2/log2(3) + 3/log2(4) = 3.761860
        (["d", "c", "a"], 10, 3.761859507 / 4.761859507),
        (["a", "b", "c"], 2, 3.0 / 4.261859507),  # cut: ideal 3 + 2/log2(3)
        (["z", "b"], 10, 0.0),
        ([], 10, 0.0),
    ],
)
def test_ndcg_by_hand(ranking: list[str], k: int, expected: float) -> None:
    assert ndcg_at(k, ranking, GRADED) == pytest.approx(expected, abs=1e-9)


def test_one_relevant_page_gives_the_discount_of_its_rank() -> None:
    for rank in range(1, 11):
        ranking = [f"x{number}" for number in range(1, rank)] + ["page"]
        assert ndcg_at(10, ranking, {"page": 1}) == pytest.approx(1 / math.log2(rank + 1))
        assert reciprocal_rank_at(10, ranking, {"page": 1}) == pytest.approx(1 / rank)
    assert ndcg_at(10, [f"x{number}" for number in range(10)] + ["page"], {"page": 1}) == 0.0


def test_negative_and_zero_grades_are_not_relevant() -> None:
    relevance = {"spam": -2, "meh": 0, "good": 1}
    assert ndcg_at(10, ["spam", "good"], relevance) == pytest.approx(1 / math.log2(3))
    assert recall_at(10, ["spam", "meh"], relevance) == 0.0
    assert reciprocal_rank_at(10, ["spam", "meh", "good"], relevance) == pytest.approx(1 / 3)


def test_nothing_relevant_scores_zero() -> None:
    for metric in (ndcg_at, recall_at, reciprocal_rank_at):
        assert metric(10, ["a"], {}) == 0.0
        assert metric(10, ["a"], {"a": 0}) == 0.0


def test_recall_by_hand() -> None:
    assert recall_at(100, ["x", "a", "c"], GRADED) == pytest.approx(2 / 3)
    assert recall_at(2, ["x", "a", "c"], GRADED) == pytest.approx(1 / 3)
    assert recall_at(100, ["d", "c", "a"], GRADED) == 1.0


def test_reciprocal_rank_is_cut() -> None:
    assert reciprocal_rank_at(1, ["x", "a"], GRADED) == 0.0
    assert reciprocal_rank_at(2, ["x", "a"], GRADED) == 0.5


def test_laws_on_random_rankings() -> None:
    dice = random.Random(7)
    pages = [f"p{number}" for number in range(30)]
    for _ in range(300):
        relevance = {page: dice.choice([0, 1, 2, 3]) for page in dice.sample(pages, 8)}
        ranking = dice.sample(pages, 20)
        best = sorted(relevance, key=relevance.__getitem__, reverse=True)
        for metric in (ndcg_at, recall_at, reciprocal_rank_at):
            value = metric(10, ranking, relevance)
            assert 0.0 <= value <= 1.0
            assert value <= metric(10, best, relevance) + 1e-12
        # Moving a better page up never hurts.
        i, j = sorted(dice.sample(range(20), 2))
        if relevance.get(ranking[j], 0) > relevance.get(ranking[i], 0):
            swapped = list(ranking)
            swapped[i], swapped[j] = ranking[j], ranking[i]
            assert ndcg_at(10, swapped, relevance) >= ndcg_at(10, ranking, relevance)


def test_percentile_is_a_value_of_the_list() -> None:
    values = [float(number) for number in range(1, 101)]
    random.Random(1).shuffle(values)
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.95) == 95.0
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([], 0.5) == 0.0
