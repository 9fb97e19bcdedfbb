"""Neighbours of one page become one source of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from lore.errors import StoreError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.query.answer.quotes import citations_of
from lore.query.deadlines import TimeLimit
from lore.query.retrieve.passages import MAX_JOINED_CHARACTERS, join_neighbours, read_pages, rerank_depth
from lore.types import Document, Hit

from tests.fakes import FakeEmbedder, make_document
from tests.query.fakes import MemoryIndex, make_hit

TIME = TimeLimit(5, "LORE_SEARCH_SECONDS")
SECTIONS = "\n\n".join(
    f"## Part {part}\n\n"
    + "\n\n".join(f"In part {part}, step {step} sets the value {part}{step}." for step in range(6))
    for part in range(4)
)
PAGE = make_document("guide", f"{SECTIONS}\n", title="Guide")
CHUNKS = MarkdownSplitter(200).split(PAGE)


def hits(*positions: int) -> list[Hit]:
    """Return the page's passages at these positions, the first with the highest score."""
    return [Hit(CHUNKS[position], 1 / rank) for rank, position in enumerate(positions, start=1)]


def spans(ranked: Sequence[Hit], limit: int = 8, page: Document = PAGE) -> list[tuple[int, int]]:
    joined = join_neighbours(ranked, limit, {page.id: page})
    for passage in joined:
        chunk = passage.hit.chunk
        assert chunk.text == page.text[chunk.start : chunk.end]
    return [(passage.hit.chunk.start, passage.hit.chunk.end) for passage in joined]


def other(name: str) -> Hit:
    return make_hit(name, f"A passage of the page {name}.", 0.1)


def test_the_page_is_cut_as_the_tests_expect() -> None:
    assert len(CHUNKS) >= 8
    assert [chunk.headings for chunk in CHUNKS[:3]] == [("Part 0",), ("Part 0",), ("Part 1",)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_adjacent_passages_become_one(order: tuple[int, int]) -> None:
    assert spans(hits(*order)) == [(CHUNKS[0].start, CHUNKS[1].end)]


def test_a_gap_in_the_section_is_filled() -> None:
    page = replace(PAGE, text=f"# One\n\n{SECTIONS.replace('# ', '')}")
    chunks = MarkdownSplitter(200).split(page)
    assert {chunk.headings for chunk in chunks} == {("One",)}
    assert spans([Hit(chunks[0], 1.0), Hit(chunks[2], 0.5)], page=page) == [(chunks[0].start, chunks[2].end)]


def test_a_long_gap_is_not() -> None:
    page = replace(PAGE, text=f"# One\n\n{SECTIONS.replace('# ', '') * 3}")
    chunks = MarkdownSplitter(200).split(page)
    assert len(spans([Hit(chunks[0], 1.0), Hit(chunks[-1], 0.5)], page=page)) == 2


def test_sections_far_apart_stay_apart() -> None:
    text = (
        "# Guide\n\n## One\n\nFirst words here.\n\n## Two\n\n"
        + "Filler words. " * 60
        + "\n\n## Three\n\nLast words here.\n"
    )
    page = replace(PAGE, text=text)
    chunks = MarkdownSplitter(200).split(page)
    assert len(spans([Hit(chunks[0], 1.0), Hit(chunks[-1], 0.5)], page=page)) == 2


def test_two_groups_are_bridged_by_what_lies_between() -> None:
    assert spans(hits(0, 2, 1)) == [(CHUNKS[0].start, CHUNKS[2].end)]


def test_the_freed_place_goes_to_the_next_one_and_order_is_kept() -> None:
    ranked = [other("x"), *hits(1, 0), other("y"), other("z")]
    joined = join_neighbours(ranked, 3, {PAGE.id: PAGE})
    assert [passage.hit.chunk.document_id for passage in joined] == ["docs:x", "fake:guide", "docs:y"]
    assert rerank_depth(8) == 12


def test_a_joined_passage_has_the_best_ones_id_and_what_both_stand_under() -> None:
    (joined,) = join_neighbours(hits(2, 1), 8, {PAGE.id: PAGE})
    assert joined.hit.chunk.id == CHUNKS[2].id
    assert joined.hit.score == 1.0
    assert joined.hit.chunk.headings == ()  # the parts differ
    assert joined.hit.chunk.url == CHUNKS[1].url
    assert [part.chunk.id for part in joined.parts] == [CHUNKS[1].id, CHUNKS[2].id]
    (same,) = join_neighbours(hits(1, 0), 8, {PAGE.id: PAGE})
    assert same.hit.chunk.headings == ("Part 0",)


def test_its_citation_quotes_it_verbatim() -> None:
    (joined,) = join_neighbours(hits(0, 1), 8, {PAGE.id: PAGE})
    (citation,) = citations_of("Step 5 sets the value 05 [1].", [joined.hit], (1,), "Which value?")
    assert citation.quote == "In part 0, step 5 sets the value 05."
    assert citation.quote in PAGE.text


@pytest.mark.parametrize(
    "page",
    [replace(PAGE, text="Something else was written here since. " * 40), replace(PAGE, text="")],
    ids=["written anew", "emptied"],
)
def test_a_page_that_changed_is_not_joined(page: Document) -> None:
    joined = join_neighbours(hits(0, 1), 8, {PAGE.id: page})
    assert [passage.hit.chunk for passage in joined] == [CHUNKS[0], CHUNKS[1]]


def test_summaries_are_not_joined() -> None:
    summaries = [replace(hit, chunk=replace(hit.chunk, strategy="summary", summary="In short.")) for hit in hits(0, 1)]
    assert len(join_neighbours(summaries, 8, {PAGE.id: PAGE})) == 2


def test_a_joined_passage_stays_within_bounds() -> None:
    page = replace(PAGE, text="# Long\n\n" + "\n\n".join(f"Line {number} of many words." for number in range(400)))
    chunks = MarkdownSplitter(500).split(page)
    ranked = [Hit(chunk, 1 / (place + 1)) for place, chunk in enumerate(chunks)]
    found = spans(ranked, 4, page)
    assert len(found) == 4
    assert max(end - start for start, end in found) <= MAX_JOINED_CHARACTERS


def test_a_state_is_one_short_visible_line() -> None:
    page = replace(PAGE, metadata={"state": "closed\n(completed)\u202e" + "x" * 200})
    (passage,) = join_neighbours(hits(0), 8, {PAGE.id: page})
    assert passage.state.startswith("closed (completed)xxx")
    assert len(passage.state) <= 60


class TestReadPages:
    def test_each_is_read_once(self) -> None:
        index = MemoryIndex((), FakeEmbedder(), pages=[PAGE])
        assert read_pages(index, hits(0, 1, 5), ("public",), TIME) == {PAGE.id: PAGE}
        assert index.read == [PAGE.id]

    def test_one_that_the_asker_may_not_see_any_more_is_left_out(self) -> None:
        index = MemoryIndex((), FakeEmbedder(), pages=[replace(PAGE, audiences=("board",))])
        assert read_pages(index, hits(0), ("public",), TIME) == {}

    def test_one_that_is_gone_is_left_out(self) -> None:
        assert read_pages(MemoryIndex((), FakeEmbedder()), hits(0), ("public",), TIME) == {}

    def test_what_cannot_be_read_is_an_error(self) -> None:
        index = MemoryIndex((), FakeEmbedder())
        index.pages = {PAGE.id: StoreError("Not now.")}
        with pytest.raises(StoreError, match="Not now"):
            read_pages(index, hits(0), ("public",), TIME)
