"""The beginning of an output, decided before it leaves: a label, an echo, JSON, a fence around it all, or text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore.models.schemas import first_object
from lore.types import Message

__all__ = ["Opening"]

_LABEL = re.compile(
    r"\s*(?:[*_#]{1,4}\s*)?(?:assistant|ai assistant|answer|final answer|response|lore)\s*(?:[*_]{1,3})?\s*[:：]"
    r"(?:[*_]{1,3})?\s*",
    re.IGNORECASE,
)
_LABELS = ("assistant:", "ai assistant:", "answer:", "final answer:", "response:", "lore:")
_ALOUD = (
    "okay,",
    "okay.",
    "okay so",
    "ok, ",
    "alright",
    "hmm",
    "wait,",
    "let me ",
    "we need to",
    "we are asked",
    "we have to",
    "the user ",
    "user asks",
    "i need to",
    "i should",
    "the question asks",
    "the question is",
    "so the user",
    "so, the",
    "好的",
    "嗯",
    "首先",
    "用户",
    "まず",
)
"""Openings of reasoning whose opening tag the server has swallowed, in lower case."""
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*\n")
_WRAPPERS = frozenset(("markdown", "md"))
_DOUBTFUL = frozenset(("", "text", "txt", "plaintext", "plain", "json"))
_CITED_PROSE = re.compile(r"[.!?\w`)]\s?(?:\[\d{1,2}\]|【\d)[.!?]?\s*$|[.!?]\s?\[\d{1,2}\]", re.MULTILINE)
_ANSWER_KEYS = ("answer", "response", "reply", "text", "content", "output", "message", "result", "final_answer")
MIN_ECHO_CHARACTERS = 20


class Opening:
    """Holds the beginning of an output until it is decided, and takes off the wrapper of a whole answer."""

    def __init__(self, messages: Sequence[Message], *, hold: bool) -> None:
        self._echoes = _echoes(messages)
        self._hold = hold
        self._held = ""
        self._decided = False
        self._unwrapping = False
        self._inner = False
        self.has_left = False

    def drop(self) -> None:
        """Forget everything held: it was reasoning."""
        self._held, self._hold = "", False

    def feed(self, text: str) -> str:
        if self._decided and not self._unwrapping:
            return self._left(text)
        self._held += text
        return self._unwrapped() if self._unwrapping else self._decide(final=False)

    def finish(self) -> str:
        text = "" if self._decided else self._decide(final=True)
        rest, self._held = self._held, ""
        return text + self._left("" if self._unwrapping and not self._inner and _is_fence(rest) else rest)

    def _decide(self, *, final: bool) -> str:
        """Return what may leave, "" while undecided."""
        self._held = self._without_prefix(self._held, final=final)
        text = self._held.lstrip()
        fence = _FENCE.match(text)
        if not final and (not text or self._hold or self._may_grow(text) or _must_wait(text, fence)):
            return ""
        if final and any(echo.startswith(text.rstrip()) for echo in self._echoes if len(text) >= MIN_ECHO_CHARACTERS):
            text = ""
        self._decided = True
        if fence and fence[2].lower() in _WRAPPERS:
            self._unwrapping, self._held = True, text[fence.end() :]
            return self._unwrapped()
        self._held = ""
        if fence and fence[2].lower() in _DOUBTFUL:
            return self._left(_unfenced(text, fence))
        return self._left(_answer_in_json(text) if text[:1] in ("{", "[") else text)

    def _may_grow(self, text: str) -> bool:
        """Return True while the text may still become a label or an echo, or is reasoning aloud."""
        lower = text.lower()
        bare = lower.lstrip("*_# ")
        return (
            any(label.startswith(bare) for label in _LABELS)
            or _LABEL.fullmatch(text) is not None
            or any(echo.startswith(text) for echo in self._echoes)
            or any(start.startswith(lower) or lower.startswith(start) for start in _ALOUD)
        )

    def _without_prefix(self, text: str, *, final: bool) -> str:
        before = None
        while before != text:
            before = text
            if (label := _LABEL.match(text)) and (final or label.end() < len(text)):
                text = text[label.end() :]
            for echo in self._echoes:
                if text.lstrip().startswith(echo):
                    text = text.lstrip()[len(echo) :]
        return text

    def _unwrapped(self) -> str:
        """Return the whole lines held, without the fence that closes the wrapper."""
        *lines, self._held = self._held.split("\n")
        kept = ""
        for place, line in enumerate(lines):
            if not _is_fence(line):
                kept += f"{line}\n"
            elif self._inner or line.strip().strip("`~"):
                self._inner = not self._inner
                kept += f"{line}\n"
            else:
                self._unwrapping = False
                kept, self._held = kept + "\n".join([*lines[place + 1 :], self._held]), ""
                break
        return self._left(kept)

    def _left(self, text: str) -> str:
        self.has_left = self.has_left or bool(text.strip())
        return text


def _echoes(messages: Sequence[Message]) -> list[str]:
    """Return the parts of a request that a model may repeat before it answers, longest first."""
    parts: list[str] = []
    for message in (*messages[:1], *messages[-1:]):
        text = message.content.strip()
        parts += [text, *(text.split("\n\n")[-2:] if message.role == "user" else [text.split("\n")[0]])]
        parts += re.findall(r"<question>\n?(.+?)\n?</question>", text, re.DOTALL)
    return sorted({part.strip() for part in parts if len(part.strip()) >= MIN_ECHO_CHARACTERS}, key=len, reverse=True)


def _is_fence(line: str) -> bool:
    return re.match(r"\s*(?:`{3,}|~{3,})", line) is not None


def _must_wait(text: str, fence: re.Match[str] | None) -> bool:
    """Return True while a text may still be JSON, or wholly in a fence."""
    if text[0] == "{" or (text[0] == "[" and (text[1:].lstrip()[:1] or "{") in '{"'):
        return True
    if not fence:
        return text[0] in "`~" and "\n" not in text
    if fence[2].lower() not in _DOUBTFUL:
        return False
    closing = _closing(text, fence)
    return closing is None or not text[closing.end() :].strip()


def _closing(text: str, fence: re.Match[str]) -> re.Match[str] | None:
    return re.compile(rf"^[ \t]*{re.escape(fence[1])}[ \t]*(?:\n|\Z)", re.MULTILINE).search(text, fence.end())


def _unfenced(text: str, fence: re.Match[str]) -> str:
    """Return the content of a fence that is around the whole answer, else the text as it is."""
    closing = _closing(text, fence)
    inside = text[fence.end() : closing.start() if closing else len(text)].strip()
    after = text[closing.end() :].strip() if closing else ""
    if inside[:1] in ("{", "["):
        answer = _json_answer(inside)
        return text if answer is None else answer
    return inside if not after and _CITED_PROSE.search(inside) else text


def _answer_in_json(text: str) -> str:
    """Return the answer of an output in JSON, "" for JSON without one, and any other text as it is."""
    answer = _json_answer(text)
    if answer is not None:
        return answer
    looks_like_json = re.match(r"\{\s*[\"']\w+[\"']\s*:|\[\s*[{\"]", text)
    return "" if looks_like_json else text


def _json_answer(text: str) -> str | None:
    """Return the text under a usual key of the first JSON object, or None."""
    value = first_object(text)
    if not isinstance(value, dict):
        return None
    by_key = {str(key).lower(): one for key, one in value.items()}
    return next((by_key[key] for key in _ANSWER_KEYS if isinstance(by_key.get(key), str)), None)
