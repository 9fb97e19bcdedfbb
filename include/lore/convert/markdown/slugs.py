"""Anchors that site generators derive from headings, for citations of Markdown, RST and notebooks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

__all__ = ["ANCHOR_STYLE", "AnchorStyle", "heading_slugs", "without_images"]

AnchorStyle: TypeAlias = Literal["none", "github", "mkdocs", "docusaurus", "sphinx", "jupyter"]
"""The program that shows the pages, which decides how their headings become anchors."""
ANCHOR_STYLE = "anchor_style"
"""Metadata key under which a source names the style of a document without anchors of its own."""
EXPLICIT = re.compile(r"\{:?[ \t]*#(?P<anchor>[\w.:-]+)[^{}]*\}[ \t]*#*[ \t]*$")
WORD_CATEGORIES = frozenset({"Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl", "Pc"})
"""Unicode's categories of letters, marks, digits and connectors."""
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
NUMBERED = re.compile(r"(?P<slug>.*)_(?P<number>[0-9]+)$")


def heading_slugs(headings: Iterable[tuple[str, str]], style: object) -> Iterator[str]:
    """Yield the anchor of each heading, given as its line of source and its plain text; "" for none.

    Sources: GitHub's TableOfContentsFilter, github-slugger (Docusaurus), Python-Markdown's toc extension (MkDocs),
    docutils' make_id (Sphinx), and Jupyter's notebook viewer.
    """
    slug, distinguish = STYLES.get(style, (_no_slug, _keep)) if isinstance(style, str) else (_no_slug, _keep)
    used: dict[str, int] = {}
    for line, words in headings:
        explicit = EXPLICIT.search(line)
        if explicit and style == "github":  # which shows it as text
            words = f"{words} {explicit['anchor']}"
        if explicit and style in ("mkdocs", "docusaurus"):
            used.setdefault(explicit["anchor"], 0)
            yield explicit["anchor"]
        else:
            yield distinguish(slug(words), used)


def without_images(line: str) -> str:
    """Return a heading's source without images, which have no part in its anchor."""
    return IMAGE.sub("", line)


def _no_slug(_: str) -> str:
    return ""


def _github(words: str) -> str:
    kept = (letter for letter in words.lower() if letter in "- " or unicodedata.category(letter) in WORD_CATEGORIES)
    return "".join(kept).replace(" ", "-")


def _mkdocs(words: str) -> str:
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _sphinx(words: str) -> str:
    from docutils.nodes import make_id

    return make_id(words)


def _jupyter(words: str) -> str:
    return words.replace(" ", "-")


def _keep(slug: str, _: dict[str, int]) -> str:
    return slug


def _with_dash(slug: str, used: dict[str, int]) -> str:
    """Number repeated slugs as GitHub does: `setup`, `setup-1`, `setup-2`."""
    first = slug
    while slug in used:
        used[first] += 1
        slug = f"{first}-{used[first]}"
    used[slug] = 0
    return slug


def _with_underscore(slug: str, used: dict[str, int]) -> str:
    """Number repeated slugs as Python-Markdown does: `setup`, `setup_1`, `setup_2`, and `_1` for an empty one."""
    while slug in used or not slug:
        match = NUMBERED.match(slug)
        slug = f"{match['slug']}_{int(match['number']) + 1}" if match else f"{slug}_1"
    used[slug] = 0
    return slug


def _with_id(slug: str, used: dict[str, int]) -> str:
    """Number repeated slugs as Sphinx does: `setup`, `id1`, `id2`."""
    number = used.get("", 0)
    while not slug or slug in used:
        number += 1
        slug = f"id{number}"
    used[""] = number
    used[slug] = 0
    return slug


STYLES: dict[str, tuple[Callable[[str], str], Callable[[str, dict[str, int]], str]]] = {
    "github": (_github, _with_dash),
    "mkdocs": (_mkdocs, _with_underscore),
    "docusaurus": (_github, _with_dash),
    "sphinx": (_sphinx, _with_id),
    "jupyter": (_jupyter, _keep),
}
