"""Recognition of pages without content: no text, a login form, or a soft 404."""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["PageKind", "kind_of", "text_digest"]

NO_TEXT = frozenset({"script", "style", "noscript", "template", "iframe", "object", "embed", "svg", "select", "nav"})
CHROME = frozenset({"header", "footer", "aside"})
"""Elements around the content, unless they are inside it."""
CONTENT = frozenset({"main", "article", "section"})
ROLES = frozenset({"navigation", "banner", "contentinfo", "search"})
SCRIPT_NOTICE = re.compile(
    r"(?=.*\bjavascript\b)(?=.*\b(?:enabled?|turn on|needs?|requires?|required)\b).*|(?:loading|please wait)\W*",
    re.IGNORECASE | re.DOTALL,
)
MAX_NOTICE_WORDS = 40
_MISSING_WORDS = (
    "404 a address any anymore are at available be can cannot content could couldn deleted did didn die does doesn"
    " document error exist exists file find for found gefunden has have here http is isn it konnte link located longer"
    " looking me more moved nicht no not of oh oops page removed requested resource seite sorry t that the there this"
    " uh url was we were werden whoops wurde you your"
)
MISSING_WORDS = frozenset(_MISSING_WORDS.split())
"""Words of which the title of a soft 404 consists."""
MISSING = re.compile(r"404|\b(?:not|n|nicht|no longer|cannot)\b.*\b(?:found|find|exists?|available|gefunden)\b")
SUBJECT = re.compile(r"404|\b(?:page|url|document|content|resource|file|link|address|seite)\b|^not found$")
ABOUT_MISSING = re.compile(r"/.+/[^/]*(?:404|not-?_?found)[^/]*/?$", re.IGNORECASE)
"""Path of a page about the status 404, below the site's root."""
VARYING = re.compile(r"\b\d{1,2}:\d\d(?::\d\d)?\b|\b\d{4}-\d\d-\d\d\b|\b(?=\w*\d)[\w-]{8,}\b")
"""Times, dates and ids, which differ in each response of a server that is down."""
SEPARATOR = re.compile(r"\s+[|–—·•»:-]\s+")
"""Separates a page's title from the site's name."""
MAX_MISSING_WORDS = 80
MAX_LOGIN_WORDS = 60


class PageKind(StrEnum):
    """A page with content, or the reason why it has none; the values complete the sentence "It …"."""

    CONTENT = ""
    EMPTY = "has no text"
    LOGIN = "is a login form"
    MISSING = "says that the page doesn't exist"


def kind_of(root: HtmlElement, path: str = "/") -> PageKind:
    """Return the kind of the HTML page at a path."""
    text = _text(root)
    count = len(_words(text))
    if count <= MAX_MISSING_WORDS and not ABOUT_MISSING.search(path) and any(map(_says_missing, _titles(root))):
        return PageKind.MISSING
    asks_password = any((field.get("type") or "").lower() == "password" for field in root.iter("input"))
    if asks_password and len(_words(_text(root, skipped=frozenset({"form"})))) <= MAX_LOGIN_WORDS:
        return PageKind.LOGIN
    if not count or (count <= MAX_NOTICE_WORDS and SCRIPT_NOTICE.fullmatch(text.strip())):
        return PageKind.EMPTY
    return PageKind.CONTENT


def _says_missing(title: str) -> bool:
    words = _words(title.casefold().replace("n't", "n not").replace("n’t", "n not"))
    said = " ".join(words)
    return MISSING_WORDS.issuperset(words) and bool(MISSING.search(said) and SUBJECT.search(said))


def text_digest(root: HtmlElement) -> str:
    """Return a hash of the page's title and text, without times and request ids."""
    text = VARYING.sub(" ", f"{_titles(root)[0]} {_text(root)}".casefold())
    return sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _titles(root: HtmlElement) -> list[str]:
    """Return the page's title without the site's name, and its headings of level 1."""
    title = " ".join(str(root.xpath("string(//head/title)")).split())
    headings = [" ".join(heading.text_content().split()) for heading in root.iter("h1")]
    return [part for text in (title, *headings) for part in (text, *SEPARATOR.split(text))]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _text(root: HtmlElement, skipped: frozenset[str] = frozenset()) -> str:
    """Return the visible text of the body without navigation, header and footer."""
    body = root.find("body")
    return " ".join(_pieces(root if body is None else body, skipped)) if body is not None else ""


def _pieces(body: HtmlElement, skipped: frozenset[str]) -> list[str]:
    from lxml import etree

    pieces: list[str] = []
    depth = 0  # of elements with content
    walk = etree.iterwalk(body, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        if event == "end":
            depth -= tag in CONTENT
            if element is not body and element.tail:
                pieces.append(element.tail)
            continue
        depth += tag in CONTENT
        chrome = tag in NO_TEXT or tag in skipped or element.get("role") in ROLES or (tag in CHROME and not depth)
        if chrome:
            walk.skip_subtree()
        elif element.text:
            pieces.append(element.text)
    return pieces
