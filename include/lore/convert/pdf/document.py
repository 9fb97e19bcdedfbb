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

from lore.convert.result import ANCHORS, Converted
from lore.errors import ConversionError

__all__ = ["convert_pdf"]

MAX_SECONDS = 120
"""A page takes some 50 milliseconds."""
MAX_MEMORY = 1_500_000_000
"""Bytes of address space of the reading process. A file of 10 MB takes some 300 million."""
MIN_LETTERS = 20
"""Letters of a file with text. A file with fewer holds pictures of pages."""
EDGE_LINES = 2
"""Lines at the top and at the bottom of a page that may be its header and footer."""
MIN_PAGES_WITH_EDGES = 4
NOT_TITLES = re.compile(r"untitled|microsoft word|powerpoint|[\\\\/]|\.\w{2,4}$|^\W*$", re.IGNORECASE)
"""Titles that programs write by themselves."""
MARKUP = re.compile(r"^(?=#{1,6}\s|>|```|~~~|={3,}$|-{3,}$)")
HYPHEN = re.compile(r"(?<=[^\W\d_]{2})[-\xad]\n(?=[a-zß-öø-ÿ])")


def convert_pdf(data: bytes) -> Converted:
    """Return a PDF file as Markdown. Raises ConversionError for an invalid, protected, textless or endless file."""
    found = _read(data)
    pages = _without_edges([_lines(text) for text in found["pages"]])
    headings: dict[int, list[tuple[int, str]]] = {}
    for page, level, name in found["headings"]:
        headings.setdefault(page, []).append((level, " ".join(name.split())))
    text = "\n\n".join(_markdown(lines, headings.get(number, [])) for number, lines in enumerate(pages))
    text = HYPHEN.sub("", re.sub(r"\n{3,}", "\n\n", text)).strip()
    if sum(character.isalnum() for character in text[:10_000]) < MIN_LETTERS:
        raise ConversionError(
            "The PDF file has no text; its pages may be pictures.",
            remedy="Provide it as text, or leave it out of the source.",
        )
    title = " ".join(found["title"].split())
    anchors = [[name, f"page={page + 1}"] for page in sorted(headings) for _, name in headings[page]]
    return Converted(
        f"{text}\n", title="" if NOT_TITLES.search(title) else title, metadata={ANCHORS: anchors} if anchors else {}
    )


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


def _without_edges(pages: Sequence[list[str]]) -> list[list[str]]:
    """Return the pages without headers and footers: edge lines that most pages repeat, apart from their numbers."""
    if len(pages) < MIN_PAGES_WITH_EDGES:
        return list(pages)
    counts = Counter(shape for lines in pages for shape in {_shape(lines[place]) for place in _edges(lines)})
    repeated = {"0"} | {shape for shape, count in counts.items() if count > 0.3 * len(pages)}
    kept = []
    for lines in pages:
        dropped = {place for place in _edges(lines) if _shape(lines[place]) in repeated}
        kept.append([line for place, line in enumerate(lines) if place not in dropped])
    return kept


def _edges(lines: Sequence[str]) -> Iterator[int]:
    filled = [place for place, line in enumerate(lines) if line.strip()]
    yield from dict.fromkeys((*filled[:EDGE_LINES], *filled[-EDGE_LINES:]))


def _shape(line: str) -> str:
    return re.sub(r"\d+|\b[ivxlc]+\b", "0", " ".join(line.split()).casefold())


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
