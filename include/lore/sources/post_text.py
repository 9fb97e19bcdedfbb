"""What forums have in common: posts of HTML under headings, one page for each question or topic."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from lore.convert.html.parsing import parse_html
from lore.convert.html.writer import tree_to_markdown
from lore.convert.markdown.fences import iter_lines

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["day", "facts", "from_epoch", "from_iso", "one_line", "section", "to_markdown", "unescape", "web_address"]

EPOCH_YEAR = 1970
NO_TEXT = ("script", "style", "noscript", "template", "iframe", "object", "embed", "svg")
HEADING = re.compile(r"^(#{1,6})(?= )")
SURROGATES = re.compile("[\ud800-\udfff]")


def to_markdown(body: str, url: str = "", tidy: Callable[[HtmlElement], None] = lambda _: None) -> str:
    """A post's HTML as Markdown, all of it; links are made absolute by `url`, and `tidy` may change its tree before.

    Raises ConversionError when it nests thousands of elements.
    """
    root = parse_html(f"<div>{SURROGATES.sub('�', body)}</div>")
    for element in list(root.iter(*NO_TEXT)):
        element.drop_tree()
    tidy(root)
    return tree_to_markdown(root, url).strip()


def section(heading: str, text: str) -> str:
    """A post under a heading of the first level, its own headings below that; "" without a text."""
    lowered = (
        line.text if line.code else HEADING.sub(lambda mark: f"{mark[1]}#"[:6], line.text) for line in iter_lines(text)
    )
    return "\n".join((f"# {heading}", "", *lowered)) if text.strip() else ""


def facts(parts: Iterable[str]) -> str:
    """A line of what is known of a page, without what is empty."""
    return " · ".join(part for part in parts if part)


def one_line(value: object) -> str:
    """A text in one line; "" for anything that is no text."""
    return SURROGATES.sub("�", " ".join(value.split())) if isinstance(value, str) else ""


def unescape(value: object) -> str:
    """A text that an API escapes as HTML, plain and in one line; "" for anything that is no text."""
    return one_line(html.unescape(value)) if isinstance(value, str) else ""


def web_address(value: object) -> str:
    """The value when it is a web address, with what is not ASCII percent-encoded; else ""."""
    if not isinstance(value, str) or not re.match(r"https?://[^\s/<>\"]+(?:[/?#]|$)", value):
        return ""
    return quote(value.strip(), safe="%/:=&?~#+!$,;'@()*[]", errors="replace")


def from_epoch(value: object) -> datetime | None:
    """A time in seconds since 1970, UTC; None for what is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def from_iso(value: object) -> datetime | None:
    """A time as ISO 8601 writes it, UTC where it names no zone; None for what is none, such as a year that no computer
    wrote.
    """
    try:
        time = datetime.fromisoformat(value if isinstance(value, str) else "")
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year >= EPOCH_YEAR else None


def day(time: datetime | None) -> str:
    """The day of a time, as people read it; "" where there is none."""
    return f"{time:%Y-%m-%d}" if time else ""
