"""Output of language models as the text that they mean: without reasoning, chat tokens, echoes and wrappers.

Streams and whole replies take the same way. Code spans and code blocks of an answer stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lore.models.output.opening import Opening
from lore.types import Message

__all__ = ["OutputReader", "untagged_reasoning", "without_reasoning"]


@dataclass(frozen=True, slots=True)
class _Hidden:
    """A stretch of output that is not for readers: patterns of its start and its end."""

    start: re.Pattern[str]
    end: re.Pattern[str]


_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think|tool_call"
_CLOSING = rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
_FINAL = r"<\|(?:end|start)\|>[^<]{0,40}<\|channel\|>final[^<]{0,40}<\|message\|>"
_AT_LINE = r"(?:^|(?<=\n))[ \t]*"
_HIDDEN = (
    _Hidden(
        re.compile(rf"{_AT_LINE}(?:<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)", re.IGNORECASE),
        re.compile(rf"(?:{_CLOSING})\s*", re.IGNORECASE),
    ),
    _Hidden(
        re.compile(r"<\|channel\|>(?!final)[^<]{0,80}<\|message\|>"),
        re.compile(rf"{_FINAL}|<\|channel\|>final[^<]{{0,40}}<\|message\|>|<\|end\|>(?!<\|start\|>|\Z)"),
    ),
    _Hidden(re.compile(r"\A\s*analysis(?=[A-Z])"), re.compile(r"assistantfinal:?\s*")),
)
_ORPHAN = re.compile(rf"(?:{_CLOSING})\s*", re.IGNORECASE)
_TURN = re.compile(
    r"<\|im_start\|>(?:assistant)?\n?(?!user|system)|<\|start_header_id\|>assistant<\|end_header_id\|>\s*"
    r"|<\|assistant\|>\n?|<start_of_turn>model\n?|<\|(?:begin|end)_of_solution\|>\n?|<\|begin_of_text\|>"
    r"|<\|start\|>(?:assistant)?|<\|channel\|>final[^<]{0,40}<\|message\|>|<\|message\|>"
)
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|return|end|call|user|system)\|>|<(?:end_of_turn|eos)>"
    r"|<\|im_start\|>(?:user|system)|<start_of_turn>user|(?:^|(?<=\n))(?:#{1,3} )?Human:"
)
_UNFINISHED = re.compile(
    r"(?:<[|/]?[\w|:]{0,30}|\[/?T?H?I?N?K?|◁[\w/]{0,8}|(?:^|(?<=\n))(?:#{1,3} ?)?H?u?m?a?n?)\Z", re.I
)
_UNFINISHED_TURN = re.compile(r"<\|(?:im_)?start\|>\w{0,9}")
_UNFINISHED_HARMONY = re.compile(r"<\|(?:channel|start|end)\|>[^\n]{0,80}\Z")


class OutputReader:
    """Reads one output piece by piece: `feed` pieces, then `finish`. Both return text for readers.

    `messages` is the request, whose echo is left out. With `hold` nothing leaves before the end: the model is known to
    think without an opening tag. `leaked` says that such thinking was noticed too late, and `thought` that the
    output had reasoning.
    """

    def __init__(self, messages: Sequence[Message] = (), *, hold: bool = False) -> None:
        self._opening = Opening(messages, hold=hold)
        self._pending = ""
        self._hidden: _Hidden | None = None
        self._code = _CodeTracker()
        self._ended = False
        self.thought = False
        self.thinks_untagged = False
        self.leaked = False

    def feed(self, piece: str) -> str:
        """Return the text that may leave now."""
        self._pending += piece
        return "".join(self._opening.feed(text) for text in self._read(final=False))

    def finish(self) -> str:
        """Return the rest of the text."""
        text = "".join(self._opening.feed(text) for text in self._read(final=True))
        return text + self._opening.finish()

    def _read(self, *, final: bool) -> Iterator[str]:
        while self._pending and not self._ended:
            if self._hidden:
                end = self._hidden.end.search(self._pending)
                if not end:
                    self._pending = "" if final else self._pending
                    return
                self._hidden, self._pending = None, self._pending[end.end() :]
                continue
            event = self._next_event()
            if event is None:
                keep = self._unfinished() if not final else len(self._pending)
                text, self._pending = self._pending[:keep], self._pending[keep:]
                yield self._code.passed(text)
                return
            match, kind = event
            if not final and _UNFINISHED_TURN.fullmatch(self._pending, match.start()):
                text, self._pending = self._pending[: match.start()], self._pending[match.start() :]
                yield self._code.passed(text)
                return
            text, self._pending = self._pending[: match.start()], self._pending[match.end() :]
            if isinstance(kind, _Hidden):
                self._hidden, self.thought = kind, True
                yield self._code.passed(text)
            elif kind == "orphan":
                self.thought = self.thinks_untagged = True
                self.leaked = self.leaked or self._opening.has_left
                self._opening.drop()
                self._code = _CodeTracker()
            else:
                yield self._code.passed(text)
                self._ended = kind == "end"

    def _next_event(self) -> tuple[re.Match[str], _Hidden | str] | None:
        """Return the first marker in the pending text that is not code, with its meaning."""
        kinds: list[tuple[re.Pattern[str], _Hidden | str]] = [(hidden.start, hidden) for hidden in _HIDDEN]
        if self._code.any_text or self._opening.has_left:
            kinds.pop()  # "analysis" only opens a whole output
        kinds += [(_ORPHAN, "orphan"), (_END, "end"), (_TURN, "turn")]
        found = []
        for place, (pattern, kind) in enumerate(kinds):
            for match in pattern.finditer(self._pending):
                if match.start() == 0 and not self._code.at_line_start and (place == 0 or "Human" in match[0]):
                    continue
                if match[0] and not self._code.is_code_after(self._pending[: match.start()]):
                    found.append((match.start(), place, match, kind))
                    break
        return min(found, key=lambda one: one[:2])[2:] if found else None

    def _unfinished(self) -> int:
        """Return where a marker may have begun at the end of the pending text, else its end."""
        for pattern in (_UNFINISHED_HARMONY, _UNFINISHED):
            match = pattern.search(self._pending)
            if match and not self._code.is_code_after(self._pending[: match.start()]):
                return match.start()
        if not self._code.any_text and "analysis".startswith(self._pending.strip()):
            return 0
        return len(self._pending)


class _CodeTracker:
    """Knows whether text ends inside a code span or a code block."""

    def __init__(self) -> None:
        self._fence = ""
        self._line = ""
        self.any_text = False

    @property
    def at_line_start(self) -> bool:
        return not self._line.strip()

    def passed(self, text: str) -> str:
        """Take text that leaves, and return it."""
        self.any_text = self.any_text or bool(text.strip())
        self._fence, self._line = self._after(text)
        return text

    def is_code_after(self, text: str) -> bool:
        """Return True if code is open after this further text."""
        fence, line = self._after(text)
        return bool(fence) or line.count("`") % 2 == 1

    def _after(self, text: str) -> tuple[str, str]:
        fence = self._fence
        *lines, last = (self._line + text).split("\n")
        for line in lines:
            sign = re.match(r"\s*(?:>\s*|[-*+]\s+|\d+[.)]\s+)*(`{3,}|~{3,})", line)
            if not sign:
                continue
            wrapper = re.fullmatch(r"\s*`{3,}\s*(?:markdown|md|text|txt|plain\w*|json)?\s*", line) and not self.any_text
            if not wrapper:
                fence = "" if fence else sign[1]
        return fence, last


def untagged_reasoning(text: str) -> int:
    """Return the length of reasoning at the start of a whole reply that has a closing tag alone, 0 without it."""
    last = next(reversed(list(_ORPHAN.finditer(text))), None)
    if last is None or any(hidden.start.search(text, 0, last.start()) for hidden in _HIDDEN):
        return 0
    return last.end()


def without_reasoning(text: str) -> str:
    """Return a whole reply without reasoning and chat tokens; JSON stays as it is."""
    kept, text = "", text[untagged_reasoning(text) :]
    while text:
        found = [
            (match.start(), place, match)
            for place, hidden in enumerate(_HIDDEN)
            if (match := hidden.start.search(text))
        ]
        if not found:
            kept += text
            break
        _, place, match = min(found)[:3]
        end = _HIDDEN[place].end.search(text, match.end())
        kept, text = kept + text[: match.start()], text[end.end() :] if end else ""
    return _TURN.sub("", kept)
