"""Prose as words of safe Markdown, written from markdown-it-py's inline tokens.

Every construct leaves in the one form that all readers of Markdown agree on; everything else leaves escaped, so it
can't become a link, code or a mention in Slack.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lore.slackbot.render.characters import CODE_TICK, JOINER, guard_code, guard_names, pieces
from lore.slackbot.render.fragments import BreakRank, Fragment
from lore.slackbot.render.links import LONGEST_LINK, bare_address, link, safe_address
from lore.visible_text import UNSEEN

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["STOPS", "safe_line", "words"]

STOPS = "。！？，、；："
"""Punctuation of scripts without spaces: a word ends behind it."""
LONGEST_LABEL = 600
LONGEST_WORD = 300
LONGEST_PIECE = 200

_PIECE = re.compile(
    rf"(?P<space>\s+)|(?P<address>https?://[^\s<>\"`|\\^{{}}\[\]{STOPS}]+)|(?P<stop>[{STOPS}])"
    rf"|(?P<text>(?:(?!https?://)[^\s{STOPS}])+|.)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(rf"[.!?;{STOPS[:3]}](?:[\"'”’)*_~`]|\s?\[\d+\])*$")
_LIKE_A_MARK = re.compile(r"(?:[-+*=#|~]+|\d{1,9}[.)])$|[>|]")
_OPENER = re.compile(r"(?:\*+|~~+|(?<![^\W_])_+)(?![\s*~_])|`|\]\(")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_TICKS = re.compile(r"`{2,}")


@cache
def _parser() -> MarkdownIt:
    """Return the parser of one paragraph: links and code as CommonMark has them, and no HTML."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("strikethrough").disable(["html_inline", "text_join"])
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    markdown.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return markdown


def words(text: str, *, whole: bool = True) -> list[Fragment]:
    """Return the words of a paragraph; the first of each line has a line feed in its `space`.

    Where the text isn't `whole`, return only those that nothing following can change.
    """
    (paragraph,) = _parser().parseInline(text)
    writer = _InlineWriter()
    writer.write(paragraph.children or [])
    if whole:
        writer.flush()
    return writer.words if whole else writer.words[: writer.certain]


def safe_line(text: str) -> str:
    """Return prose as one line of safe Markdown."""
    return "".join(word.space.replace("\n", " ") + word.text for word in words(text.replace("\n", " ")))


@dataclass(slots=True)
class _Atom:
    """A part of a word: `marks` is the emphasis open before it. Only `prose` may be cut and searched for names."""

    text: str
    marks: tuple[str, ...]
    prose: bool = False
    ticks: str = ""
    """The sign around a long code span, which may be cut into code spans."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a word, never cut: `marks` are open before it, and `opened` and `open` the code span it continues."""

    text: str
    marks: tuple[str, ...]
    opened: str = ""
    open: str = ""


class _InlineWriter:
    """Writes tokens into `words`; no continuation of the paragraph can change the first `certain` ones."""

    def __init__(self) -> None:
        self.words: list[Fragment] = []
        self.certain = 0
        self._atoms: list[_Atom] = []
        self._marks: list[str] = []
        self._space = ""
        self._rank = BreakRank.WORD
        self._leads_with_bracket: bool | None = None
        self._brackets = 0
        self._open_end = False
        """True once something was found that a later character may turn into another construct."""

    def write(self, tokens: Sequence[Token]) -> None:
        """Write tokens in order."""
        position = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            if token.type == "link_open":
                close = next(n for n in range(position, len(tokens)) if tokens[n].type == "link_close")
                self._link(tokens[position:close], str(token.attrs["href"]), is_auto=token.markup == "autolink")
                position = close + 1
            elif token.type == "image":
                self._link(token.children or [], str(token.attrs["src"]))
            elif token.type == "code_inline":
                self._code(token.content)
            elif token.type == "text":
                self._text(token.content)
            elif token.type == "text_special":
                self._add("".join(_literal(sign) for sign in token.content.translate(UNSEEN)), prose=True)
            elif token.nesting:
                self._emphasis(token)
            else:  # a soft or hard break
                self._end_word("\n")

    def flush(self) -> None:
        """End the word."""
        parts = list(self._parts())
        followers = [*(part.marks for part in parts[1:]), tuple(self._marks)]
        for part, following in zip(parts, followers, strict=False):
            marks, closing = "".join(part.marks), "".join(reversed(part.marks))
            reopening = marks + part.opened + JOINER * bool(_LIKE_A_MARK.match(part.text))
            after = part.open + "".join(reversed(following))
            rank = min(self._rank, BreakRank.MARKED) if marks else self._rank
            self.words.append(Fragment(part.text, self._space, rank, part.opened + closing, reopening, after))
            self._space, self._rank = "", BreakRank.INSIDE
        if parts:
            self._rank = BreakRank.SENTENCE if _SENTENCE_END.search(parts[-1].text) else BreakRank.WORD
        self._atoms = []
        if not (self._marks or self._brackets or self._open_end):
            self.certain = len(self.words)

    def _parts(self) -> Iterator[_Part]:
        """Yield the word in parts that are not too long."""
        text = ""
        marks: tuple[str, ...] = ()
        for atom, written in zip(self._atoms, _guarded(self._atoms), strict=True):
            if atom.ticks:
                if text:
                    yield _Part(text, marks)
                *some, last = pieces(written, LONGEST_PIECE)
                for number, piece in enumerate([*some, last]):
                    opened, left_open = atom.ticks * (number > 0), atom.ticks * (number < len(some))
                    piece = atom.ticks * (number == 0) + piece + atom.ticks * (number == len(some))
                    yield _Part(piece, atom.marks, opened, left_open)
                text = ""
                continue
            for piece in pieces(written, LONGEST_PIECE) if atom.prose else [written]:
                if text and len(text) + len(piece) > LONGEST_WORD:
                    yield _Part(text, marks)
                    text = ""
                text, marks = text + piece, marks if text else atom.marks
        if text:
            yield _Part(text, marks)

    def _add(self, text: str, *, prose: bool = False, ticks: str = "") -> None:
        if self._leads_with_bracket is None:
            self._leads_with_bracket = text.startswith("[")
        self._atoms.append(_Atom(text, tuple(self._marks), prose, ticks))

    def _end_word(self, space: str) -> None:
        self.flush()
        self._space += space
        if "\n" in space:
            self._rank, self._leads_with_bracket = BreakRank.LINE, None

    def _text(self, text: str) -> None:
        for piece in _PIECE.finditer(text):
            if piece["space"]:
                self._end_word(piece["space"])
            elif piece["address"] and len(piece["address"]) <= LONGEST_LINK:
                self._add(bare_address(piece["address"]))
            else:
                self._prose(piece[0])
                if piece["stop"]:
                    self.flush()

    def _prose(self, text: str) -> None:
        self._brackets = max(0, self._brackets + text.count("[") - text.count("]"))
        self._open_end = self._open_end or _OPENER.search(text) is not None
        safe = text.replace("<", "&lt;").replace("`", "\\`").replace("](", "]\\(")
        self._add(safe, prose=True)
        if self._leads_with_bracket:  # or it would define what a reference links to
            self._atoms[-1].text = safe.replace("]:", "]\\:")

    def _emphasis(self, token: Token) -> None:
        """Keep the marks as they are."""
        if token.nesting < 0:
            self._marks.pop()
        self._add(token.markup)
        if token.nesting > 0:
            self._marks.append(token.markup)

    def _code(self, code: str) -> None:
        """Write a code span between signs that Slack takes for nothing else; without code it's text."""
        if not code.strip():
            self._add("\\`" + code + "\\`")
            return
        sign = "``" if "`" in code else "`"
        code = _TICKS.sub(lambda run: CODE_TICK * len(run[0]), guard_code(code))
        code = f" {code} " if "`" in (code[0], code[-1]) and not code[0] == code[-1] == " " else code
        if len(code) > LONGEST_WORD:
            self._add(code, ticks=sign)
        else:
            self._add(f"{sign}{code}{sign}")

    def _link(self, label: Sequence[Token], target: str, *, is_auto: bool = False) -> None:
        """Write a link that leads somewhere as a link, another one as its label."""
        if is_auto:
            address = safe_address(target) if label[0].content == target and "|" not in target else ""
            self._add(address.removeprefix("mailto:") if address else "&lt;")
            if address:
                return
        inner = _InlineWriter()
        inner.write(label)
        inner.flush()
        text = "".join(word.space.replace("\n", " ") + word.text for word in inner.words)
        written = "" if is_auto or len(text) > LONGEST_LABEL else link(text, target)
        if written:
            self._add(written)
        else:
            self.write(label)
            self._add(">" * is_auto)


def _literal(sign: str) -> str:
    """Return a character that was escaped or referred to, as nothing but itself."""
    if sign in "<>&":
        return html.escape(sign)
    if sign in "\t\n":
        return " "
    return f"\\{sign}" if _PUNCTUATION.match(sign) and sign != "@" else sign


def _guarded(atoms: Sequence[_Atom]) -> list[str]:
    """Return the texts of a word's atoms, no @ of its prose touching the name of a group."""
    texts: list[str] = []
    after = ""
    for number in reversed(range(len(atoms))):
        text = atoms[number].text
        before = atoms[number - 1].text[-1:] if number else ""
        texts.append(guard_names(text, before=before, after=after) if atoms[number].prose else text)
        after = (text + after)[:LONGEST_PIECE]
    return texts[::-1]
