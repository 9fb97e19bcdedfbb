"""One line of prose, made safe word by word while it comes in.

Every construct that is recognised here leaves in the one form that all readers of Markdown agree on, and what is not
recognised leaves escaped, so that it becomes no link, code or mention there. A piece leaves once nothing that may
follow can change it; so an answer is the same, whatever pieces it came in.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lore.query.verify.markup import DESTINATION
from lore.slackbot.render.characters import JOINER, guard_code, is_calling, pieces
from lore.slackbot.render.emphasis import Emphasis
from lore.slackbot.render.links import LONGEST_LINK, closing_bracket, safe_address
from lore.slackbot.render.tokens import STOPS, TOKEN, certain
from lore.slackbot.render.units import Rank, Unit
from lore.visible_text import UNSEEN

__all__ = ["Prose", "Start", "safe_line"]

LONGEST_LABEL = 600
LONGEST_DESTINATION = 2_500
LONGEST_CODE = 20_000
"""Where the search for the end of a construct ends: a sign that is not closed by then means itself."""
LONGEST_UNIT = 300
LONGEST_WORD = 200

_SENTENCE_END = re.compile(rf"[.!?;{STOPS[:3]}](?:[\"'”’)*_~`]|\s?\[\d+\])*$")
_LIKE_A_MARK = re.compile(r"(?:[-+*=#|~]+|\d{1,9}[.)])$|[>|]")
_TICKS = re.compile(r"`{2,}")


@dataclass(frozen=True, slots=True)
class Start:
    """How a line begins: what stands before its prose, and how the place before it is to cut at."""

    prefix: str = ""
    space: str = ""
    rank: Rank = Rank.LINE
    quote: str = ""
    indent: int = 0


class Prose:
    """The words of one line. `emphasis` is what is open from the lines before, and goes on into the next."""

    def __init__(self, start: Start, emphasis: Emphasis) -> None:
        self._start: Start | None = start
        self._quote = start.quote
        self._emphasis = emphasis
        self._rest = ""
        self._previous = ""
        self._leads_with_bracket: bool | None = None
        self._word = ""
        self._space = ""
        self._rank = start.rank
        self._reopening = emphasis.reopening
        self._closing = emphasis.closing
        self._units: list[Unit] = []

    def feed(self, text: str, *, whole: bool = False) -> Iterator[Unit]:
        """The words that are safe to leave; all of them where the line is whole."""
        self._rest += text
        if whole:
            self._rest = self._rest.rstrip()
        end = len(self._rest) if whole else certain(self._rest)
        position = 0
        while position < end and (token := TOKEN.match(self._rest, position, end)):
            following = self._read(token, end, whole)
            if following is None:
                break
            self._previous = self._rest[following - 1]
            position = following
        self._rest = self._rest[position:]
        if position == end or whole:
            self._flush()
        units, self._units = self._units, []
        return iter(units)

    def _read(self, token: re.Match[str], end: int, whole: bool) -> int | None:
        """Take a token in; returns where the next one starts, None where what follows decides what this one is."""
        kind = token.lastgroup or ""
        if self._leads_with_bracket is None:
            self._leads_with_bracket = kind == "bracket"
        if kind in ("ticks", "bracket"):
            read: Callable[[int, int, bool], int | None] = self._code if kind == "ticks" else self._bracket
            return read(token.start(), end, whole)
        if kind == "space":
            self._flush()
            self._space += token[0]
        elif kind == "close":
            return self._close(token.end(), end)
        elif kind == "emphasis":
            following = self._rest[token.end() : token.end() + 1]
            self._add(token[0])
            self._emphasis.read(token[0], self._previous, following)
        else:
            return self._text(kind, token)
        return token.end()

    def _text(self, kind: str, token: re.Match[str]) -> int:
        if kind == "autolink":
            address = safe_address(token[0][1:-1])
            self._add(address.removeprefix("mailto:") or "&lt;")
            return token.end() if address else token.start() + 1
        if kind == "address" and len(token[0]) <= LONGEST_LINK:
            self._add(_bare_address(token[0]))
        else:
            for piece in pieces(self._safe(kind, token), LONGEST_WORD):
                self._add(piece)
        if kind == "stop":
            self._flush()
        return token.end()

    def _safe(self, kind: str, token: re.Match[str]) -> str:
        text = token[0]
        following = self._rest[token.end() :]
        if kind == "escape":
            return self._sign(text[1], following, escaped=True)
        if kind == "reference":
            character = html.unescape(text)
            if character == text:
                return text
            character = re.sub(r"[\t\n]", " ", character.translate(UNSEEN))
            return "".join(self._sign(sign, following, escaped=True) for sign in character)
        return self._sign(text, following) if kind in ("at", "less") else text

    def _sign(self, sign: str, following: str, *, escaped: bool = False) -> str:
        """One character that means something: as text where it is `escaped`."""
        if sign in "<>&":
            return html.escape(sign)
        if sign in "@＠﹫":
            after_word = re.match(r"[^\W_]", self._previous) is not None
            return sign + JOINER * (not after_word and is_calling(following))
        return f"\\{sign}" if escaped and re.fullmatch(r"[!-/:-@\[-`{-~]", sign) else sign

    # ------------------------------------------------------------------------------------------------------ constructs

    def _code(self, start: int, end: int, whole: bool) -> int | None:
        ticks = re.compile("`+").match(self._rest, start)
        assert ticks  # noqa: S101  it was found as a token
        limit = min(end, start + LONGEST_CODE)
        found = re.compile(rf"(?<!`){ticks[0]}(?!`)").search(self._rest, ticks.end(), limit)
        if not found:
            if not whole and limit == end:
                return None
            self._add("\\`" * len(ticks[0]))
            return ticks.end()
        code = self._rest[ticks.end() : found.start()]
        if not code.strip():
            self._add("\\`" * len(ticks[0]) + code + "\\`" * len(ticks[0]))
            return found.end()
        self._add_code(guard_code(code))
        return found.end()

    def _add_code(self, code: str) -> None:
        """A code span in signs that Slack takes for nothing else; a long one in pieces that are code by themselves."""
        sign = "``" if "`" in code else "`"
        code = _TICKS.sub(lambda run: JOINER.join(run[0]), code)
        code = f" {code} " if "`" in (code[0], code[-1]) and not code[0] == code[-1] == " " else code
        parts = list(pieces(code, LONGEST_WORD)) if len(code) > LONGEST_UNIT else [code]
        self._add(sign + parts[0] + sign * (len(parts) == 1))
        for number, part in enumerate(parts[1:], start=2):
            self._flush(after=sign)
            self._rank = Rank.INSIDE
            self._closing = sign + self._emphasis.closing
            self._reopening = self._emphasis.reopening + sign
            self._word = part + sign * (number == len(parts))

    def _bracket(self, start: int, end: int, whole: bool) -> int | None:
        """A link or image, as a link where it leads somewhere; a bracket that is none of these is text."""
        opening = start + (self._rest[start] == "!")
        limit = min(end, opening + LONGEST_LABEL)
        closed = closing_bracket(self._rest, opening, limit)
        certain = whole or limit < end
        if closed is None:
            if not certain:
                return None
        elif closed > 0 and self._rest.startswith("(", closed + 1) and closed + 1 < end:
            limit = min(end, closed + LONGEST_DESTINATION)
            destination = DESTINATION.match(self._rest, closed + 1, limit)
            if destination:
                self._link(self._rest[opening + 1 : closed], destination)
                return destination.end()
            if not whole and limit == end:
                return None
        self._add(self._rest[start : opening + 1])
        return opening + 1

    def _link(self, label: str, destination: re.Match[str]) -> None:
        target = destination["angled"] if destination["angled"] is not None else destination["plain"]
        address = safe_address(target)
        text = safe_line(label)
        if not address or "](" in text or _names_another(text, address):
            self._add(text)
        elif not text.strip():
            self._add(address)
        else:
            self._add(f"[{text}]({address})")

    def _close(self, position: int, end: int) -> int:
        """A bracket that ends no link makes none with what follows, and defines no reference."""
        following = self._rest[position : position + 1] if position < end else ""
        joins = following == "(" or (following == ":" and bool(self._leads_with_bracket))
        self._add("]" + f"\\{following}" * joins)
        return position + joins

    # ----------------------------------------------------------------------------------------------------------- units

    def _add(self, text: str) -> None:
        if self._word and len(self._word) + len(text) > LONGEST_UNIT:
            self._flush()
            self._rank = Rank.INSIDE
        if not self._word:
            self._closing, self._reopening = self._emphasis.closing, self._emphasis.reopening
        self._word += text

    def _first(self, unit: Unit, start: Start) -> Unit:
        """The first word of the line, with what begins the line. A list or quotation begins outside of all emphasis."""
        if start.prefix:
            unit = replace(unit, closing="", after="")
        reopening = "" if start.prefix else self._reopening
        text = start.prefix + unit.text
        return replace(unit, text=text, space=start.space, reopening=reopening, indent=start.indent)

    def _flush(self, after: str = "") -> None:
        if not self._word:
            return
        unit = Unit(
            self._word,
            self._space,
            min(self._rank, Rank.MARKED) if self._closing and self._start is None else self._rank,
            self._closing,
            self._quote + self._reopening + JOINER * bool(_LIKE_A_MARK.match(self._word)),
            after + self._emphasis.closing,
        )
        if self._start:
            unit = self._first(unit, self._start)
        self._rank = Rank.SENTENCE if _SENTENCE_END.search(unit.text) else Rank.WORD
        self._units.append(unit)
        self._start, self._word, self._space = None, "", ""


def safe_line(text: str) -> str:
    """A whole line of prose, made safe."""
    units = Prose(Start(), Emphasis()).feed(text.replace("\n", " "), whole=True)
    return "".join(unit.space + unit.text for unit in units)


def _names_another(label: str, address: str) -> bool:
    """Whether a label shows an address that is not the one that the link leads to."""
    shown = re.match(r"\s*(https?://[^\s/?#]+)", label, re.IGNORECASE)
    return shown is not None and not address.lower().startswith(shown[1].lower())


def _bare_address(text: str) -> str:
    """An address that stands in the text for itself, whatever follows it in its word."""
    return re.sub(r"@(?=(\S+))", lambda at: "%40" if is_calling(at[1]) else "@", text)
