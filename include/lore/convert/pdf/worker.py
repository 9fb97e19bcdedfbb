"""Script that reads a PDF file from standard input and writes its pages as JSON to standard output.

It imports nothing of Lore. A hostile file can make the reader loop forever or fill the memory; the system then ends
this process and nothing else.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from typing import Any

MAX_PAGES = 3000
MAX_HEADINGS = 5000
MAX_DEPTH = 5
MAX_TITLE = 200


def main(seconds: int, memory: int) -> None:
    """Write one JSON object: `pages` (a text each), `title`, `largest`, `headings` (page, level, title), or `error`."""
    _limit(seconds, memory)
    data = sys.stdin.buffer.read()
    try:
        result = _read(data)
    except MemoryError:
        result = {"error": "reading it takes too much memory"}
    except Exception as error:  # pypdf raises anything for a broken file
        result = {"error": f"{type(error).__name__}: {error}"[:200]}
    sys.stdout.buffer.write(json.dumps(result).encode("ascii"))


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits; the parent limits the time
        return
    for kind, amount in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        try:
            resource.setrlimit(kind, (amount, amount))
        except (ValueError, OSError):  # a lower limit is set, or the system lacks this one
            continue


def _read(data: bytes) -> dict[str, Any]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "it is protected by a password"}
    count = len(reader.pages)
    if count > MAX_PAGES:
        return {"error": f"it has {count:,} pages, more than {MAX_PAGES:,}"}
    pages = [page.extract_text() for page in reader.pages]
    title = reader.metadata.title if reader.metadata else None
    largest = _largest_text(reader.pages[0]) if count else ""
    return {"pages": pages, "title": str(title or ""), "largest": largest, "headings": _headings(reader)}


def _largest_text(page: Any) -> str:
    """Return the text in the largest letters of a page, "" where all are of like size: it is the title."""
    pieces: list[tuple[float, str]] = []

    def visit(text: str, _: Any, matrix: list[float], __: Any, size: float) -> None:
        if text.strip():
            pieces.append((round(abs(size * matrix[3]), 1), text))

    page.extract_text(visitor_text=visit)
    lengths: Counter[float] = Counter()
    for size, text in pieces:
        lengths[size] += len(text)
    if not lengths or max(lengths) < 1.2 * lengths.most_common(1)[0][0]:
        return ""
    title = " ".join(" ".join(text for size, text in pieces if size == max(lengths)).split())
    return title if len(title) <= MAX_TITLE and any(character.isalpha() for character in title) else ""


def _headings(reader: Any) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    try:
        _walk(reader, reader.outline, 1, found)
    except Exception:  # bookmarks are optional
        return []
    return found


def _walk(reader: Any, items: list[Any], level: int, found: list[tuple[int, int, str]]) -> None:
    for item in items:
        if len(found) >= MAX_HEADINGS:
            return
        if isinstance(item, list):
            if level < MAX_DEPTH:
                _walk(reader, item, level + 1, found)
            continue
        page = reader.get_destination_page_number(item)
        if page is not None and item.title:
            found.append((page, level, str(item.title)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
