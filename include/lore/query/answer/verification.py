"""Verification of a written answer: one structured call on all statements that the check of words and meaning kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field

from lore.errors import ModelError
from lore.protocols import ChatModel, OnUsage
from lore.query.answer.prompt_sources import format_sources
from lore.query.answer.tokens import context_window
from lore.query.deadlines import TimeLimit
from lore.query.delimiters import escape_delimiters
from lore.query.prompts import load_prompt
from lore.query.retrieve.passages import SourcePassage
from lore.query.verify.citation_syntax import CHECKED
from lore.query.verify.claims import MARK
from lore.query.verify.statements import Statement
from lore.types import Message

__all__ = ["Verdict", "Verifier", "apply_verdicts"]

MAX_SOURCES_TOKENS = 4_000
MAX_STATEMENTS = 40
"""More statements than an answer has; the rest keeps the verdict of the check by words and meaning."""
OUTPUT_SHARE = 0.5
"""The share of the context for sources."""

Verdict: TypeAlias = Literal["supported", "partly", "not", ""]


def _verdict(value: Any) -> str:
    word = value.strip().lower() if isinstance(value, str) else ""
    return {"unsupported": "not", "not supported": "not", "no": "not", "contradicted": "not", "yes": "supported"}.get(
        word, word if word in ("supported", "partly", "not") else ""
    )


def _items(value: Any) -> list[Any]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    found = re.search(r"\d{1,4}", str(value))
    return int(found[0]) if found else 0


class _VerdictItem(BaseModel):
    statement: Annotated[int, BeforeValidator(_number)] = Field(0, description="The statement's number")
    words: Annotated[str, BeforeValidator(str)] = Field("", description="The words of its sources that decide")
    verdict: Annotated[Literal["supported", "partly", "not", ""], BeforeValidator(_verdict)] = Field(
        "", description="supported, partly or not"
    )


class VerifyReply(BaseModel):
    """The reply of the verifying call. A verdict that can't be read counts as missing."""

    verdicts: Annotated[list[_VerdictItem], BeforeValidator(_items)] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class VerifiedText:
    """An answer after its verdicts: its text, with statements taken out or marked."""

    text: str
    removed: tuple[str, ...]
    marked: tuple[str, ...]


class Verifier:
    """Judges statements by their cited sources with a language model, within `time`."""

    def __init__(self, chat_model: ChatModel, *, context_tokens: int | None, time: TimeLimit) -> None:
        self._chat_model = chat_model
        self._tokens = min(MAX_SOURCES_TOKENS, int(context_window(chat_model.name, context_tokens) * OUTPUT_SHARE))
        self._time = time

    @property
    def model(self) -> str:
        """The name of the language model."""
        return self._chat_model.name

    def request(
        self, statements: Sequence[Statement], sources: Sequence[SourcePassage], now: datetime
    ) -> list[Message]:
        """Return the call's messages; sources that no statement cites are left empty."""
        cited = {number for one in statements for number in one.numbers}
        kept = [source for number, source in enumerate(sources, start=1) if number in cited]
        places = {
            number: place for place, number in enumerate(sorted(cited & set(range(1, len(sources) + 1))), start=1)
        }
        listed = "\n".join(_statement(number, one, places) for number, one in enumerate(statements, start=1))
        text = f"{format_sources(kept, self._tokens, now)}\n\n<statements>\n{listed}\n</statements>"
        return [Message("system", load_prompt("verify")), Message("user", text)]

    def judge(self, messages: Sequence[Message], count: int, on_usage: OnUsage | None = None) -> list[Verdict]:
        """Return the verdict on each of `count` statements, "" where the reply has none. Raises ModelError."""
        call = partial(self._chat_model.structured, messages, VerifyReply, on_usage=on_usage)
        reply = self._time.call(call, f"The check by {self.model}")
        verdicts: list[Verdict] = [""] * count
        for item in reply.verdicts:
            if 1 <= item.statement <= count:
                verdicts[item.statement - 1] = item.verdict
        if not any(verdicts):
            raise ModelError(f"{self.model} judged no statement.")
        return verdicts


def apply_verdicts(text: str, judged: Sequence[tuple[Statement, Verdict]]) -> VerifiedText:
    """Return the answer without statements that are "not" supported, and with a mark at those "partly" supported."""
    removed, marked = [], []
    for statement, verdict in sorted(judged, key=lambda one: -one[0].start):
        piece = text[statement.start : statement.end]
        if verdict == "not":
            removed.append(statement.text)
            piece = ""
        elif verdict == "partly":
            marked.append(statement.text)
            piece = _marked(piece)
        text = text[: statement.start] + piece + text[statement.end :]
    lines = re.sub(r"\n[ \t]*\n(?:[ \t]*\n)+", "\n\n", text).strip()
    return VerifiedText(re.sub(r"(?m)(?<=\S)[ \t]+$", "", lines), tuple(reversed(removed)), tuple(reversed(marked)))


def _marked(piece: str) -> str:
    ends = [match.end() for match in CHECKED.finditer(piece)]
    end = ends[-1] if ends else len(piece.rstrip(" .!?|"))
    return f"{piece[:end]} {MARK}{piece[end:]}"


def _statement(number: int, one: Statement, places: dict[int, int]) -> str:
    cites = ", ".join(str(places[each]) for each in one.numbers if each in places)
    lead = f' completes="{escape_delimiters(one.lead, _TAGS).replace(chr(34), chr(39))}"' if one.lead else ""
    return f'<statement number="{number}" cites="{cites}"{lead}>{escape_delimiters(one.text, _TAGS)}</statement>'


_TAGS = ("source", "sources", "statement", "statements")
