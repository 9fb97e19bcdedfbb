"""Relative score fusion, by figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from lore.stores.fusion import fuse, relative

NONE = np.nan


def test_scores_are_stretched_between_the_worst_and_the_best_found() -> None:
    assert relative(np.array([4.0, 1.0, NONE, 2.0])) == pytest.approx([1.0, 0.0, 0.0, 1 / 3])


def test_equal_scores_are_all_best_and_nothing_found_is_all_worst() -> None:
    assert relative(np.array([2.0, NONE, 2.0])) == pytest.approx([1.0, 0.0, 1.0])
    assert relative(np.array([NONE, NONE])) == pytest.approx([0.0, 0.0])
    assert relative(np.array([])).shape == (0,)


@pytest.mark.parametrize(("alpha", "expected"), [(0.5, [0.5, 0.75, 0.5]), (0.25, [0.25, 0.625, 0.75])])
def test_alpha_weighs_vector_against_keyword(alpha: float, expected: list[float]) -> None:
    vector, keyword = np.array([0.9, 0.9, 0.3]), np.array([3.0, 5.0, 7.0])
    assert fuse(vector, keyword, alpha) == pytest.approx(expected)


def test_at_the_ends_the_scores_are_those_of_the_one_ranking() -> None:
    vector, keyword = np.array([0.2, 0.9, NONE]), np.array([NONE, 3.0, 7.0])
    assert fuse(vector, keyword, 1.0)[:2] == pytest.approx([0.2, 0.9])
    assert fuse(vector, keyword, 0.0)[1:] == pytest.approx([3.0, 7.0])
