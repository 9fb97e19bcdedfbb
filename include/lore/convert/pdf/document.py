"""Conversion of PDF files: the text of their pages, with headings where bookmarks name them.

pypdf reads them: it is maintained, pure Python, light and free (BSD). Layout is lost: tables become lines, and code
loses its indentation.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lore.convert.omissions import Omissions
from lore.convert.result import ANCHORS, PAGES, Converted
from lore.errors import ConversionError

__all__ = ["convert_pdf"]

MAX_SECONDS = 120
"""A page takes some 50 milliseconds."""
MAX_MEMORY = 1_500_000_000
"""Bytes of address space of the reading process. A file of 10 MB takes some 300 million."""
MAX_PAGE_START = 120
"""Characters of a page's beginning, by which the page is found again in the text."""
MIN_LETTERS = 20
"""Letters of a file with text. A file with fewer holds pictures of pages."""
EDGE_LINES = 2
"""Lines at the top and at the bottom of a page that may be its header and footer."""
MIN_PAGES_WITH_EDGES = 4
NOT_TITLES = re.compile(r"^$|untitled|microsoft word|powerpoint|[\\\\/]|\.\w{2,4}$|^\W*$", re.IGNORECASE)
"""Titles that programs write by themselves."""
PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|seite|página|pagina|strana|стр\.?|pg?\.?|第)\s*)?(?:(?P<arabic>\d{1,5})|(?P<roman>[ivxlc]{1,8}))"
    r"(?:\s*(?:of|/|von|de|sur|di|из|\|)\s*\d{1,5})?\s*[页頁]?[\W_]*",
    re.IGNORECASE,
)
ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
MARKUP = re.compile(r"^(?=#{1,6}\s|>|```|~~~|={3,}$|-{3,}$)")
HYPHEN = re.compile(r"(?<=[^\W\d_]{2})[-\xad]\n(?=[a-zß-öø-ÿ])")


def convert_pdf(data: bytes) -> Converted:
    """Return a PDF file as Markdown. Raises ConversionError for an invalid, protected, textless or endless file."""
    found = _read(data)
    omissions = Omissions()
    pages = _without_edges([_lines(text) for text in found["pages"]], omissions)
    headings: dict[int, list[tuple[int, str]]] = {}
    for page, level, name in found["headings"]:
        headings.setdefault(page, []).append((level, " ".join(name.split())))
    written = [_markdown(lines, headings.get(number, [])) for number, lines in enumerate(pages)]
    written = [HYPHEN.sub("", re.sub(r"\n{3,}", "\n\n", page)).strip() for page in written]
    text = re.sub(r"\n{3,}", "\n\n", "\n\n".join(written)).strip()
    if sum(character.isalnum() for character in text[:10_000]) < MIN_LETTERS:
        raise ConversionError(
            "The PDF file has no text; its pages may be pictures.",
            remedy="Provide it as text, or leave it out of the source.",
        )
    titles = (" ".join(found[name].split()) for name in ("title", "largest"))
    title = next((title for title in titles if not NOT_TITLES.search(title)), "")
    metadata: dict[str, Any] = {PAGES: [page[:MAX_PAGE_START] for page in written]}
    if headings:
        metadata[ANCHORS] = [[name, f"page={page + 1}"] for page in sorted(headings) for _, name in headings[page]]
    return Converted(f"{text}\n", title=title, metadata=metadata, omitted=omissions.counts())


def _read(data: bytes) -> dict[str, Any]:
    """Return the JSON object of the reading process; see `worker`."""
    worker = Path(__file__).with_name("worker.py")
    # -P keeps the worker's neighbours from shadowing Python's own modules
    command = [sys.executable, "-P", str(worker), str(MAX_SECONDS), str(MAX_MEMORY)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=MAX_SECONDS, check=False)  # noqa: S603
        found = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        found = {"error": f"reading it takes more than {MAX_SECONDS} seconds, or too much memory"}
    if "error" in found:
        raise ConversionError(
            f"Couldn't read the PDF file: {found['error']}.", remedy="Repair it, or leave it out of the source."
        )
    return dict(found)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


def _without_edges(pages: Sequence[list[str]], omissions: Omissions) -> list[list[str]]:
    """Return the pages without headers and footers: edge lines that many pages repeat, and page numbers."""
    if len(pages) < MIN_PAGES_WITH_EDGES:
        return list(pages)
    edges = [[(line, (_line(lines[line]), is_top)) for line, is_top in _edges(lines)] for lines in pages]
    enough = max(2, 0.3 * len(pages))
    texts = Counter(key for edge in edges for key in {key for _, key in edge})
    repeated = {key for key, count in texts.items() if count > enough}
    shifts = Counter(
        shift for page, edge in enumerate(edges) for shift in {_shift(text, page) for _, (text, _) in edge}
    )
    shifts.pop(None, None)
    numbering = {shift for shift, count in shifts.items() if count > enough}
    kept = []
    for page, (lines, edge) in enumerate(zip(pages, edges, strict=True)):
        dropped = {line for line, key in edge if key in repeated or _shift(key[0], page) in numbering}
        omissions.add("headers and footers", " ".join(lines[line] for line in sorted(dropped)))
        kept.append([text for line, text in enumerate(lines) if line not in dropped])
    return kept


def _edges(lines: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Yield the numbers of a page's first and last lines, and True for the first."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    for number in dict.fromkeys((*filled[:EDGE_LINES], *filled[-EDGE_LINES:])):
        yield number, number in filled[:EDGE_LINES]


def _line(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shift(line: str, page: int) -> int | None:
    """Return the difference between a page's number as printed and its place in the file; None for other lines.

    Other lines whose numbers differ are text: codes, rows of a table, steps.
    """
    match = PAGE_NUMBER.fullmatch(line)
    if match is None:
        return None
    number = int(match["arabic"]) if match["arabic"] else _roman(match["roman"])
    return number - page


def _roman(numeral: str) -> int:
    values = [ROMAN[letter] for letter in numeral]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def _markdown(lines: Sequence[str], headings: Sequence[tuple[int, str]]) -> str:
    """Return a page's lines, with headings where a bookmark names them. Accidental markup is escaped."""
    levels = {_name(name): level for level, name in headings}
    written = []
    for line in lines:
        level = levels.pop(_name(line), None) if line.strip() else None
        if level is not None:
            written.append(f"\n{'#' * min(6, level + 1)} {' '.join(line.split())}\n")
        else:
            written.append(MARKUP.sub(r"\\", line.strip()))
    return "\n".join(written).strip()


def _name(line: str) -> str:
    """Return a heading's words without its number."""
    return re.sub(r"^(?:\d+|[A-Z])(?:\.\d+)*\.?\s+", "", " ".join(line.split())).casefold()
