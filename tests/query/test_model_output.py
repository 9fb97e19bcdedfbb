"""Shapes of model output, over a server in OpenAI's format: the text that reaches the reader, however it is cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from lore.models.chat import LangChainChatModel
from lore.types import Answer

from tests.fakes import FakeEmbedder
from tests.query.fakes import MemoryIndex, pipeline_over
from tests.query.setup import CHUNKS, PLAN, QUESTION
from tests.servers.model_apis.models import Fault
from tests.servers.model_apis.openai import OpenAIServer

SAID = "Rotate the API key under Settings [1]."
MORE = f"{SAID}\n\nThe old key works for a day [1]."
LIST = "Rotate the API key [1]:\n\n- under Settings [1]\n- the old key works for a day [1]"
THOUGHT = "Okay, the user asks about SECRETS. [1] says Settings, I think."
FENCED_CODE = f"{SAID}\n\n```sh\nlore key rotate\n```"

SHAPES: dict[str, tuple[str, str]] = {
    "plain": (SAID, SAID),
    "reasoning in tags": (f"<think>\n{THOUGHT}\n</think>\n\n{SAID}", SAID),
    "reasoning in other tags": (f"<reasoning>{THOUGHT}</reasoning>{SAID}", SAID),
    "reasoning without opening tag": (f"{THOUGHT}\n</think>\n\n{SAID}", SAID),
    "reasoning in brackets": (f"[THINK]{THOUGHT}[/THINK]{SAID}", SAID),
    "reasoning twice": (
        f"<think>{THOUGHT}</think>{SAID}\n\n<think>{THOUGHT}</think>\nThe old key works for a day [1].",
        MORE,
    ),
    "empty reasoning": (f"<think>\n\n</think>\n\n{SAID}", SAID),
    "harmony channels": (
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{SAID}<|return|>",
        SAID,
    ),
    "harmony without its tokens": (f"analysisWe see SECRETS in [1].assistantfinal{SAID}", SAID),
    "whole answer in a fence": (f"```markdown\n{MORE}\n```", MORE),
    "whole answer in a fence, with code": (f"```markdown\n{FENCED_CODE}\n```\n", FENCED_CODE),
    "whole answer in a fence without language": (f"```\n{MORE}\n```", MORE),
    "code block first": (f"```sh\nlore key rotate\n```\n\n{SAID}", f"```sh\nlore key rotate\n```\n\n{SAID}"),
    "prefix": (f"Assistant: {SAID}", SAID),
    "bold prefix": (f"**Answer:** {SAID}", SAID),
    "next turn": (f"{SAID}<|im_end|>\n<|im_start|>user\nSECRETS?", SAID),
    "turn tokens": (f"<|im_start|>assistant\n{SAID}<|im_end|>", SAID),
    "raw JSON": (json.dumps({"answer": MORE, "confidence": 0.9}), MORE),
    "JSON in a fence": (f"```json\n{json.dumps({'answer': SAID})}\n```", SAID),
    "echoed question": (f"<question>\n{QUESTION.text}\n</question>\n\n{SAID}", SAID),
    "lenticular citations": (SAID.replace("[1]", "【1】"), SAID),
    "citations with daggers": (SAID.replace("[1]", "【1†source】"), SAID),
    "lists of citations": (SAID.replace("[1]", "[1, 2]"), SAID.replace("[1]", "[1][2]")),
    "ranges of citations": (SAID.replace("[1]", "[1-2]"), SAID.replace("[1]", "[1][2]")),
    "footnotes": (SAID.replace("[1]", "[^1]"), SAID),
    "named citations": (SAID.replace("[1]", "[Source 1]"), SAID),
    "citations in round brackets": (SAID.replace("[1]", "(1)"), SAID),
    "list": (LIST, LIST),
}
"""Name → output of the model, and the text that reaches the reader."""

FAILURES: dict[str, tuple[str, str]] = {
    "nothing": ("", "empty answer"),
    "blanks": ("  \n\n ", "empty answer"),
    "reasoning alone": (f"<think>{THOUGHT}", "no answer"),
    "reasoning that is cut": (f"<think>\n{THOUGHT}\nThen", "no answer"),
    "JSON without an answer": (json.dumps({"question": "SECRETS", "wordings": []}), "no answer"),
    "a tool call": ('<tool_call>{"name": "SECRETS"}</tool_call>', "no answer"),
    "echo alone": (f"<question>\n{QUESTION.text}\n</question>", "no answer"),
    "a line again and again": (
        "\n".join(f"{n}. Press the button in the Settings." for n in range(1, 80)),
        "repeated itself",
    ),
    "words again and again": (SAID + " Press and press" * 200, "repeated itself"),
}
"""Name → output, and a piece of the note that says what was wrong with it."""

CUTS: dict[str, Callable[[str], list[str]]] = {
    "whole": lambda text: [text],
    "by characters": list,
}


def ask(output: str, cut: str, plan: str | None = None, fault: Fault | None = None) -> Answer:
    def reply(body: dict[str, Any]) -> str:
        if body.get("stream"):
            return output
        return json.dumps(PLAN) if plan is None else plan

    embedder = FakeEmbedder(dimensions=512)
    with OpenAIServer(reply, pieces=CUTS[cut]) as server:
        if fault:
            server.faults.extend((Fault(), fault))
        chat = LangChainChatModel("openai:tiny", api_key="k", base_url=server.base_url, timeout=10, max_retries=0)
        return pipeline_over(MemoryIndex(CHUNKS, embedder), embedder, None, chat).ask(QUESTION)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_answer_reaches_the_reader(shape: str, cut: str) -> None:
    output, expected = SHAPES[shape]
    answer = ask(output, cut)
    assert re.sub(r"\n{3,}", "\n\n", answer.text.strip()) == expected  # blank lines say nothing
    assert answer.citations
    assert not [note for note in answer.trace.notes if "failed" in note]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("shape", FAILURES)
def test_no_answer_ends_in_quotations_and_an_honest_message(shape: str, cut: str) -> None:
    output, says = FAILURES[shape]
    answer = ask(output, cut)
    assert "The language model failed" in answer.text
    assert "SECRETS" not in answer.text
    assert len(answer.text) < 3_000
    assert any(says in note for note in answer.trace.notes)


@pytest.mark.parametrize("cut", CUTS)
def test_what_looks_like_a_marker_or_a_citation_in_code_stays(cut: str) -> None:
    code = "`argv[1]`, `<think>`, `<|im_end|>` and `(1)`"
    block = "```python\n# </think>\nx = argv[1]  # (1)\n```"
    answer = ask(f"{SAID} There is {code}.\n\n{block}\n\nThe default is 8 (8).", cut)
    for kept in ("`argv[1]`", "`<think>`", "`<|im_end|>`", "`(1)`", "# </think>\nx = argv[1]  # (1)\n", "8 (8)."):
        assert kept in answer.text
    assert [citation.number for citation in answer.citations] == [1]


def test_reasoning_in_a_field_of_its_own_stays_there() -> None:
    def think(event: dict[str, Any]) -> None:
        for choice in event["choices"]:
            choice["delta"]["reasoning_content"] = THOUGHT

    assert ask(SAID, "whole", fault=Fault(change=think)).text.strip() == SAID


def test_a_cut_answer_says_so() -> None:
    def cut(event: dict[str, Any]) -> None:
        for choice in event["choices"]:
            choice["finish_reason"] = choice["finish_reason"] and "length"

    answer = ask(SAID, "whole", fault=Fault(change=cut))
    assert "The language model failed here" in answer.text
    assert any("length limit" in note for note in answer.trace.notes)


@pytest.mark.parametrize(
    "plan",
    [
        '<think>First {"question": "SECRETS"}</think>' + json.dumps(PLAN),
        'The user wants {"question": "SECRETS", "wordings": ["SECRETS"]}.\n</think>\n' + json.dumps(PLAN),
        f"<|channel|>analysis<|message|>SECRETS<|end|><|start|>assistant<|channel|>final<|message|>{json.dumps(PLAN)}",
        f"Here is the plan:\n```json\n{json.dumps(PLAN)}\n```\nGood luck!",
        json.dumps(PLAN)[:-1] + ",}",
        json.dumps(PLAN).replace("]", ", ]"),
    ],
)
def test_a_plan_is_read_without_what_is_around_it(plan: str) -> None:
    answer = ask(SAID, "whole", plan)
    assert answer.trace.plan.wordings == tuple(PLAN["wordings"])
    assert answer.text.strip() == SAID


def test_a_plan_that_is_reasoning_alone_is_the_question() -> None:
    answer = ask(SAID, "whole", '<think>SECRETS {"question": "SECRETS"}')
    assert answer.trace.plan.wordings == (QUESTION.text,)


@pytest.mark.parametrize("cut", CUTS)
def test_a_model_whose_plan_has_a_closing_tag_alone_is_not_streamed(cut: str) -> None:
    plan = f"Something about SECRETS.\n</think>\n{json.dumps(PLAN)}"
    answer = ask(f"Something about SECRETS that opens like an answer.\n</think>\n\n{SAID}", cut, plan)
    assert answer.text.strip() == SAID


def test_reasoning_that_is_noticed_late_ends_the_answer() -> None:
    answer = ask(f"Something that opens like an answer.\n</think>\n\n{SAID}", "by characters")
    assert "The language model failed here" in answer.text
    assert any("reasoning into the answer" in note for note in answer.trace.notes)
