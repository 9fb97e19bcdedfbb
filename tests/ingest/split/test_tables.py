"""Rows of a cut table keep their header, and passages of a paginated document lead to their page."""

from __future__ import annotations

import pytest
from lore.convert import PAGES, convert
from lore.ingest.split.splitter import MarkdownSplitter
from lore.types import Chunk, Document

from tests.convert.pdf.test_pdf import make_pdf
from tests.fakes import make_document

HEADER = "| Plan | Jobs per day |\n| --- | --- |"
ROWS = [f"| plan {n} | {n * 100} |" for n in range(40)]


def split(text: str, size: int = 200, **changes: object) -> list[Chunk]:
    return MarkdownSplitter(size).split(make_document(text=text, **changes))


@pytest.mark.parametrize("before", ["", "# Limits\n\n", "# Limits\n\nThe limits of all plans:\n"])
def test_each_piece_of_a_table_is_searched_with_its_header(before: str) -> None:
    text = before + "\n".join((HEADER, *ROWS)) + "\n\nAfter the table.\n"
    chunks = split(text)
    assert len(chunks) > 4
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert len(chunk.headed_text) <= 200
        if "| plan" in chunk.text:
            assert chunk.headed_text.count(HEADER) == 1
            assert HEADER in chunk.passage and HEADER in chunk.embedded_text and HEADER in chunk.given_text
    assert [row for chunk in chunks for row in chunk.text.split("\n") if row in ROWS] == ROWS
    assert not chunks[-1].table_header or "| plan" in chunks[-1].text


def test_tables_that_are_not_cut_and_other_blocks_have_no_header_of_their_own() -> None:
    code = "```\n" + "\n".join(f"| a{n} | b |" for n in range(40)) + "\n```"
    text = f"{HEADER}\n| Free | 100 |\n\n{'A sentence of prose. ' * 40}\n\n{code}\n"
    assert {chunk.table_header for chunk in split(text)} == {""}


def test_a_header_that_would_fill_the_passage_is_not_repeated() -> None:
    header = f"| {' | '.join(f'column {n}' for n in range(60))} |\n|{' --- |' * 60}"
    rows = "\n".join(f"| {n} |" for n in range(200))
    assert {chunk.table_header for chunk in split(f"{header}\n{rows}\n")} == {""}


def test_equal_rows_below_different_headers_are_embedded_apart() -> None:
    rows = "\n".join(ROWS)
    other = HEADER.replace("Jobs per day", "Euros a month")
    chunks = split(f"{HEADER}\n{rows}\n\n{other}\n{rows}\n")
    assert len({chunk.content_hash for chunk in chunks}) == len(chunks)


WORDS = "The scheduler reads every file in the folder and starts what is due, once a minute."


def pdf(pages: list[list[str]]) -> Document:
    document = make_document(
        text="", title="", url="https://docs.example.com/a.pdf", format="pdf", data=make_pdf(pages)
    )
    return convert(document)


def test_passages_of_a_pdf_lead_to_their_page() -> None:
    pages = [[f"Part {n // 2} of the manual.", *(f"{n}-{line}: {WORDS}" for line in range(8))] for n in range(1, 8)]
    document = pdf(pages)
    chunks = MarkdownSplitter(1500).split(document)
    for number, lines in enumerate(pages, start=1):
        for line in lines[1:]:
            holding = [chunk for chunk in chunks if line in chunk.text]
            assert {chunk.url for chunk in holding} == {f"https://docs.example.com/a.pdf#page={number}"}, line


def test_a_page_that_was_redacted_takes_the_address_of_the_page_before() -> None:
    document = pdf([[f"secret-{n} is here.", WORDS] for n in range(1, 4)])
    changed = make_document(
        text=document.text.replace("secret-2", "[removed]"),
        url=document.url,
        metadata={PAGES: document.metadata[PAGES]},
    )
    urls = {chunk.text.split()[0]: chunk.url.partition("#")[2] for chunk in MarkdownSplitter(1500).split(changed)}
    assert urls["secret-1"] == "page=1" and urls["secret-3"] == "page=3"
