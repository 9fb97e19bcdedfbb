"""The check of an answer, in code: whatever a model wrote, only this leaves.

Citations become `[n]` and stay when passage n exists; links and commands stay when a passage holds them; HTML is
escaped; a sentence that the passages it cites do not bear out is marked. What stands only in a passage that gives
orders to a language model counts as standing nowhere. An answer may come in pieces: a piece leaves as soon as nothing
that follows can change what it means. The result is Markdown for a renderer that has raw HTML and images switched off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lore.query.answer.quotes import cite
from lore.query.verify.allowed_content import Known, known_to
from lore.query.verify.citation_syntax import CHECKED, CITATION
from lore.query.verify.claims import Review, Statements, mark_names
from lore.query.verify.commands import REMOVED_COMMAND, bound_names, is_shell
from lore.query.verify.inline import REMOVED_FROM_CODE, Findings, clean_line
from lore.query.verify.support import Support
from lore.types import Check, Citation, Hit
from lore.visible_text import UNSEEN

__all__ = ["AnswerCheck", "citations_of", "clean_quote"]

_OPENING = re.compile(
    r"^(?P<quote>(?:[ ]{0,3}>(?:[ ]{0,4}>){0,9}[ ]?)?)(?P<indent>\s{0,80})"
    r"(?P<item>(?:(?:[-*+]|\d{1,9}[.)])\s{1,20}){0,9})(?P<fence>`{3,}|~{3,})(?P<info>.*)$"
)
"""A code block's first line. Deeper ones are none to us: their signs are escaped, and the time to look is bounded."""
_LANGUAGE = re.compile(r"[\w+#.\-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;])(?=\s)|(?<=[。！？])")
_VERDICT = re.compile(r"\s*[*_\"'(\[]*NOT_FOUND[*_\"')\].]*\s*", re.IGNORECASE)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_SHORTEST_PIECE = 20
_LONGEST_PIECE = 2_000
NAMES_TOLD = 5
_CITATIONS_AFTER = re.compile(rf"\s{{0,3}}(?:(?:{CITATION})\s{{0,2}})+", re.IGNORECASE | re.VERBOSE)
_OPENERS = "[【［〔(\\"
_CLOSERS = "]】］〕)"
_LONGEST_CITATION = 200


@dataclass(slots=True)
class _Fence:
    """An open code block: its closing sign, the indentation and quote signs that its lines share, its language; and the
    names that it has used and those that it has given a meaning to.
    """

    sign: str
    indent: int
    quote: str
    language: str
    used: list[str] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)


class AnswerCheck:
    """Checks an answer to `question` while it is written: `feed` pieces, `finish`, then read `result`.

    With `support` its sentences are reviewed as well. With `quoting` the text is a source's own. `known` is what
    `known_to` gives for these passages, where it is at hand.
    """

    def __init__(
        self,
        passages: Sequence[Hit],
        *,
        question: str = "",
        support: Support | None = None,
        quoting: bool = False,
        known: Known | None = None,
    ) -> None:
        self._quoting = quoting
        self._count = len(passages)
        self._known = known or known_to(passages, question)
        self._findings = Findings()
        texts = [hit.chunk.passage for hit in passages]
        self._statements = Statements(support, texts, question, self._known.code) if support else None
        self.gave_up = False
        """Whether a sentence of it was the verdict that the passages do not answer, which does not leave."""
        self._pending = ""
        self._returned = False
        self._looked_at = 0
        self._at_start = True
        self._fence: _Fence | None = None

    def feed(self, piece: str) -> str:
        """What may leave now, "" while it is undecided."""
        self._pending += self._lines(piece).translate(UNSEEN)
        cleaned = ""
        while (end := self._next_end()) is not None:
            unit, self._pending, self._looked_at = self._pending[:end], self._pending[end:], 0
            cleaned += self._clean(unit)
        return cleaned

    def finish(self) -> str:
        """What was still held back; a code block that was left open is closed."""
        rest, self._pending = self._pending, ""
        cleaned = self._clean(rest) if rest else ""
        if self._fence:
            cleaned += ("" if self._at_start and not rest else "\n") + self._close(self._fence)
        return cleaned

    def _lines(self, piece: str) -> str:
        """The piece with line feeds alone; whether a carriage return at its end is half a line's end shows later."""
        piece = "\r" * self._returned + piece
        self._returned = piece.endswith("\r")
        return piece.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    @property
    def result(self) -> Check:
        """What was kept and taken out so far."""
        review = self._statements.review if self._statements else Review()
        return Check(
            kept_citations=tuple(sorted(self._findings.kept)),
            dropped_citations=tuple(dict.fromkeys(self._findings.dropped_citations)),
            dropped_links=tuple(dict.fromkeys(self._findings.dropped_links)),
            dropped_commands=tuple(dict.fromkeys(self._findings.dropped_commands)),
            unsupported=tuple(dict.fromkeys(review.unsupported)),
            misquoted=tuple(dict.fromkeys(review.misquoted)),
            uncited=review.uncited,
            cited=review.cited,
            supported=review.supported,
        )

    def _next_end(self) -> int | None:
        """Where the next piece ends that can be judged on its own: a line, or a sentence with nothing left open.

        It depends on the text alone and not on how it came in, so that the same answer always leaves the same.
        """
        newline = self._pending.find("\n")
        line = self._pending if newline < 0 else self._pending[:newline]
        if self._fence or (self._at_start and _OPENING.match(line)):
            return None if newline < 0 else newline + 1
        for match in _SENTENCE_END.finditer(line[: _LONGEST_PIECE + 1], self._looked_at):
            if match.start() >= _SHORTEST_PIECE and _nothing_open(line[: match.start()]):
                return self._past_citations(line, match.start(), whole=newline >= 0)
        if len(line) > _LONGEST_PIECE:
            return self._forced_end()
        self._looked_at = max(0, len(line) - 1)
        return None if newline < 0 else newline + 1

    def _past_citations(self, line: str, end: int, *, whole: bool) -> int | None:
        """The end of a sentence with the citations behind its full stop; None while more of them may come."""
        following = _CITATIONS_AFTER.match(line, end)
        after = end + len(line[end : following.end()].rstrip()) if following else end
        rest = line[after:].lstrip()
        if not whole and (not rest or rest == "\\" or (rest[:1] in _OPENERS and _is_open(rest))):
            return None
        return end if line[after : after + 1] in ("(", "[", ":") else after  # a target or label belongs to its citation

    def _forced_end(self) -> int:
        """Cut an endless line at a space, or make one: nothing may grow together again across the cut."""
        space = self._pending.rfind(" ", 1, _LONGEST_PIECE)
        if space < 0:
            self._pending = f"{self._pending[:_LONGEST_PIECE]} {self._pending[_LONGEST_PIECE:]}"
            space = _LONGEST_PIECE
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
        if not self._quoting and _VERDICT.fullmatch(line):
            self.gave_up = True
            return ""
        cleaned = clean_line(line, self._known, self._count, self._findings, at_start=at_start, quoting=self._quoting)
        if self._statements and cleaned.strip():
            cleaned = self._statements.read(cleaned)
        return cleaned + newline

    def _open(self, opening: re.Match[str]) -> str:
        """Start a code block at the left margin, where no renderer can take it for anything else."""
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
        code = self._known.links.clean_code(code, REMOVED_FROM_CODE, self._findings.dropped_links)
        if is_shell(fence.language, code) and not self._known.code.allows_command(code):
            self._findings.dropped_commands.append(code.strip())
            code = f"# {REMOVED_COMMAND}"
        elif self._statements:
            fence.used.extend(self._known.code.unknown_names(code))
            fence.bound |= bound_names(code)
        return fence.quote + code

    def _close(self, fence: _Fence) -> str:
        """The end of a code block, with the names below it that are in no source."""
        self._fence = None
        closed = fence.quote + fence.sign
        unknown = [name for name in dict.fromkeys(fence.used) if name.split(".")[0] not in fence.bound]
        if not unknown or self._statements is None:
            return closed
        self._statements.review.unsupported.extend(f"`{name}`" for name in unknown)
        return f"{closed}\n{fence.quote}{mark_names(unknown[:NAMES_TOLD])}\n"


def citations_of(text: str, passages: Sequence[Hit], kept: Sequence[int], question: str) -> tuple[Citation, ...]:
    """The citations of a checked answer, by number; each quotes what bears out the lines that cite it."""
    lines: dict[int, list[str]] = {number: [] for number in kept}
    for line in text.splitlines():
        for number in dict.fromkeys(CHECKED.findall(line)):
            if int(number) in lines:
                lines[int(number)].append(line)
    return tuple(cite(number, passages[number - 1], " ".join([*lines[number], question])) for number in kept)


def clean_quote(text: str, passages: Sequence[Hit], known: Known | None = None) -> str:
    """A passage's own Markdown as it may stand in an answer: harmless, its bracketed numbers no citations."""
    check = AnswerCheck(passages, quoting=True, known=known)
    return check.feed(text) + check.finish()


def _nothing_open(text: str) -> bool:
    """Whether no code span, bracket or tag is open at the end of the text."""
    text = _CODE_SPAN.sub("", text)
    return (
        "`" not in text
        and text.count("[") == text.count("]")
        and text.count("(") == text.count(")")
        and text.rfind("<") <= text.rfind(">")
    )


def _is_open(text: str) -> bool:
    """Whether the bracket at the start of the text is not closed yet, so that it may become a citation."""
    depth = 0
    for sign in text[:_LONGEST_CITATION]:
        depth += (sign in _OPENERS[:-1]) - (sign in _CLOSERS)
        if depth <= 0 and sign in _CLOSERS:
            return False
    return len(text) < _LONGEST_CITATION
