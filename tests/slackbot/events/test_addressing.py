"""What a message wants by its words: an answer, thanks, agreement."""

from __future__ import annotations

import pytest
from lore.declarations import SlackRules
from lore.slackbot.events.addressing import is_acknowledgement, is_question, is_thanks
from lore.slackbot.events.incoming import Ignored

from tests.slackbot.events.bodies import ROOT, asked, body, channel, mention, read

QUESTIONS = (
    "And on Windows?", "how do I rotate a key", "ok, what about version 3", "can we use it offline", "thanks! and how?",
    "is there a limit", "Does 2.7 do that", "show me the config", "well, why not", "これは？",
    "so it's gone?!",
    "explain the second step", "Where is it",
)  # fmt: skip
THANKS = (
    "thanks", "Thanks!", "thank you so much :tada:", "thx, great answer", "perfect", "Great, thanks a lot!",
    "danke dir", "merci beaucoup", "gracias", "awesome :+1:", "Thanks, that works now", "cheers, very helpful",
)  # fmt: skip
AGREES = (
    "ok", "got it", "okay, will do",
    "Thanks, that solved my trouble with the scheduler",
    "yes", "understood", "done", "ok, trying that",
)  # fmt: skip
NEITHER = (
    "I get E42 then", "when I tried that it failed", "Bob knows", "I mean version 3", "what a mess",
    "thanks, but it fails",
    "see https://docs.example.com/a?b=c", "```\nSELECT ? FROM t\n```", "`a?`",
    "great tools have docs for all of their parts",
    "", ":tada:",
)  # fmt: skip


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question(text: str) -> None:
    assert is_question(text)
    assert not is_thanks(text) and not is_acknowledgement(text)


@pytest.mark.parametrize("text", THANKS)
def test_thanks_are_answered_nowhere(text: str) -> None:
    assert is_thanks(text) and is_acknowledgement(text) and not is_question(text)
    for given in (body(text), mention(f"<@UBOT> {text}"), channel(text, thread_ts=ROOT)):
        assert isinstance(read(given), Ignored)


@pytest.mark.parametrize("text", AGREES)
def test_agreement_is_no_thanks_to_the_bot_alone(text: str) -> None:
    assert is_acknowledgement(text) and not is_thanks(text)
    assert asked(body(text)).text == text
    assert isinstance(read(channel(text, thread_ts=ROOT)), Ignored)


@pytest.mark.parametrize("text", NEITHER)
def test_everything_else(text: str) -> None:
    assert not is_question(text) and not is_thanks(text) and not is_acknowledgement(text)


class TestRules:
    RULES = SlackRules.model_validate(
        {"answers": "mention", "channels": {"C1": {"answers": "thread"}, "C2": {"answers": "auto"}}}
    )

    @pytest.mark.parametrize(
        ("where", "text", "event", "via"),
        [
            ("C1", "And on Windows?", {"thread_ts": ROOT}, "thread"),
            ("C1", "How do I deploy?", {}, ""),
            ("C2", "How do I deploy?", {}, "auto"),
            ("C2", "I deployed it.", {}, ""),
            ("C2", "<@U2> how do I deploy?", {}, ""),
            ("C2", "And on Windows?", {"thread_ts": ROOT}, ""),
            ("C3", "How do I deploy?", {}, ""),
        ],
    )
    def test_each_channel_chooses(self, where: str, text: str, event: dict, via: str) -> None:
        found = read(channel(text, **{"channel": where, **event}), rules=self.RULES)
        assert getattr(found, "via", "") == via

    def test_where_only_mentions_count_a_thread_is_none(self) -> None:
        given = channel("And on Windows?", thread_ts=ROOT)
        assert asked(given).via == "thread"
        assert isinstance(read(given, rules=SlackRules(answers="mention")), Ignored)
        assert asked(channel("<@UBOT> and on Windows?"), rules=SlackRules(answers="mention")).via == "mention"

    def test_a_group_direct_message_is_no_channel(self) -> None:
        given = channel("How do I deploy?", channel="C2", channel_type="mpim")
        assert isinstance(read(given, rules=self.RULES), Ignored)
