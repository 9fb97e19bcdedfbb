"""Splitting: verbatim, complete, within the budget, along headings, never inside code or tables without need."""

from __future__ import annotations

import random
import time

import pytest
from lore.ingest.split.splitter import MarkdownSplitter
from lore.types import Chunk, Document

from tests.fakes import FakeEmbedder, make_document


def split(text: str, budget: int = 300, title: str = "Page") -> list[Chunk]:
    document = make_document(text=text, title=title)
    chunks = MarkdownSplitter(budget).split(document)
    assert_sound(document, chunks, budget)
    return chunks


def assert_sound(document: Document, chunks: list[Chunk], budget: int) -> None:
    """What must hold for every document whatever is in it."""
    end = 0
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert len(chunk.text) <= budget
        assert not document.text[end : chunk.start].strip(), "text between two chunks is lost"
        end = chunk.end
    assert not document.text[end:].strip(), "text after the last chunk is lost"
    assert len({chunk.id for chunk in chunks}) == len(chunks)


PARAGRAPH = "The quick brown fox jumps over the lazy dog and then goes home to its den. "


def test_a_short_document_is_one_chunk() -> None:
    (chunk,) = split("# Page\n\nJust this.\n")
    assert chunk.text == "# Page\n\nJust this."
    assert chunk.headings == ()


@pytest.mark.parametrize("text", ["", "\n\n  \n", "\t"])
def test_an_empty_document_has_no_chunks(text: str) -> None:
    assert split(text) == []


def test_chunks_start_at_headings_and_know_their_path() -> None:
    text = "".join(
        f"{'#' * level} {name}\n\n{PARAGRAPH * 3}\n\n"
        for level, name in ((1, "Page"), (2, "Install"), (3, "Linux"), (3, "macOS"), (2, "Use"))
    )
    chunks = split(text)
    assert [chunk.headings for chunk in chunks] == [
        (),
        ("Install",),
        ("Install", "Linux"),
        ("Install", "macOS"),
        ("Use",),
    ]
    assert all(chunk.text.startswith("#") for chunk in chunks)


def test_small_sections_share_a_chunk_under_what_they_have_in_common() -> None:
    text = "# Page\n\n" + PARAGRAPH * 4 + "\n\n## Guide\n\nShort.\n\n### One\n\nTiny.\n\n### Two\n\nTiny too.\n"
    chunks = split(text, budget=350)
    assert [chunk.headings for chunk in chunks] == [(), ("Guide",)]
    assert "### Two" in chunks[1].text


def test_a_heading_is_never_left_alone() -> None:
    text = "# Page\n\n## Part\n\n### Deep\n\n" + PARAGRAPH * 6
    first = split(text)[0]
    assert first.text.startswith("# Page") and PARAGRAPH.strip() in first.text


def test_setext_headings_and_markup_in_headings() -> None:
    headings = ("Page\n====", "The `run` **command**\n---", "## [Link](x.md) {#anchor}", "## github_issues and `max_*`")
    text = "".join(f"{heading}\n\n{PARAGRAPH * 3}\n\n" for heading in headings)
    assert [chunk.headings for chunk in split(text)] == [
        (),
        ("The run command",),
        ("Link",),
        ("github_issues and max_*",),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
def test_code_is_not_cut_and_its_comments_are_no_headings(fence: str) -> None:
    code = f"{fence}python\n# not a heading\n\n" + "x = 1\n" * 20 + f"\n## nor this\n{fence}\n"
    chunks = split(f"# Page\n\n{PARAGRAPH * 3}\n\n{code}\n\n{PARAGRAPH * 3}\n")
    assert sum("not a heading" in chunk.text and "nor this" in chunk.text for chunk in chunks) == 1
    assert all(chunk.headings == () for chunk in chunks)


def test_a_shorter_fence_inside_does_not_close() -> None:
    code = "````\n```\n# inner\n```\n````\n"
    chunks = split(f"{PARAGRAPH * 3}\n\n{code}\n{PARAGRAPH * 3}")
    assert sum(code.strip() in chunk.text for chunk in chunks) == 1


def test_code_over_the_budget_is_cut_between_lines() -> None:
    lines = [f"    value_{number} = compute({number})" for number in range(60)]
    chunks = split("```python\n" + "\n".join(lines) + "\n```\n")
    assert len(chunks) > 1
    assert all(line in lines or line.startswith("```") for chunk in chunks for line in chunk.text.split("\n"))


def test_an_indented_fence_that_never_closes_does_not_swallow_the_page() -> None:
    text = f"- step\n\n      ```\n\n{PARAGRAPH * 3}\n\n## Later\n\n{PARAGRAPH * 3}"
    assert split(text)[-1].headings == ("Later",)


def test_a_table_is_not_cut_unless_it_is_over_the_budget_and_then_between_rows() -> None:
    rows = "| name | value |\n| --- | --- |\n" + "".join(f"| row {number} | {number} |\n" for number in range(10))
    assert sum(rows.strip() in chunk.text for chunk in split(f"{PARAGRAPH * 3}\n\n{rows}\n{PARAGRAPH * 3}")) == 1
    pieces = split(rows * 1 + "".join(f"| row {number} | {number} |\n" for number in range(10, 60)))
    assert len(pieces) > 1
    assert all(line.startswith("|") and line.endswith("|") for piece in pieces for line in piece.text.split("\n"))


def test_the_first_line_keeps_its_indentation() -> None:
    text = PARAGRAPH * 4 + "\n\n    indented code\n    more\n\n" + PARAGRAPH * 4
    assert any(chunk.text.startswith("    indented code") for chunk in split(text, budget=320))


def test_ids_follow_the_content_and_not_the_place() -> None:
    before = split(f"# Page\n\n## A\n\n{PARAGRAPH * 3}\n\n## B\n\n{PARAGRAPH * 3}b")
    after = split(f"# Page\n\n## New\n\n{PARAGRAPH * 3}\n\n## A\n\n{PARAGRAPH * 3}\n\n## B\n\n{PARAGRAPH * 3}b")
    assert {chunk.id for chunk in before[1:]} < {chunk.id for chunk in after}


def test_repeated_passages_have_ids_of_their_own() -> None:
    chunks = split(f"## Same\n\n{PARAGRAPH * 3}\n\n" * 3)
    assert len(chunks) == 3


def test_scripts_without_spaces_get_a_budget_in_their_own_measure() -> None:
    chunks = split("系统管理员可以在设置页面中更改密钥。" * 100, budget=1000)
    assert max(len(chunk.text) for chunk in chunks) <= 250


def test_the_budget_follows_the_embedder() -> None:
    embedder = FakeEmbedder()
    assert MarkdownSplitter.budget_for(embedder) == 1024
    embedder.max_tokens = 8191
    assert MarkdownSplitter.budget_for(embedder) == 1500


ALPHABET = [
    "# h",
    "## h2",
    "text " * 9,
    "",
    "",
    "```",
    "~~~",
    "    code",
    "| a | b |",
    "| - | - |",
    "---",
    "===",
    "> q",
]


@pytest.mark.parametrize("seed", range(60))
def test_any_mixture_of_lines_is_split_soundly(seed: int) -> None:
    chance = random.Random(seed)
    text = "\n".join(
        chance.choice([*ALPHABET, "- item " * chance.randint(1, 20)]) for _ in range(chance.randint(1, 120))
    )
    split(text, budget=chance.choice([40, 120, 300]))


HOSTILE = {
    "one endless word": "x" * 300_000,
    "fences that never close": " ```a\n" * 30_000,
    "fences of many lengths": "".join("~" * (3 + n % 300) + "x\n" for n in range(20_000)),
    "headings only": "# h\n" * 50_000,
    "quotes": "> " * 100_000,
    "no break in a list": "- item\n" * 50_000,
    "NUL and lone surrogates": "a\0b\ud800c " * 20_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_split_soundly_and_soon(text: str) -> None:
    started = time.monotonic()
    split(text, budget=1000)
    assert time.monotonic() - started < 20


def test_a_title_or_heading_of_a_megabyte_is_not_in_every_passage() -> None:
    text = "# " + "t" * 1_000_000 + "\n\n## " + "h" * 1_000_000 + "\n\n" + "Some words here.\n\n" * 2000
    chunks = MarkdownSplitter(1500).split(make_document("long", text, title="T" * 1_000_000))
    assert "".join(chunk.text for chunk in chunks).count("Some words") == 2000
    assert all(len(chunk.passage) < 4000 for chunk in chunks)
