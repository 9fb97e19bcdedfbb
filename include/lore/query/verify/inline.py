"""One line of an answer, made safe: checked citations, checked links, no raw HTML.

The line is brought into a form that every Markdown renderer reads as this module does: a construct that is not
recognised here is escaped, so that it cannot become a link, a code span or a tag there, nor in one with the next line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lore.query.verify.allowed_content import AllowedContent
from lore.query.verify.citation_syntax import CITATION, NUMBERS, expand, indexed_name, is_interval
from lore.query.verify.commands import REMOVED_COMMAND
from lore.query.verify.links import LINK, SCHEME_ALONE, trim
from lore.query.verify.markup import (
    ATTRIBUTE_LINK,
    CONTAINERS,
    DEFINITION,
    DESTINATION,
    HTML_NAMES,
    REFERENCE,
    bracket_pairs,
    looks_like_link,
)

__all__ = ["REMOVED_FROM_CODE", "REMOVED_FROM_TEXT", "Findings", "clean_line"]

REMOVED_FROM_TEXT = "(link removed)"
REMOVED_FROM_CODE = "<link removed>"
_MAX_ROUNDS = 8
_MAX_DEPTH = 10

_TOKEN = re.compile(
    rf"""
    (?P<citation> {CITATION} )
  | (?P<escape> \\[!-/:-@\[-`{{-~] )
  | (?P<ticks> `+ )
  | (?P<autolink> <(?:[a-z][a-z0-9+.\-]*:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)> )
  | (?P<tag> </?[a-z][a-z0-9]*(?:[\s/][^<>]*)?> )
  | (?P<reference> &(?:\#\d{{1,7}}|\#x[0-9a-f]{{1,6}}|[a-z]{{2,31}}); )
  | (?P<bracket> !?\[ )
  | (?P<close> \] )
  | (?P<link> {LINK.pattern} )
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass
class Findings:
    """What was found while an answer was cleaned: citations that stay; numbers, links and commands taken out."""

    cited: set[int] = field(default_factory=set)
    dropped_citations: list[str] = field(default_factory=list)
    dropped_links: list[str] = field(default_factory=list)
    dropped_commands: list[str] = field(default_factory=list)


def clean_line(
    line: str, allowed: AllowedContent, passages: int, findings: Findings, *, at_start: bool, quoting: bool = False
) -> str:
    """The line, or piece of one, as it may leave. `passages` is how many numbers there are to cite.

    Cleaning is repeated until nothing changes, because taking something out can join its neighbours to something new.
    With `quoting` the line is a source's own: its bracketed numbers are text and are escaped.
    """
    for _ in range(_MAX_ROUNDS):
        scan = _Scan(line, allowed, passages, findings, at_start, quoting, 0)
        cleaned = allowed.clean_prose(scan.run())
        if cleaned == line:
            findings.cited |= scan.cited
            return cleaned
        line = cleaned
    return REMOVED_FROM_TEXT


class _Scan:
    """One pass over one line, left to right."""

    def __init__(
        self,
        line: str,
        allowed: AllowedContent,
        passages: int,
        findings: Findings,
        at_start: bool,
        quoting: bool,
        level: int,
    ) -> None:
        self.line = line
        self.allowed = allowed
        self.passages = passages
        self.findings = findings
        self.at_start = at_start
        self.quoting = quoting
        self.level = level
        self.cited: set[int] = set()
        self._pairs = bracket_pairs(line)
        self.position = 0
        self.depth = 0
        self._text = ""  # prose since the last code span; what may not be touched any more is in _parts
        self._parts: list[str] = []

    def run(self) -> str:
        handlers: dict[str, Callable[[re.Match[str]], None]] = {
            "citation": self._citation,
            "escape": lambda match: self._write(match[0]),
            "ticks": self._ticks,
            "autolink": self._autolink,
            "tag": self._tag,
            "reference": self._reference,
            "bracket": self._bracket,
            "close": self._close,
            "link": self._link,
        }
        while match := _TOKEN.search(self.line, self.position):
            self._write(self.line[self.position : match.start()])
            self.position = match.end()
            handlers[match.lastgroup or ""](match)
        self._write(self.line[self.position :])
        self._seal("")
        return "".join(self._parts)

    def _write(self, text: str) -> None:
        self._text += text

    def _seal(self, code: str) -> None:
        """End a stretch of prose, whose `<` may not open a tag, with code that stays as it is."""
        self._parts.append(re.sub(r"<(?=[A-Za-z/!?])", "&lt;", self._text))
        self._parts.append(code)
        self._text = ""

    # -------------------------------------------------------------------------------------------------- citations

    def _citation(self, match: re.Match[str]) -> None:
        token = match[0]
        if self.quoting:
            self._write(re.sub(r"\\?([\[\]])", r"\\\1", token))
            return
        numbers = expand(token)
        valid = [number for number in numbers if 1 <= number <= self.passages]
        if name := indexed_name(self._text, token, self.line[self.position :], dangling=not valid):
            self._text = self._text.removesuffix(name)
            self._seal(f"`{name}{token}`")  # the code that it is
            return
        if is_interval(token, numbers):
            self._write(token)
            return
        self.findings.dropped_citations.extend(str(number) for number in numbers if number not in valid)
        self.cited.update(valid)
        leads = self._only_containers(self._text)
        self._write("".join(f"[{number}]" for number in valid))
        self._skip_target(leads)
        if not valid:
            self._close_gap()

    def _skip_target(self, leads: bool) -> None:
        """A citation is linked by whoever shows the answer: leave out a target that the model gave it.

        The citation `leads` when the line starts with it; then a colon after it would define a reference.
        """
        if self.line.startswith("(", self.position):
            destination = DESTINATION.match(self.line, self.position)
            if destination:
                self._may_link(destination["angled"] or destination["plain"] or "")
                self.position = destination.end()
            else:
                self._write(" ")
        elif leads and self.line.startswith(":", self.position):
            self.position += 1

    def _close_gap(self) -> None:
        """Close the gap that a removed citation leaves: no space before a full stop, none doubled."""
        rest = self.line[self.position :]
        if not rest.strip() or rest[0] in ".,;:!?)":
            self._text = self._text.rstrip(" ")
        elif rest[0] == " " and (not self._text or self._text[-1].isspace()):
            self.position += 1

    # ------------------------------------------------------------------------------------------------------ links

    def _may_link(self, destination: str) -> bool:
        """Whether a link may lead there; if not it is on record, unless it is a quoted page's own relative link."""
        if self.allowed.links.may_link(destination):
            return True
        if destination and not (self.quoting and not re.match(r"[a-z][a-z0-9+.-]*:|//", destination, re.IGNORECASE)):
            self.findings.dropped_links.append(destination)
        return False

    def _bracket(self, match: re.Match[str]) -> None:
        start = match.end()
        cited = _TOKEN.match(self.line, start - 1) if match[0] == "![" else None
        if cited and cited.lastgroup == "citation":
            self._write("!")  # an exclamation, then a citation
            self.position = start - 1
            return
        end = self._pairs.get(start - 1)
        if end is None:
            self._write(match[0])
            return
        if self._definition(match):
            return
        label = self.line[start:end]
        if self.line.startswith("(", end + 1):
            destination = DESTINATION.match(self.line, end + 1)
            if destination and self._inline_link(label, destination):
                return
        reference = REFERENCE.match(self.line, end + 1)
        if reference and not self._glued() and not re.fullmatch(NUMBERS, reference[1].strip(), re.IGNORECASE):
            self._write(self._clean(label))
            self.position = reference.end()
            return
        self.depth += 1
        self._write(match[0])

    def _inline_link(self, label: str, destination: re.Match[str]) -> bool:
        """Write `[label](destination)`, linked if it may be. False for what only looks like a link: `list[T](x)`."""
        target = destination["angled"] if destination["angled"] is not None else destination["plain"]
        if self._glued() and not looks_like_link(target):
            return False
        self.position = destination.end()
        cited = len(self.cited)
        text = self._clean(label)
        if self._may_link(target) and text.strip() and len(self.cited) == cited:
            target = target.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
            self._write(f"[{text}]({target})")
        else:
            self._write(text)  # a label that holds a citation gets its link from that
        return True

    def _definition(self, match: re.Match[str]) -> bool:
        """A reference definition turns into plain text with its link, or into nothing when no source holds that."""
        found = DEFINITION.match(self.line, match.start())
        if match[0] != "[" or not found or not self._only_containers(self._text):
            return False
        destination = found["destination"]
        if not looks_like_link(destination):
            return False
        self.position = len(self.line)
        if self._may_link(destination):
            self._write(f"{self._clean(found['label'])}: {destination}")
        return True

    def _autolink(self, match: re.Match[str]) -> None:
        destination = match[0][1:-1]
        if self._may_link(destination if ":" in destination else f"mailto:{destination}"):
            self._write(destination)
            self._separate()
        else:
            self._write(REMOVED_FROM_TEXT)

    def _link(self, match: re.Match[str]) -> None:
        cited = self.allowed.links.keep(match[0])
        if cited:
            self._write(cited)
            self.position = match.start() + len(cited)
            self._separate()
            return
        link = trim(match[0])
        self.position = match.start() + len(link)  # what was trimmed may be the start of an escape
        if SCHEME_ALONE.fullmatch(link):
            self._write(link)
            return
        self.findings.dropped_links.append(link)
        self._write(REMOVED_FROM_TEXT)

    def _separate(self) -> None:
        """Keep renderers from taking what follows a bare link for a part of it."""
        rest = self.line[self.position :]
        if rest and not rest[0].isspace() and not re.match(r"[.,;:!?*_~\"')\]|]+(?:\s|$)", rest):
            self._write(" ")

    def _close(self, match: re.Match[str]) -> None:
        """A bracket that closes no recognised link must not make one with what follows it."""
        self._write(match[0])
        following = self.line[self.position : self.position + 1]
        unmatched = self.depth == 0
        self.depth = max(0, self.depth - 1)
        if following == "(" or (following == ":" and (unmatched or self._only_containers(self._text.split("[")[0]))):
            self._write("\\" + following)
            self.position += 1

    # ----------------------------------------------------------------------------------------------- code and HTML

    def _ticks(self, match: re.Match[str]) -> None:
        end = re.compile(rf"(?<!`){match[0]}(?!`)").search(self.line, match.end())
        if not end:
            self._write("\\`" * len(match[0]))
            return
        code = self.allowed.links.clean_code(
            self.line[match.end() : end.start()], REMOVED_FROM_CODE, self.findings.dropped_links
        )
        self.position = end.end()
        if self.allowed.code.allows_inline(code) is False:
            self.findings.dropped_commands.append(code.strip())
            self._write(REMOVED_COMMAND)
            return
        self._seal(f"{match[0]}{code}{match[0]}")

    def _tag(self, match: re.Match[str]) -> None:
        name = re.match(r"</?([a-z][a-z0-9]*)", match[0], re.IGNORECASE)
        if not name or name[1].lower() not in HTML_NAMES:
            self._write("&lt;")  # a placeholder such as <name>: text
            self.position = match.start() + 1
            return
        for link in ATTRIBUTE_LINK.findall(match[0]):
            self._may_link(link)
        if name[1].lower() == "br":
            self._write(" ")

    def _reference(self, match: re.Match[str]) -> None:
        """Spell out what hides a link or a citation behind references; others may be markup and stay."""
        character = html.unescape(match[0])
        self._write(character if len(character) == 1 and (character.isalnum() or character in ":/.@[]") else match[0])

    # ---------------------------------------------------------------------------------------------------- helpers

    def _clean(self, label: str) -> str:
        if self.level >= _MAX_DEPTH:
            return label  # the next round comes to it, or gives the line up
        scan = _Scan(label, self.allowed, self.passages, self.findings, False, self.quoting, self.level + 1)
        cleaned = scan.run()
        self.cited |= scan.cited
        return cleaned

    def _glued(self) -> bool:
        """Whether a word ends where this bracket starts, as in `list[T]`."""
        return bool(re.search(r"\w$", self._text))

    def _only_containers(self, text: str) -> bool:
        """Whether nothing but list markers and quote signs stands before this place in the line."""
        return self.at_start and not self._parts and CONTAINERS.fullmatch(text) is not None
