"""One line of an answer, made safe: the parser's tokens, written again in a form that all renderers read alike.

Text that could become a link, a code span or a tag is escaped: no other renderer and no next line can make it one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from lore.markdown import inline_tokens, write_code_span
from lore.query.verify.commands import REMOVED_COMMAND
from lore.query.verify.links import looks_like_link
from lore.query.verify.prose import CONTAINERS, REMOVED_LINK, LineRules, ProseCleaner, is_number

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["REMOVED_FROM_CODE", "clean_line"]

REMOVED_FROM_CODE = "<link removed>"
MAX_ROUNDS = 8

_HTML_NAME_LIST = """
a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption center cite code col
colgroup dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2
h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main map mark marquee math menu meta
nav noscript object ol option p param picture pre q s samp script section select small source span strike strong style
sub summary sup svg table tbody td template textarea tfoot th thead title tr track tt u ul var video
"""
_HTML_NAMES = frozenset(_HTML_NAME_LIST.split())
_HTML_NAME = re.compile(r"</?([a-z][a-z0-9]*)", re.IGNORECASE)
_ATTRIBUTE_LINK = re.compile(
    r"(?:href|src|action|srcset|data|poster|formaction)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE
)
_ENCODED = {ord(character): f"%{ord(character):02X}" for character in "()<> "}
_DEFINITION = re.compile(
    rf"(?P<containers>{CONTAINERS})\[(?P<label>[^\[\]]+)\]:\s*<?(?P<destination>[^\s<>]+)>?\s*(?:[\"'(].*)?$"
)


def clean_line(line: str, rules: LineRules, *, at_start: bool) -> str:
    """Return the line, or a piece of it, as it may leave.

    Cleaning repeats until nothing changes, because a removal may join its neighbours to something new.
    """
    for _ in range(MAX_ROUNDS):
        writer = _LineWriter(rules, at_start=at_start)
        cleaned = writer.write_line(line)
        if cleaned == line:
            rules.findings.cited |= writer.cited
            return cleaned
        line = cleaned
    return REMOVED_LINK


class _LineWriter:
    """Writes one line again. Prose collects until code or a link follows, which are final."""

    def __init__(self, rules: LineRules, *, at_start: bool) -> None:
        self._rules = rules
        self._at_start = at_start
        self.cited: set[int] = set()
        self._prose = ""
        self._written = ""

    def write_line(self, line: str) -> str:
        definition = _DEFINITION.match(line) if self._at_start else None
        if definition and looks_like_link(definition["destination"]) and not is_number(definition["label"]):
            if not self._may_link(definition["destination"]):
                return definition["containers"]
            line = f"{definition['containers']}{definition['label']}: {definition['destination']}"
        return self.write(inline_tokens(line))

    def write(self, tokens: Sequence[Token]) -> str:
        remaining = iter(tokens)
        for token in remaining:
            match token.type:
                case "text":
                    self._prose += token.content.replace("`", "\\`")
                case "text_special":
                    self._prose += _special(token)
                case "code_inline":
                    self._code(token)
                case "html_inline":
                    self._tag(token.content)
                case "link_open":
                    self._link(token, _label(remaining), str(token.attrs["href"]))
                case "image":
                    self._link(token, token.children or (), str(token.attrs["src"]))
                case _:
                    self._prose += token.markup
        self._finish_prose("")
        return self._written

    def _finish_prose(self, sealed: str) -> None:
        """Clean the prose so far, and write it with the code or link after it."""
        cleaner = ProseCleaner(self._rules, self._prose, sealed, at_start=self._at_start and not self._written)
        self._written += cleaner.clean() + sealed
        self.cited |= cleaner.cited
        self._prose = ""

    def _code(self, token: Token) -> None:
        allowed, findings = self._rules.allowed, self._rules.findings
        code = allowed.links.clean_code(token.content, REMOVED_FROM_CODE, findings.dropped_links)
        if allowed.code.allows_inline(code) is False:
            findings.dropped_commands.append(code.strip())
            self._prose += REMOVED_COMMAND
        else:
            self._finish_prose(write_code_span(code, token.markup))

    def _tag(self, tag: str) -> None:
        """Drop a tag of HTML; a placeholder such as `<name>` is text."""
        name = _HTML_NAME.match(tag)
        if not name or name[1].lower() not in _HTML_NAMES:
            self._prose += f"&lt;{tag[1:]}"
            return
        for link in _ATTRIBUTE_LINK.findall(tag):
            self._may_link(link)
        if name[1].lower() == "br":
            self._prose += " "

    def _link(self, token: Token, label: Sequence[Token], target: str) -> None:
        """Write a link or image as a link if an answer may have it, else as its label."""
        if token.markup == "autolink":
            self._prose += label[0].content if self._may_link(target) else REMOVED_LINK
            return
        inner = _LineWriter(self._rules, at_start=False)
        text = inner.write(label)
        self.cited |= inner.cited
        if is_number(text):
            self._may_link(target)
            self._prose += f"[{text}]"  # a citation, which is linked by whoever shows the answer
        elif re.search(r"\w$", self._prose) and not looks_like_link(target):
            self._prose += f"[{text}]\\({target})"  # code such as `list[T](x)`
        elif self._may_link(target) and text.strip() and not inner.cited:
            self._finish_prose(f"[{text}]({target.translate(_ENCODED)})")
        else:
            self._prose += text

    def _may_link(self, destination: str) -> bool:
        """Return True for an allowed link; record any other."""
        if self._rules.allowed.links.may_link(destination):
            return True
        if destination:
            self._rules.findings.dropped_links.append(destination)
        return False


def _label(remaining: Iterator[Token]) -> list[Token]:
    return list(takewhile(lambda token: token.type != "link_close", remaining))


def _special(token: Token) -> str:
    """Write an escape as it is, and a reference as its character if it may be part of a link or citation."""
    character = token.content
    is_spelled_out = token.info == "entity" and len(character) == 1 and (character.isalnum() or character in ":/.@[]")
    return character if is_spelled_out else token.markup
