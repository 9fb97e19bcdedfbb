"""Links in answers: their patterns, and the links that the sources have."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from lore.types import Hit

__all__ = ["CODE_LINK", "LINK", "SCHEME_ALONE", "AllowedLinks", "looks_like_link", "trim"]

_REST = r"[^\s<>`\[\]]"
_DOMAIN = r"(?<![\w@.\-/])(?:[\w-]+\.)+"
_TLD = (
    "com|org|net|edu|gov|io|dev|ai|co|app|xyz|ru|cn|me|info|biz|site|online|cloud|ly|gg|link|click|top|tk|su|pw|"
    "uk|de|eu|us|fr|nl|ch|at|jp|kr|in|br|it|es|pl|se|no|ca|au|example|test"
)
_SHARED = rf"""
    [a-z][a-z0-9+.\-]{{0,40}}:[\\/]{{2,}}(?:\[[0-9a-f:.]+\])?{_REST}*   # any scheme://, also with backslashes
  | (?:javascript|vbscript|mailto):{_REST}+
  | data:[a-z]+/{_REST}+
  | tel:\+?\d{_REST}*
  | (?<![\w.@\-])www\d{{0,3}}\.{_REST}+
  | {_DOMAIN}(?:{_TLD})(?::\d+)?/{_REST}+                        # a host with a path, as chats link it
"""
CODE_LINK = re.compile(_SHARED, re.IGNORECASE | re.VERBOSE)
"""A link in code, where `self.net` and `user@host` are no links."""
LINK = re.compile(
    rf"""{_SHARED}
  | {_DOMAIN}(?:com|org)(?![\w-]|\.\w)(?:[:?#]{_REST}*)?
  | (?<![\w:;/\\])//(?:[\w-]+\.)+[a-z]{{2,}}(?![\w-])(?:[:/?\#]{_REST}*)?  # without a scheme
  | [\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+
""",
    re.IGNORECASE | re.VERBOSE,
)
"""A link in prose, also a bare host of the commonest kind or a mail address."""

SCHEME_ALONE = re.compile(r"[a-z][a-z0-9+.\-]*:[\\/]*", re.IGNORECASE)
"""A scheme without an address, as in prose about links: `http://`."""

_TRAILING = ".,;:!?*_~\"'|\\"
_CUT = re.compile("[\"'|\\\\)},;。，、；：！？）】」』》”’»]")
_ESCAPED = re.compile(r"\\([_*~\[\]()#.!&+-])")
_AUTHORITY = re.compile(r"^([a-z][a-z0-9+.\-]*://)?[^/?#]*", re.IGNORECASE)


class AllowedLinks:
    """The links in the texts, titles and addresses of a set of passages.

    Links are compared exactly, except for what doesn't change the target: case of scheme and host, a trailing slash,
    character references, and a missing fragment. Prefixes of an allowed link, other fragments, user names and
    look-alike letters make other links.
    """

    def __init__(self, passages: Iterable[Hit] = ()) -> None:
        self._links: set[str] = set()
        for hit in passages:
            chunk = hit.chunk
            self._add(chunk.url)
            for text in (chunk.title, *chunk.headings, chunk.text):
                for match in LINK.finditer(text):
                    for form in _forms(match[0]):
                        self._add(form)

    def __contains__(self, link: object) -> bool:
        return isinstance(link, str) and _canonical(link) in self._links

    def may_link(self, destination: str) -> bool:
        """Return True if an answer may link to this destination: allowed, absolute, and with a harmless scheme."""
        scheme = html.unescape(destination).strip().lower()
        return scheme.startswith(("http://", "https://", "mailto:")) and destination in self

    def keep(self, found: str) -> str:
        """Return the part of a bare link that is an allowed link, or ""."""
        return next((form for form in _forms(found) if form in self), "")

    def clean_code(self, code: str, placeholder: str, dropped: list[str]) -> str:
        """Return code with a placeholder for each link that isn't allowed; append these links to `dropped`."""

        def replace(match: re.Match[str]) -> str:
            if self.keep(match[0]):
                return match[0] if match[0] in self else self._keep_rest(match[0], placeholder, dropped)
            link = trim(match[0])
            if SCHEME_ALONE.fullmatch(link):
                return match[0]
            dropped.append(link)
            return placeholder + match[0][len(link) :]

        return CODE_LINK.sub(replace, code)

    def _keep_rest(self, found: str, placeholder: str, dropped: list[str]) -> str:
        kept = self.keep(found)
        return kept + self.clean_code(found[len(kept) :], placeholder, dropped)

    def _add(self, link: str) -> None:
        canonical = _canonical(link)
        if not canonical:
            return
        self._links.add(canonical)
        page = canonical.partition("#")[0].rstrip("/")
        self._links.add(page)
        scheme, separator, rest = page.partition("://")
        if separator and scheme in ("http", "https"):
            self._links.update((rest, canonical.partition("://")[2]))
        if canonical.startswith("mailto:"):
            self._links.add(canonical.removeprefix("mailto:"))
        elif "@" in canonical and not separator:
            self._links.add(f"mailto:{canonical}")


def trim(link: str) -> str:
    """Return a bare link without the punctuation of the sentence around it."""
    while link:
        if link[-1] in _TRAILING or (link[-1] == ")" and link.count(")") > link.count("(")) or link[-1] in "}":
            link = link[:-1]
        else:
            break
    return link


def _forms(found: str) -> Iterator[str]:
    """Yield the possible ends of a bare link: at the sentence's punctuation, or at the first unlikely character."""
    yield trim(found)
    if cut := _CUT.search(found):
        yield trim(found[: cut.start()])


def _canonical(link: str) -> str:
    link = _ESCAPED.sub(r"\1", html.unescape(link).strip()).replace("%28", "(").replace("%29", ")")
    link = _AUTHORITY.sub(lambda match: match[0].lower(), link, count=1)
    if link[:7].lower() == "mailto:":
        link = link.lower()
    return link.removesuffix("/")


def looks_like_link(destination: str) -> bool:
    """Return True for a destination with a scheme, path or fragment."""
    return bool(LINK.match(destination) or re.match(r"[a-z][a-z0-9+.\-]*:|[/.#]", destination, re.IGNORECASE))
