"""Prose of an answer between code and links, made safe: one form of citation, checked links, no accidental markup."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lore.query.verify.allowed_content import AllowedContent
from lore.query.verify.citation_syntax import CITATION, NUMBERS, expand, indexed_name, is_interval
from lore.query.verify.links import LINK, SCHEME_ALONE, trim

__all__ = ["CONTAINERS", "REMOVED_LINK", "Findings", "LineRules", "ProseCleaner", "is_number"]

REMOVED_LINK = "(link removed)"
CONTAINERS = r"(?:\s|>|[-*+]\s|\d{1,9}[.)]\s)*"
"""A pattern for list markers and quote signs at the start of a line."""

_TOKEN = re.compile(
    rf"""
    (?P<citation> {CITATION} )
  | (?P<escape> \\[!-/:-@\[-`{{-~] )
  | (?P<reference> !?\[(?P<label>(?:[^\[\]\\]|\\.)+)\]\[(?P<name>[^\[\]]*)\] )
  | (?P<bracket> [\[\]] )
  | (?P<link> {LINK.pattern} )
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass
class Findings:
    """Citations kept in an answer, and the citations, links and commands removed from it."""

    cited: set[int] = field(default_factory=set)
    dropped_citations: list[str] = field(default_factory=list)
    dropped_links: list[str] = field(default_factory=list)
    dropped_commands: list[str] = field(default_factory=list)
    in_round_brackets: bool | None = None
    """True if the first citation was of the form `(1)`; None before it."""


@dataclass(frozen=True, slots=True)
class LineRules:
    """Rules for the lines of an answer: content that they may have, and numbers up to `passages` that they may cite.

    With `quoting` the lines are a source's own, and bracketed numbers are escaped.
    """

    allowed: AllowedContent
    passages: int
    findings: Findings
    quoting: bool = False


class ProseCleaner:
    """Cleans one stretch of prose, from left to right. `following` is the code or link after it.

    `at_start` means that the stretch begins a line.
    """

    def __init__(self, rules: LineRules, prose: str, following: str, *, at_start: bool) -> None:
        self._rules = rules
        self._prose = prose
        self._following = following
        self._at_start = at_start
        self.cited: set[int] = set()
        self._position = 0
        self._depth = 0
        self._text = ""  # prose since the last code; everything before it is final, in _done
        self._done = ""

    def clean(self) -> str:
        """Return the cleaned prose."""
        handlers = {
            "citation": self._citation,
            "reference": self._reference,
            "bracket": self._bracket,
            "link": self._link,
        }
        while match := _TOKEN.search(self._prose, self._position):
            self._text += self._prose[self._position : match.start()]
            self._position = match.end()
            if handler := handlers.get(match.lastgroup or ""):
                handler(match)
            else:
                self._text += match[0]
        self._text += self._prose[self._position :]
        self._finish("")
        return self._done

    def _finish(self, code: str) -> None:
        """End the text, in which no `<` may open a tag, with code that stays as it is."""
        text = self._rules.allowed.clean_prose(self._text)
        self._done += re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text) + code
        self._text = ""

    def _rest(self) -> str:
        return self._prose[self._position :] + self._following

    def _citation(self, match: re.Match[str]) -> None:
        token = match[0]
        if self._rules.quoting:
            self._text += re.sub(r"\\?([\[\]])", r"\\\1", token)
            return
        numbers = expand(token)
        valid = [number for number in numbers if 1 <= number <= self._rules.passages]
        if name := indexed_name(self._text, token, self._rest(), dangling=not valid):
            self._text = self._text.removesuffix(name)
            self._finish(f"`{name}{token}`")
            return
        is_round = re.fullmatch(r"\([\d,\s]+\)", token) is not None
        if is_interval(token, numbers) or (
            is_round and not (valid and self._rules.findings.in_round_brackets is not False)
        ):
            self._text += token
            return
        self._rules.findings.dropped_citations.extend(str(number) for number in numbers if number not in valid)
        self.cited.update(valid)
        if valid and self._rules.findings.in_round_brackets is None:
            self._rules.findings.in_round_brackets = is_round
        leads = self._is_line_start(self._text)
        self._text += "".join(f"[{number}]" for number in valid)
        rest = self._rest()
        if rest.startswith("("):
            self._text += " "  # an unfinished link target
        elif leads and rest.startswith(":"):
            self._position += 1  # the colon would define a reference
        if not valid:
            self._close_gap()

    def _close_gap(self) -> None:
        """Close the gap of a removed citation: no space before a full stop, none doubled."""
        rest = self._rest()
        if not rest.strip() or rest[0] in ".,;:!?)":
            self._text = self._text.rstrip(" ")
        elif rest[0] == " " and (not self._text or self._text[-1].isspace()):
            self._position += 1

    def _reference(self, match: re.Match[str]) -> None:
        """Write the label of a reference, whose definition never stays; `matrix[i][j]` is code."""
        if is_number(match["label"]):
            self._text += "!"
            self._position = match.start("label") - 1
        elif re.search(r"\w$", self._text) or is_number(match["name"]):
            self._text += match[0].partition("[")[0]
            self._position = match.start("label")
            self._open()
        else:
            self._text += match["label"]

    def _bracket(self, match: re.Match[str]) -> None:
        if match[0] == "[":
            self._open()
            return
        self._text += "]"
        rest, unmatched = self._rest(), self._depth == 0
        self._depth = max(0, self._depth - 1)
        defines = rest.startswith(":") and (unmatched or self._is_line_start(self._text.split("[")[0]))
        if rest.startswith("(") or defines:
            self._text += f"\\{rest[0]}"
            self._position += 1

    def _open(self) -> None:
        self._text += "["
        self._depth += 1

    def _link(self, match: re.Match[str]) -> None:
        kept = self._rules.allowed.links.keep(match[0])
        link = kept or trim(match[0])
        self._position = match.start() + len(link)  # the trimmed end may begin an escape
        if kept:
            self._text += kept
            rest = self._rest()
            if rest and not rest[0].isspace() and not re.match(r"[.,;:!?*_~\"')\]|]+(?:\s|$)", rest):
                self._text += " "  # renderers would take the rest for a part of the link
        elif SCHEME_ALONE.fullmatch(link):
            self._text += link
        else:
            self._rules.findings.dropped_links.append(link)
            self._text += REMOVED_LINK

    def _is_line_start(self, text: str) -> bool:
        """Return True if only list markers and quote signs precede this place in the line."""
        return self._at_start and not self._done and re.fullmatch(CONTAINERS, text) is not None


def is_number(label: str) -> bool:
    """Return True for the content of a citation's brackets."""
    return re.fullmatch(NUMBERS, label.strip(), re.IGNORECASE) is not None
