"""PDF files: the text of their pages, without what every page repeats, and never without end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from lore.convert import convert, format_of
from lore.convert.omissions import OMITTED
from lore.errors import ConversionError

from tests.fakes import make_document

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
PROSE = "The scheduler reads every file in the folder and starts what is due."


def make_pdf(
    pages: Sequence[Sequence[str]], title: str = "", bookmarks: Sequence[tuple[str, int]] = (), extra: str = ""
) -> bytes:
    """A small PDF file with a line of text below the other; `bookmarks` are names with their pages, from 0."""
    objects: list[str] = []

    def add(content: str) -> int:
        objects.append(content)
        return len(objects)

    font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    tree = len(objects) + 2 * len(pages) + 1
    numbers = []
    for lines in pages:
        shown = "".join(f"({line}) Tj T*\n" for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 50 750 Td\n{shown}ET"
        content = add(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        resources = f"<< /Font << /F1 {font} 0 R >> >>"
        numbers.append(
            add(f"<< /Type /Page /Parent {tree} 0 R /Resources {resources} /Contents {content} 0 R {extra}>>")
        )
    add(f"<< /Type /Pages /Kids [{' '.join(f'{number} 0 R' for number in numbers)}] /Count {len(numbers)} >>")
    outline = len(objects) + 1
    first = outline + 1
    if bookmarks:
        last = outline + len(bookmarks)
        add(f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(bookmarks)} >>")
        for place, (name, page) in enumerate(bookmarks):
            following = f"/Next {first + place + 1} 0 R " if first + place < last else ""
            add(f"<< /Title ({name}) /Parent {outline} 0 R {following}/Dest [{numbers[page]} 0 R /Fit] >>")
    root = add(f"<< /Type /Catalog /Pages {tree} 0 R {f'/Outlines {outline} 0 R ' if bookmarks else ''}>>")
    info = add(f"<< /Title ({title}) >>")
    body, offsets = "%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"<< /Size {len(objects) + 1} /Root {root} 0 R /Info {info} 0 R >>"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return f"{body}{table}trailer\n{trailer}\nstartxref\n{len(body)}\n%%EOF\n".encode("latin-1")


def pdf(data: bytes):
    return convert(make_document(text="", title="", format="pdf", data=data))


def test_text_and_title() -> None:
    page = pdf(make_pdf([[PROSE, "Second line."], [PROSE]], title="The Manual"))
    assert page.title == "The Manual"
    assert page.text == f"{PROSE}\nSecond line.\n\n{PROSE}\n"
    assert format_of("a/Manual.PDF") == "pdf"


@pytest.mark.parametrize("title", ["", "Microsoft Word - manual.docx", "C:/temp/manual", "Untitled-1", "manual.tex"])
def test_titles_that_programs_write_are_none(title: str) -> None:
    document = make_document(
        id="docs:guide/manual.pdf", text="", title="", format="pdf", data=make_pdf([[PROSE]], title)
    )
    assert convert(document).title == "manual"


def test_bookmarks_make_headings() -> None:
    bookmarks = [("Introduction", 0), ("Installing it", 1), ("Not in the text", 1)]
    page = pdf(make_pdf([["Introduction", PROSE], ["2.1 Installing it", PROSE]], bookmarks=bookmarks))
    assert page.text == f"## Introduction\n\n{PROSE}\n\n## 2.1 Installing it\n\n{PROSE}\n"


def test_headers_footers_and_page_numbers_go() -> None:
    pages = [["The Manual", f"{word}: {PROSE}", f"Page {n} of 6", f"{n}"] for n, word in enumerate(WORDS, start=1)]
    text = pdf(make_pdf(pages)).text
    assert text.count(PROSE) == 6
    assert "Manual" not in text
    assert "Page" not in text
    assert not any(line.isdigit() for line in text.splitlines())


@pytest.mark.parametrize(
    "lines",
    [
        lambda n: [f"E10{n}"],
        lambda n: [f"Step {n}", f"Error {400 + n}"],
        lambda n: [f"{n}00 {n}", f"{n}01 {n + 7}"],
        lambda n: [f"{n * n}", f"{30 - 7 * n}"],
        lambda n: [f"Table {n}: limits of {n}000 jobs"],
    ],
)
def test_lines_that_differ_in_their_numbers_stay(lines: Callable[[int], list[str]]) -> None:
    pages = [[*lines(n), f"{word}: {PROSE}", *lines(n + 3)] for n, word in enumerate(WORDS, start=1)]
    text = pdf(make_pdf(pages)).text
    for page in pages:
        for line in page:
            assert line in text, line


@pytest.mark.parametrize("number", ["{}", "- {} -", "Page {}", "{} / 18", "Seite {} von 18", "{roman}"])
def test_page_numbers_go_wherever_they_begin(number: str) -> None:
    romans = ["vii", "viii", "ix", "x", "xi", "xii"]
    pages = [
        [f"{word}: {PROSE}", f"The {word} waits.", number.format(n, roman=roman)]
        for n, word, roman in zip(range(12, 18), WORDS, romans, strict=True)
    ]
    converted = pdf(make_pdf(pages))
    lines = [line for line in converted.text.splitlines() if line]
    assert lines == [line for page in pages for line in page[:2]]
    assert converted.metadata[OMITTED]["headers and footers"] > 0


def test_the_largest_letters_are_the_title_where_the_file_has_none() -> None:
    data = make_pdf([["Rate limits", PROSE, PROSE], [PROSE]])
    large = data.replace(b"(Rate limits) Tj", b"/F1 24 Tf (Rate limits) Tj /F1 12 Tf")
    assert pdf(large).title == "Rate limits"
    assert convert(make_document(id="docs:a/limits.pdf", text="", title="", format="pdf", data=data)).title == "limits"


def test_words_that_are_cut_are_joined_and_no_text_becomes_markup() -> None:
    text = pdf(
        make_pdf([[PROSE, "# not a heading", "a con-", "nection and a", "Re-", "Run", "> said", "---", "- item"]])
    ).text
    assert "a connection and a\nRe-\nRun\n" in text
    assert "\\# not a heading\n" in text
    assert "\\> said\n\\---\n- item" in text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Couldn't read"),
        (b"%PDF-1.7\n" + b"\0" * 1000, "Couldn't read"),
        (make_pdf([[PROSE]])[:300], "Couldn't read"),
        (make_pdf([[]]), "no text"),
        (make_pdf([["7"]]), "no text"),
        (make_pdf([[PROSE]] * 3001), "3,001 pages"),
    ],
)
def test_what_cannot_be_read_fails_alone(data: bytes, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason):
        pdf(data)


def test_pages_in_a_circle_end() -> None:
    circle = make_pdf([[PROSE]]).replace(b"/Kids [3 0 R]", b"/Kids [4 0 R]")
    with pytest.raises(ConversionError):
        pdf(circle)
