"""Two hundred answers in every shape, each rendered, checked against Slack's rules and read again by another parser."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from lore.slackbot.render import StreamRenderer, render, unfinished
from lore.slackbot.render.splitting import MOST_BYTES
from lore.visible_text import UNSEEN

from tests.slackbot.render.block_rules import message_problems
from tests.slackbot.render.reading import answer, cited, code_of, letters, markdown_of, mentions, misread, words
from tests.slackbot.render.samples import HOSTILE, matrix

ANSWERS = dict(matrix())
BELOW = (
    {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": "opinion",
                "positive_button": {"text": {"type": "plain_text", "text": "Helpful"}, "value": "1"},
                "negative_button": {"text": {"type": "plain_text", "text": "Not helpful"}, "value": "0"},
            }
        ],
    },
)
SOURCES = [cited(1), cited(2, HOSTILE, "https://docs.example/b|c>d", heading="a]b`c`|<!here>")]


def test_there_are_two_hundred() -> None:
    assert len(ANSWERS) >= 200


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_keeps_the_rules_calls_nobody_and_says_all_its_words(name: str) -> None:
    text = ANSWERS[name]
    messages = render(answer(text, SOURCES), blocks_below=BELOW)

    for message in messages:
        assert message_problems(message.blocks, message.text) == []
        assert mentions(message) == []
        assert misread(markdown_of(message)) == []
        assert len(markdown_of(message).encode()) <= MOST_BYTES
    assert [block["type"] for block in messages[-1].blocks] == ["markdown", "context", "context_actions"]
    whole = "\n".join(map(markdown_of, messages))
    if not text.translate(UNSEEN).strip():
        assert len(messages) == 1
    elif len(messages) == 1 and not name.startswith("soup") and not {"links", "hostile"} & set(name.split("_")):
        assert words(whole) == words(text)
    else:
        assert _in_order(letters(text), letters(whole))
    if not name.startswith("soup"):
        assert _solid(code_of(whole)) == _solid(code_of(text.translate(UNSEEN)))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if number % 5 else []) for number, name in enumerate(ANSWERS)]
)
def test_a_stream_ends_as_the_message_that_is_posted_whole(name: str) -> None:
    text = ANSWERS[name]
    expected = render(answer(text, SOURCES), blocks_below=BELOW)
    choose = random.Random(name)
    longest = choose.choice((1, 7, 60, 900)) if len(text) < 2_000 else 900
    stream, streamed, position = StreamRenderer(), "", 0
    while position < len(text):
        length = choose.randint(1, longest)
        streamed += stream.feed(text[position : position + length])
        position += length
    ending = stream.finish(answer(text, SOURCES), blocks_below=BELOW)

    assert streamed + ending.piece == markdown_of(expected[0])
    assert (ending.blocks, ending.text) == (expected[0].blocks[1:], expected[0].text)
    assert list(ending.following) == expected[1:]


@pytest.mark.parametrize("name", [name for name, text in ANSWERS.items() if len(text) < 3_000])
def test_an_unfinished_answer_is_well_formed_wherever_it_stops(name: str) -> None:
    text = ANSWERS[name]
    for share in (0.2, 0.5, 0.8):
        message = unfinished(text[: int(len(text) * share)])

        assert message_problems(message.blocks, message.text) == []
        assert mentions(message) == []
        assert misread(markdown_of(message)) == []


def test_pieces_grow_and_are_never_taken_back() -> None:
    text = ANSWERS["long_15000_1"]
    parts = [unfinished(text[:length]) for length in range(0, 9_000, 450)]

    for before, after in pairwise(map(markdown_of, parts[1:])):
        shared = before.rstrip("`\n*")
        assert after.startswith(shared[: max(0, len(shared) - 4)])


def _solid(code: list[str]) -> str:
    return "".join("".join(code).split())


def _in_order(wanted: str, text: str) -> bool:
    """Whether the letters stand in the text in this order; what is repeated at a cut may stand between."""
    rest = iter(text)
    return all(letter in rest for letter in wanted)
