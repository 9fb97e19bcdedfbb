"""Absolute addresses for the relative links in a repository's Markdown and RST, as passages are read elsewhere.

A link is rewritten only if its target exists; others may be meant for a site generator. It names its document's commit,
which differs between files, so each call gets the commit.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from lore.convert.markdown.fences import iter_lines
from lore.convert.rst.includes import outside_literal

__all__ = ["RepositoryLinks", "encode_path"]

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".bmp", ".ico", ".mp4", ".webm")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)")
INLINE = re.compile(r"(?<=\]\()(?P<space>[ \t]*)(?:<(?P<angled>[^<>\n]{1,2000})>|(?P<bare>[^\s()<>]{1,2000}))(?=[\s)])")
REFERENCE = re.compile(r"^(?P<space> {0,3}\[[^\]\n]{1,500}\]:[ \t]*)(?:<(?P<angled>[^<>\n]+)>|(?P<bare>\S+))")
ATTRIBUTE = re.compile(
    r"(?P<space>\b(?:href|src)=)(?P<quote>[\"'])(?P<bare>[^\"'<>\s]{1,2000})(?P=quote)", re.IGNORECASE
)
RST_INLINE = re.compile(r"(?P<space>`[^`<>\n]{0,500}<)(?P<bare>[^`<>\s]{1,2000})(?=>`__?)")
RST_TARGET = re.compile(r"^(?P<space>\s*\.\. _[^:\n`]{1,500}:[ \t]+)(?P<bare>\S+)$")
RST_IMAGE = re.compile(r"^(?P<space>\s*\.\. (?:\|[^|\n]+\| )?(?:image|figure)::[ \t]+)(?P<bare>\S+)$")


def encode_path(path: str) -> str:
    """Return a path as URLs have it; bytes that are not UTF-8 are kept."""
    return quote(os.fsencode(path))


@dataclass(frozen=True)
class RepositoryLinks:
    """Addresses of a repository's files at a commit, branch or tag; `web_url` is the repository's page."""

    web_url: str
    files: Iterable[str]
    _files: frozenset[str] = field(init=False)
    _folders: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        files = frozenset(self.files)
        folders = {""}
        for path in files:
            while (path := posixpath.dirname(path)) and path not in folders:
                folders.add(path)
        object.__setattr__(self, "_files", files)
        object.__setattr__(self, "_folders", frozenset(folders))

    def page(self, path: str, commit: str, lines: tuple[int, int] | None = None) -> str:
        """Return the page that shows a file, at its lines (first, last; from 1) if given."""
        page = self._address("blob", path, commit)
        if not lines:
            return page
        first, last = lines
        return f"{page}#L{first}" + (f"-L{last}" if last > first else "")

    def markdown(self, text: str, path: str, commit: str) -> str:
        """Return the Markdown of the file at `path` with absolute links; code stays unchanged."""
        replace = self._replacer(path, commit)
        return "\n".join(
            line.text if line.code or not _may_link(line.text) else _outside_code(line.text, replace)
            for line in iter_lines(text)
        )

    def rst(self, text: str, path: str, commit: str) -> str:
        """Return the RST of the file at `path` with absolute links and images; literal blocks stay unchanged."""
        replace = self._replacer(path, commit)
        return "\n".join(
            line if literal else _rst_line(line, replace) for line, literal in outside_literal(text.split("\n"))
        )

    def _replacer(self, path: str, commit: str) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            groups = match.groupdict()
            target = groups.get("angled") or groups["bare"]
            absolute = self._resolve(target, path, commit)
            mark = groups.get("quote") or ""
            return match[0] if absolute is None else f"{groups['space']}{mark}{absolute}{mark}"

        return replace

    def _resolve(self, target: str, path: str, commit: str) -> str | None:
        """Return the absolute address of a target; None if it is absolute already, or not in the repository."""
        if SCHEME.match(target) or "\\" in target:
            return None
        place, mark, anchor = target.partition("#")
        place, question, query = place.partition("?")
        if not place:
            return f"{self.page(path, commit)}#{anchor}" if anchor and not question else None
        decoded = unquote(place, errors="surrogateescape")
        base = "" if decoded.startswith("/") else posixpath.dirname(path)
        found = posixpath.normpath(posixpath.join(base, decoded.lstrip("/")))
        found = "" if found == "." else found
        rest = question + query + mark + anchor
        if found in self._files:
            return self._address("raw" if found.lower().endswith(IMAGES) else "blob", found, commit) + rest
        return self._address("tree", found, commit) + rest if found in self._folders else None

    def _address(self, view: str, path: str, commit: str) -> str:
        below = f"/{encode_path(path)}" if path else ""
        return f"{self.web_url}/{view}/{quote(commit)}{below}"


def _may_link(line: str) -> bool:
    return "](" in line or "]:" in line or "=" in line


def _outside_code(line: str, replace: Callable[[re.Match[str]], str]) -> str:
    return "".join(piece if code else _markdown_piece(piece, replace) for piece, code in _code_spans(line))


def _markdown_piece(piece: str, replace: Callable[[re.Match[str]], str]) -> str:
    for pattern in (INLINE, REFERENCE, ATTRIBUTE):
        piece = pattern.sub(replace, piece)
    return piece


def _rst_line(line: str, replace: Callable[[re.Match[str]], str]) -> str:
    for pattern in (RST_INLINE, RST_TARGET, RST_IMAGE):
        line = pattern.sub(replace, line)
    return line


def _code_spans(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the line in pieces, with True for code spans, which end at an equal run of backticks."""
    runs = list(CODE_SPAN.finditer(line))
    position, index = 0, 0
    while index < len(runs):
        closing = next((later for later in range(index + 1, len(runs)) if runs[later][1] == runs[index][1]), None)
        if closing is None:
            index += 1
            continue
        yield line[position : runs[index].start()], False
        yield line[runs[index].start() : runs[closing].end()], True
        position, index = runs[closing].end(), closing + 1
    yield line[position:], False
