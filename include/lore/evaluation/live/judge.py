"""The judge: a language model that compares an answer with a reference answer.

The answer was written by a model from pages that others wrote, so it is data here, as those pages are there. Three
things keep an answer from winning by asking. It is passed as a value of a JSON object, which no text in it can leave.
The prompt says that text addressed to the judge counts for nothing. And, since no prompt binds a model, sentences that
speak to a grader or give orders to a model are removed first. What is still graded wrongly is found by reading: the
report has every verdict with its reason.

Grading against a reference follows Zheng et al., "Judging LLM-as-a-judge with MT-Bench and Chatbot Arena", NeurIPS
2023, section 3.4: a judge with a reference at hand errs far less often.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from pydantic import BaseModel, Field

from lore.errors import ModelError
from lore.evaluation.live.results import VerdictName
from lore.prompts import read_prompt
from lore.protocols import ChatModel
from lore.query.verify.injection import contains_injection
from lore.types import Message, Usage

__all__ = ["TAKEN_OUT", "Judge", "Judgement", "judge_prompt_version"]

LONGEST_ANSWER = 12_000
LONGEST_REASON = 500
TAKEN_OUT = "[taken out: text that speaks to the judge]"

_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+(?=\s|$)|\n|$)\s*")
_GRADING = re.compile(
    r"\b(?:mark|grade|rate|judge|score|evaluate|treat|count|consider|accept|classify|label|deem)\s+"
    r"(?:this|it|me|(?:the|this|my|our|every|any|all|that|following|above)(?:\s+\w+)?\s+"
    r"(?:answer|response|reply|submission|text)s?)\b"
    r"[^\n]{0,80}\b(?:correct|right|full (?:marks|credit)|pass(?:ed)?|perfect|accurate|true)\b"
    r"|\bverdict\b\W{0,3}(?::|=|is\b|must\b|should\b)"
    r"|\b(?:grader|judge|evaluator|examiner)s?\s*[:,]"
    r"|\b(?:the|this|my) (?:answer|response|reply) (?:above |below )?(?:is|was) (?:\w+ )?correct\b",
    re.IGNORECASE,
)


class JudgeReply(BaseModel):
    """The judge's reply; the reason comes first, so that the verdict follows from it."""

    reason: str = Field(description="One sentence: what agrees with the reference and what differs.")
    verdict: Literal["correct", "partly", "wrong", "no answer"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason, or the failure that prevented one; `usage` is the cost of the call."""

    verdict: VerdictName | None
    reason: str = ""
    failure: str = ""
    usage: tuple[Usage, ...] = ()


def judge_prompt_version() -> str:
    """Return the first characters of the sha256 of the judge's prompt: only verdicts by one prompt compare."""
    return sha256(_prompt().encode()).hexdigest()[:12]


class Judge:
    """Compares answers with references, one structured call each."""

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def name(self) -> str:
        return self._chat_model.name

    def judge(self, question: str, reference: str, answer: str) -> Judgement:
        """Judge an answer. If the model fails, return a judgement without a verdict; never raise ModelError."""
        usage: list[Usage] = []
        asked = {"question": question, "reference": reference, "answer": _as_data(answer)}
        messages = [Message("system", _prompt()), Message("user", json.dumps(asked, ensure_ascii=False, indent=1))]
        try:
            reply = self._chat_model.structured(messages, JudgeReply, on_usage=usage.append)
        except ModelError as error:
            return Judgement(None, failure=str(error)[:LONGEST_REASON], usage=tuple(usage))
        reason = " ".join(reply.reason.split())[:LONGEST_REASON]
        return Judgement(reply.verdict, reason, usage=tuple(usage))


def _as_data(answer: str) -> str:
    """Return the answer without the sentences that address its judge."""
    answer = answer[:LONGEST_ANSWER]

    def kept(sentence: re.Match[str]) -> str:
        if not _GRADING.search(sentence[0]) and not contains_injection(sentence[0]):
            return sentence[0]
        return TAKEN_OUT + sentence[0][len(sentence[0].rstrip()) :]

    return _SENTENCE.sub(kept, answer)


def _prompt() -> str:
    return read_prompt("lore.evaluation.prompts", "judge")
