"""The check of an answer while it streams: only what passes here reaches the reader.

Citations become `[n]` and stay if passage n exists. Links and commands stay if a passage has them. HTML is escaped.
Sentences that their cited passages don't support are marked, and those that only point to a source are left out.
Passages with a prompt injection count for nothing. An answer may arrive in pieces: a line or sentence leaves as soon
as nothing that follows can change its meaning. The result is Markdown for a renderer without raw HTML and images.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lore.markdown import CODE_SPAN
from lore.query.verify.allowed_content import AllowedContent
from lore.query.verify.citation_syntax import CHECKED, CITATION
from lore.query.verify.claims import ClaimChecker, ClaimFindings, unknown_names_note
from lore.query.verify.commands import REMOVED_COMMAND, defined_names, is_shell
from lore.query.verify.inline import REMOVED_FROM_CODE, clean_line
from lore.query.verify.prose import Findings, LineRules
from lore.query.verify.statements import filler_citations
from lore.query.verify.support import SupportChecker
from lore.types import Check, Hit
from lore.visible_text import UNSEEN

__all__ = ["AnswerCheck", "clean_quote"]

_OPENING = re.compile(
    r"^(?P<quote>(?:[ ]{0,3}>(?:[ ]{0,4}>){0,9}[ ]?)?)(?P<indent>\s{0,80})"
    r"(?P<item>(?:(?:[-*+]|\d{1,9}[.)])\s{1,20}){0,9})(?P<fence>`{3,}|~{3,})(?P<info>.*)$"
)
"""The first line of a code block. Deeper nesting is escaped instead, which bounds the time of matching.

The parser can't decide this line by line: whether an indented fence opens a block depends on the whole list before it,
and waiting for the end of a list would hold its items back."""
_LANGUAGE = re.compile(r"[\w+#.\-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;])(?=\s)|(?<=[。！？])")
_VERDICT = re.compile(r"\s*[*_\"'(\[]*NOT_FOUND[*_\"')\].]*\s*", re.IGNORECASE)
MIN_PIECE_CHARACTERS = 20
MAX_PIECE_CHARACTERS = 2_000
NAMES_LISTED = 5
_CITATIONS_AFTER = re.compile(rf"\s{{0,3}}(?:(?:{CITATION})\s{{0,2}})+", re.IGNORECASE | re.VERBOSE)
_OPENERS = "[【［〔(\\"
_CLOSERS = "]】］〕)"
MAX_CITATION_CHARACTERS = 200


@dataclass(slots=True)
class _Fence:
    """An open code block: its fence, the indentation and quote signs of its lines, its language.

    `used` are the unknown names in it, and `defined` the names that it defines.
    """

    sign: str
    indent: int
    quote: str
    language: str
    used: list[str] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)


class AnswerCheck:
    """Checks an answer to `question` while it is written: `feed` pieces, `finish`, then read `result`.

    With `support` it checks the claims of sentences as well. With `quoting` the text is a source's own, and its
    bracketed numbers are no citations. `allowed` is the content of these passages, if it is at hand.
    """

    def __init__(
        self,
        passages: Sequence[Hit],
        *,
        question: str = "",
        support: SupportChecker | None = None,
        quoting: bool = False,
        allowed: AllowedContent | None = None,
    ) -> None:
        self._allowed = allowed or AllowedContent.of(passages, question)
        self._findings = Findings()
        self._rules = LineRules(self._allowed, len(passages), self._findings, quoting)
        texts = [hit.chunk.passage for hit in passages]
        self._claims = ClaimChecker(support, texts, question, self._allowed.code) if support else None
        self.gave_up = False
        """True once a line was the verdict that the passages don't answer; that line is left out."""
        self._pending = ""
        self._ends_with_return = False
        self._scanned = 0
        self._at_start = True
        self._fence: _Fence | None = None

    def feed(self, piece: str) -> str:
        """Return the text that may leave now, "" while it is undecided."""
        self._pending += self._lines(piece).translate(UNSEEN)
        cleaned = ""
        while (end := self._next_end()) is not None:
            unit, self._pending, self._scanned = self._pending[:end], self._pending[end:], 0
            cleaned += self._clean(unit)
        return cleaned

    def finish(self) -> str:
        """Return the rest of the text; an open code block is closed."""
        rest, self._pending = self._pending, ""
        cleaned = self._clean(rest) if rest else ""
        if self._fence:
            cleaned += ("" if self._at_start and not rest else "\n") + self._close(self._fence)
        return cleaned

    def _lines(self, piece: str) -> str:
        """Return the piece with line feeds only; a carriage return at its end waits for the next piece."""
        piece = "\r" * self._ends_with_return + piece
        self._ends_with_return = piece.endswith("\r")
        return piece.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    @property
    def result(self) -> Check:
        """The findings so far."""
        findings = self._claims.findings if self._claims else ClaimFindings()
        return Check(
            kept_citations=tuple(sorted(self._findings.cited)),
            dropped_citations=tuple(dict.fromkeys(self._findings.dropped_citations)),
            dropped_links=tuple(dict.fromkeys(self._findings.dropped_links)),
            dropped_commands=tuple(dict.fromkeys(self._findings.dropped_commands)),
            unsupported=tuple(dict.fromkeys(findings.unsupported)),
            misquoted=tuple(dict.fromkeys(findings.misquoted)),
            uncited=findings.uncited,
            cited=findings.cited,
            supported=findings.supported,
        )

    def _next_end(self) -> int | None:
        """Return the end of the next part that can be judged alone: a line, or a sentence with nothing left open.

        It depends on the text only, not on its pieces, so that the same answer always leaves the same.
        """
        newline = self._pending.find("\n")
        line = self._pending if newline < 0 else self._pending[:newline]
        if self._fence or (self._at_start and _OPENING.match(line)):
            return None if newline < 0 else newline + 1
        for match in _SENTENCE_END.finditer(line[: MAX_PIECE_CHARACTERS + 1], self._scanned):
            if match.start() >= MIN_PIECE_CHARACTERS and _nothing_open(line[: match.start()]):
                return self._past_citations(line, match.start(), whole=newline >= 0)
        if len(line) > MAX_PIECE_CHARACTERS:
            return self._forced_end()
        self._scanned = max(0, len(line) - 1)
        return None if newline < 0 else newline + 1

    def _past_citations(self, line: str, end: int, *, whole: bool) -> int | None:
        """Return the end of a sentence with the citations after its full stop, or None while more may come."""
        following = _CITATIONS_AFTER.match(line, end)
        after = end + len(line[end : following.end()].rstrip()) if following else end
        rest = line[after:].lstrip()
        if not whole and (not rest or rest == "\\" or (rest[:1] in _OPENERS and _is_open(rest))):
            return None
        return end if line[after : after + 1] in ("(", "[", ":") else after  # a link target belongs to its citation

    def _forced_end(self) -> int:
        """Return the place to cut an endless line: a space, inserted if necessary so that nothing joins across it."""
        space = self._pending.rfind(" ", 1, MAX_PIECE_CHARACTERS)
        if space < 0:
            self._pending = f"{self._pending[:MAX_PIECE_CHARACTERS]} {self._pending[MAX_PIECE_CHARACTERS:]}"
            space = MAX_PIECE_CHARACTERS
        return space

    def _clean(self, unit: str) -> str:
        line, newline = (unit[:-1], "\n") if unit.endswith("\n") else (unit, "")
        at_start, self._at_start = self._at_start, bool(newline)
        if self._fence and at_start and self._fence.quote and not line.startswith(self._fence.quote.rstrip()):
            self._fence = None  # a code block in a quotation ends with the quotation
        if self._fence:
            return self._clean_code(line, self._fence) + newline
        opening = _OPENING.match(line) if at_start else None
        if opening and not ("`" in opening["fence"] and "`" in opening["info"]):
            return self._open(opening) + newline
        if not self._rules.quoting and _VERDICT.fullmatch(line):
            self.gave_up = True
            return ""
        cited = set(self._findings.cited)
        cleaned = clean_line(line, self._rules, at_start=at_start)
        if not self._rules.quoting and (citations := filler_citations(cleaned)) is not None:
            new = {int(number) for number in CHECKED.findall(citations)} - cited
            return (f" {citations}" if new and not at_start else citations if new else "") + newline
        if self._claims and cleaned.strip():
            cleaned = self._claims.check(cleaned)
        return cleaned + newline

    def _open(self, opening: re.Match[str]) -> str:
        """Open a code block at the left margin, where every renderer reads it as one."""
        language = _LANGUAGE.match(opening["info"].strip())
        item = f"{opening['quote']}{opening['item'].rstrip()}\n" if opening["item"] else ""
        indent = len((opening["indent"] + opening["item"]).expandtabs(4))
        self._fence = _Fence(opening["fence"], indent, opening["quote"], language[0] if language else "")
        return f"{item}{opening['quote']}{opening['fence']}{self._fence.language}"

    def _clean_code(self, line: str, fence: _Fence) -> str:
        code = line[len(fence.quote) :] if fence.quote and line.startswith(fence.quote) else line
        if fence.quote and code is line:
            code = line[len(fence.quote.rstrip()) :]
        margin = len(code) - len(code.lstrip(" \t"))
        code = code[:margin].expandtabs(4)[fence.indent :] + code[margin:]
        closing = code.strip()
        if closing and set(closing) == {fence.sign[0]} and len(closing) >= len(fence.sign):
            return self._close(fence)
        code = self._allowed.links.clean_code(code, REMOVED_FROM_CODE, self._findings.dropped_links)
        if is_shell(fence.language, code) and not self._allowed.code.allows_command(code):
            self._findings.dropped_commands.append(code.strip())
            code = f"# {REMOVED_COMMAND}"
        elif self._claims:
            fence.used.extend(self._allowed.code.unknown_names(code))
            fence.defined |= defined_names(code)
        return fence.quote + code

    def _close(self, fence: _Fence) -> str:
        """Close a code block, and list below it the names that no source has."""
        self._fence = None
        closed = fence.quote + fence.sign
        unknown = [name for name in dict.fromkeys(fence.used) if name.split(".")[0] not in fence.defined]
        if not unknown or self._claims is None:
            return closed
        self._claims.findings.unsupported.extend(f"`{name}`" for name in unknown)
        return f"{closed}\n{fence.quote}{unknown_names_note(unknown[:NAMES_LISTED])}\n"


def clean_quote(text: str, passages: Sequence[Hit], allowed: AllowedContent | None = None) -> str:
    """Return a passage's own Markdown, made safe for an answer; its bracketed numbers are no citations."""
    check = AnswerCheck(passages, quoting=True, allowed=allowed)
    return check.feed(text) + check.finish()


def _nothing_open(text: str) -> bool:
    """Return True if no code span, bracket or tag is open at the end of the text."""
    text = CODE_SPAN.sub("", text)
    return (
        "`" not in text
        and text.count("[") == text.count("]")
        and text.count("(") == text.count(")")
        and text.rfind("<") <= text.rfind(">")
    )


def _is_open(text: str) -> bool:
    """Return True if the bracket at the start of the text is open and may still become a citation."""
    depth = 0
    for sign in text[:MAX_CITATION_CHARACTERS]:
        depth += (sign in _OPENERS[:-1]) - (sign in _CLOSERS)
        if depth <= 0 and sign in _CLOSERS:
            return False
    return len(text) < MAX_CITATION_CHARACTERS
