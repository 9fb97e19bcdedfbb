"""One list of candidates out of several."""

from __future__ import annotations

from include.lore.query.dedup import dedup
from tests.query.fakes import make_hit


def test_a_passage_counts_once_with_its_best_score_and_the_best_is_first() -> None:
    first, second = make_hit("a", "One text.", 0.2), make_hit("b", "Another text.", 0.5)
    again = make_hit("a", "One text.", 0.9)
    assert [(hit.chunk.id, hit.score) for hit in dedup([[second, first], [again]])] == [
        ("chunk-a", 0.9),
        ("chunk-b", 0.5),
    ]


def test_the_same_text_in_two_documents_counts_once_white_space_aside() -> None:
    copies = [make_hit("a", "One  text.\n\nMore.", 0.2), make_hit("b", "One text. More.\n", 0.5)]
    assert [hit.chunk.id for hit in dedup([copies])] == ["chunk-b"]
    assert len(dedup([[*copies, make_hit("c", "One text. Less.", 0.1)]])) == 2


def test_equal_scores_have_an_order_of_their_own() -> None:
    hits = [make_hit(name, f"Text {name}.", 0.5) for name in "cab"]
    assert [hit.chunk.id for hit in dedup([hits])] == ["chunk-a", "chunk-b", "chunk-c"]
    assert dedup([]) == []
