"""Feedback: each person's last word on an answer is kept, once, and the maintainers hear of what did not help."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.slackbot.feedback.handlers import PRESSED, REASON, WHY, FeedbackHandlers, feedback_blocks
from lore.slackbot.feedback.maintainers import MaintainersChannel
from lore.slackbot.feedback.views import INPUT, MAX_REASON
from lore.types import Question

from tests.records.answers import full_answer
from tests.slackbot.fake_slack import BOT, FakeSlack

ANSWER = "a" * 32
TS = "1764500001.000100"
TRACE = "https://traces.example.com/{id}?tab=1"
START = 1_764_500_100.0

Body = dict[str, Any]


@dataclass
class Bot:
    """The handlers over a workspace in memory and records in a file; one answer is in #general (C1), asked by U1."""

    slack: FakeSlack
    records: Records
    feedback: FeedbackHandlers
    flushes: list[float] = field(default_factory=list)
    while_waiting: list[Callable[[], object]] = field(default_factory=list)

    def opinions(self, answer_id: str = ANSWER) -> list[tuple[str, bool, str]]:
        return sorted((one.asker, one.helpful, one.reason) for one in self.records.get(answer_id).feedback)

    def told(self) -> list[dict[str, Any]]:
        return self.slack.own("CMAINT")


def make_bot(slack: FakeSlack, records: Records, *, channel: str = "CMAINT", trace_url: str = "") -> Bot:
    places = PostedAnswers(records.engine)
    opinions = records.opinions()
    maintainers = MaintainersChannel(slack, opinions, records.get, channel=channel, trace_url=trace_url)
    waiting: list[Callable[[], object]] = []
    flushes: list[float] = []

    def pause(_: float) -> None:
        if waiting:
            waiting.pop(0)()

    def asker_of(answer_id: str) -> str:
        return records.get(answer_id).answer.question.asker

    feedback = FeedbackHandlers(
        slack,
        places,
        opinions,
        maintainers,
        me=BOT,
        asker_of=asker_of,
        flush=flushes.append,
        pause=pause,
        clock=lambda: START,
    )
    return Bot(slack, records, feedback, flushes, waiting)


@pytest.fixture
def slack() -> FakeSlack:
    slack = FakeSlack()
    slack.add_channel("C1", members=("U1", "U2"))
    slack.add_channel("CPRIV", members=("U1",), is_private=True)
    slack.add_channel("D1", members=("U1",))
    slack.add_channel("CMAINT", members=("U9",))
    for channel in ("C1", "CPRIV", "D1"):
        slack.say(channel, BOT.user, "An answer", ts=TS, thread_ts="1764500000.000100")
    return slack


def redact(text: str) -> str:
    return text.replace("hunter2", "[REDACTED]")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records with one answer, of which each test gets a copy."""
    file = tmp_path_factory.mktemp("records") / "records.db"
    with Records.open(f"sqlite:///{file}", redact) as records:
        question = Question("Where is <!channel> *the* key, hunter2?", asker="slack:T1:U1", surface="slack")
        records.add(full_answer(ANSWER, asker="slack:T1:U1", question=question))
        for channel in ("C1", "CPRIV", "D1", "CGONE"):
            PostedAnswers(records.engine).keep(
                "T1", channel, TS, thread_ts="1764500000.000100", answer_id=ANSWER, asker="slack:T1:U1"
            )
    return file


@pytest.fixture
def records(recorded: Path, tmp_path: Path) -> Iterator[Records]:
    with Records.open(f"sqlite:///{shutil.copy(recorded, tmp_path)}", redact) as records:
        yield records


@pytest.fixture
def bot(slack: FakeSlack, records: Records) -> Bot:
    return make_bot(slack, records)


def press(value: str, user: str = "U1", *, channel: str = "C1", at: float = START, action: str = PRESSED) -> Body:
    return {
        "type": "block_actions",
        "user": {"id": user, "team_id": "T1"},
        "team": {"id": "T1"},
        "trigger_id": f"trigger-{at}",
        "channel": {"id": channel},
        "container": {"type": "message", "message_ts": TS, "channel_id": channel, "is_ephemeral": False},
        "actions": [{"type": "feedback_buttons", "action_id": action, "value": value, "action_ts": f"{at:.6f}"}],
    }


def button(which: str, answer_id: str = ANSWER) -> str:
    """The value of a button, out of the blocks as Slack shows them."""
    [block] = feedback_blocks(answer_id)
    return str(block["elements"][0][f"{which}_button"]["value"])


def reaction(name: str, user: str = "U1", *, added: bool = True, at: float = START, **event: Any) -> Body:
    said = {
        "type": "reaction_added" if added else "reaction_removed",
        "user": user,
        "reaction": name,
        "item": {"type": "message", "channel": "C1", "ts": TS},
        "item_user": BOT.user,
        "event_ts": f"{at:.6f}",
        **event,
    }
    return {"type": "event_callback", "team_id": "T1", "event_id": f"Ev{at}", "event": said}


def submission(view: Mapping[str, Any], text: str | None, user: str = "U1") -> Body:
    """What Slack sends when the view that it was given is filled in and sent."""
    state = {"values": {INPUT: {INPUT: {"type": "plain_text_input", "value": text}}}}
    return {
        "type": "view_submission",
        "user": {"id": user},
        "team": {"id": "T1"},
        "view": {"id": "V1", "state": state, **{key: view[key] for key in ("callback_id", "private_metadata")}},
    }


# ------------------------------------------------------------------------------------------------- what Slack is given


def test_the_buttons_are_what_slack_takes() -> None:
    from slack_sdk.models.blocks import Block

    [block] = feedback_blocks(ANSWER)
    parsed = Block.parse(block)
    assert parsed is not None
    assert parsed.to_dict() == block
    assert block["type"] == "context_actions"
    [element] = block["elements"]
    assert (element["type"], element["action_id"]) == ("feedback_buttons", PRESSED)
    for which in ("positive_button", "negative_button"):
        assert element[which]["text"]["type"] == "plain_text"
        assert ANSWER in element[which]["value"]
        assert len(element[which]["accessibility_label"]) <= 75


def test_the_modal_is_what_slack_takes(bot: Bot) -> None:
    from slack_sdk.models.views import View

    bot.feedback.on_button(press(button("negative")))
    [(trigger, view)] = bot.slack.views
    assert trigger == f"trigger-{START}"
    assert view["callback_id"] == REASON
    View(**view).validate_json()
    assert len(view["private_metadata"]) <= 3000
    assert view["blocks"][0]["element"]["max_length"] == MAX_REASON
    assert len(view["title"]["text"]) <= 24


# ------------------------------------------------------------------------------------------------------------- buttons


def test_a_press_is_kept_with_the_answer(bot: Bot) -> None:
    bot.feedback.on_button(press(button("positive")))
    assert bot.opinions() == [("slack:T1:U1", True, "")]
    assert bot.slack.views == []
    assert bot.end_notice() == []


def test_a_changed_mind_is_counted_once(bot: Bot) -> None:
    bot.feedback.on_button(press(button("positive"), at=START))
    bot.feedback.on_button(press(button("negative"), at=START + 1))
    bot.feedback.on_button(press(button("positive"), "U2", at=START + 2))
    bot.feedback.on_button(press(button("positive"), at=START))  # came once more
    assert bot.opinions() == [("slack:T1:U1", False, ""), ("slack:T1:U2", True, "")]


def test_the_modal_opens_before_anything_is_written(bot: Bot) -> None:
    seen: list[object] = []
    bot.slack.before = lambda name, _: seen.append(bot.opinions()) if name == "open_view" else None
    bot.feedback.on_button(press(button("negative")))
    assert seen == [[]]
    assert bot.opinions() == [("slack:T1:U1", False, "")]


def test_an_expired_trigger_does_not_lose_the_opinion(bot: Bot) -> None:
    bot.slack.refuse("open_view", "expired_trigger_id")
    bot.feedback.on_button(press(button("negative")))
    assert bot.opinions() == [("slack:T1:U1", False, "")]


def test_an_answer_that_is_still_being_written_is_waited_for(bot: Bot) -> None:
    bot.while_waiting += [lambda: None, lambda: bot.records.add(full_answer("b" * 32))]
    keep = partial(PostedAnswers(bot.records.engine).keep, "T1", "CNEW", TS, thread_ts="1.0", asker="slack:T1:U1")
    keep(answer_id="b" * 32)
    bot.feedback.on_button(press(button("positive", "b" * 32), channel="CNEW"))
    assert bot.opinions("b" * 32) == [("slack:T1:U1", True, "")]
    assert len(bot.flushes) == 2


def test_an_answer_that_is_never_written_is_given_up(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    bot.feedback.on_button(press(button("negative", "b" * 32)))
    assert 0 < len(bot.flushes) < 10
    assert sum(bot.flushes) < 10
    assert "no answer bbbb" in caplog.text
    assert bot.end_notice() == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="empty"),
        pytest.param({"actions": None, "user": None}, id="nulls"),
        pytest.param(press("unhelpful"), id="no answer"),
        pytest.param(press("other:aaaa"), id="another verdict"),
        pytest.param(press(f"helpful:{ANSWER}", action="other"), id="another action"),
        pytest.param({**press(f"helpful:{ANSWER}"), "user": {}}, id="nobody"),
    ],
)
def test_what_is_no_press_is_left_alone(bot: Bot, body: Body) -> None:
    for handler in (bot.feedback.on_button, bot.feedback.on_why, bot.feedback.on_reason, bot.feedback.on_reaction):
        handler(body)
    assert bot.opinions() == []
    assert bot.slack.calls == []


# ----------------------------------------------------------------------------------------------------------- reactions


@pytest.mark.parametrize("name", ["+1", "thumbsup", "+1::skin-tone-2", "thumbsup::skin-tone-6"])
def test_a_thumb_up_is_helpful(bot: Bot, name: str) -> None:
    bot.feedback.on_reaction(reaction(name))
    assert bot.opinions() == [("slack:T1:U1", True, "")]
    assert bot.slack.ephemerals == []


@pytest.mark.parametrize("name", ["-1", "thumbsdown", "-1::skin-tone-4", "thumbsdown::skin-tone-3"])
def test_a_thumb_down_is_not_and_a_reason_is_asked_for(bot: Bot, name: str) -> None:
    for _ in range(2):  # delivered twice
        bot.feedback.on_reaction(reaction(name))
    assert bot.opinions() == [("slack:T1:U1", False, "")]
    [offer] = bot.slack.ephemerals
    assert (offer["channel"], offer["user"], offer["thread_ts"]) == ("C1", "U1", "1764500000.000100")
    bot.feedback.on_why(press(offer["blocks"][0]["accessory"]["value"], action=WHY, at=START + 5))
    [(_, view)] = bot.slack.views
    bot.feedback.on_reason(submission(view, "It is old."))
    assert bot.opinions() == [("slack:T1:U1", False, "It is old.")]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(reaction("eyes"), id="another emoji"),
        pytest.param(reaction("+1::skin-tone-9"), id="no skin tone"),
        pytest.param(reaction("+1", BOT.user), id="the bot itself"),
        pytest.param(reaction("+1", "UOTHERBOT"), id="another bot"),
        pytest.param(reaction("+1", "USLACKBOT"), id="slackbot"),
        pytest.param(reaction("+1", "UUNKNOWN"), id="nobody"),
        pytest.param(reaction("+1", item_user="U2"), id="a person's message"),
        pytest.param(reaction("+1", item={"type": "file", "file": "F1"}), id="a file"),
        pytest.param(reaction("+1", item={"type": "message", "channel": "C1", "ts": "1.0"}), id="no answer"),
        pytest.param(reaction("+1", item={"type": "message", "channel": "C2", "ts": TS}), id="another channel"),
    ],
)
def test_what_is_no_persons_thumb_on_an_answer_counts_for_nothing(bot: Bot, body: Body) -> None:
    bot.slack.add_user("UOTHERBOT", is_bot=True)
    bot.slack.add_user("USLACKBOT", is_bot=False)
    bot.feedback.on_reaction(body)
    assert bot.opinions() == []
    assert bot.slack.ephemerals == []


def test_a_person_that_slack_does_not_tell_of_counts(bot: Bot) -> None:
    bot.slack.refuse("user", "ratelimited")
    bot.feedback.on_reaction(reaction("+1"))
    assert bot.opinions() == [("slack:T1:U1", True, "")]


def test_a_reaction_to_an_answer_that_grows_counts_for_nothing_and_does_no_harm(bot: Bot) -> None:
    growing = bot.slack.say("C1", BOT.user, "An ans")["ts"]
    keep = partial(PostedAnswers(bot.records.engine).keep, "T1", "C1", growing, thread_ts="1.0", asker="slack:T1:U1")
    keep(answer_id="")
    early = reaction("-1")
    early["event"]["item"]["ts"] = growing
    bot.feedback.on_reaction(early)
    assert bot.records.get(ANSWER).feedback == ()
    keep(answer_id=ANSWER)
    bot.feedback.on_reaction(early)
    assert [one.helpful for one in bot.records.get(ANSWER).feedback] == [False]


def test_taking_a_reaction_away_takes_back_what_it_said_and_no_more(bot: Bot) -> None:
    bot.feedback.on_reaction(reaction("-1", at=START))
    bot.feedback.on_reaction(reaction("-1", added=False, at=START + 1))
    assert bot.opinions() == []
    bot.feedback.on_reaction(reaction("-1", at=START + 2))
    bot.feedback.on_button(press(button("positive"), at=START + 3))
    bot.feedback.on_reaction(reaction("-1", added=False, at=START + 4))
    assert bot.opinions() == [("slack:T1:U1", True, "")]


def test_events_out_of_order_end_as_if_they_were_in_order(bot: Bot) -> None:
    bot.feedback.on_reaction(reaction("+1", added=False, at=START + 2))
    bot.feedback.on_reaction(reaction("+1", at=START + 1))
    assert bot.opinions() == []
    bot.feedback.on_reaction(reaction("+1", at=START + 3))
    assert bot.opinions() == [("slack:T1:U1", True, "")]


# ------------------------------------------------------------------------------------------------------------- reasons


def with_reason(bot: Bot, text: str | None, *, channel: str = "C1", user: str = "U1", ephemeral: bool = False) -> None:
    body = press(button("negative"), user, channel=channel)
    body["container"]["is_ephemeral"] = ephemeral
    bot.feedback.on_button(body)
    bot.feedback.on_reason(submission(bot.slack.views[-1][1], text, user))


def test_a_reason_is_kept_redacted_and_bounded(bot: Bot) -> None:
    with_reason(bot, "hunter2 " + "x" * 5000)
    [(asker, helpful, reason)] = bot.opinions()
    assert (asker, helpful) == ("slack:T1:U1", False)
    assert reason.startswith("[REDACTED] xxx")
    assert len(reason) < MAX_REASON + 20


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_an_empty_reason_changes_nothing(bot: Bot, text: str | None) -> None:
    with_reason(bot, text)
    assert bot.opinions() == [("slack:T1:U1", False, "")]
    assert len(bot.end_notice()) == 1


def test_a_reason_that_overtakes_its_press_is_kept(bot: Bot) -> None:
    other = make_bot(FakeSlack(), bot.records, channel="")  # another process, whose database is slow
    other.feedback.on_button(press(button("negative", "b" * 32)))
    view = {**other.slack.views[0][1]}
    view["private_metadata"] = view["private_metadata"].replace("b" * 32, ANSWER)
    bot.feedback.on_reason(submission(view, "It is old."))
    bot.feedback.on_button(press(button("negative")))
    assert bot.opinions() == [("slack:T1:U1", False, "It is old.")]


def carried(**changes: object) -> str:
    """What the modal of U1's press brings back, changed."""
    whole = {"answer_id": ANSWER, "channel": "C1", "ts": TS, "voice": "button", "at": START, **changes}
    return json.dumps(whole)


ELSEWHERE = {
    "an answer of another channel": {"answer_id": "c" * 32},
    "another channel": {"channel": "CPUBLIC"},
    "another message": {"ts": "1764500001.000101"},
    "no message, by somebody who did not ask": {"ts": ""},
    "what begins an id": {"answer_id": ANSWER[:8]},
}


@pytest.mark.parametrize("changes", ELSEWHERE.values(), ids=ELSEWHERE)
def test_nobody_judges_or_is_told_of_an_answer_by_its_id_alone(bot: Bot, changes: dict[str, str]) -> None:
    secret = Question("When is WOMBAT launched?", asker="slack:T1:U7", surface="slack", audiences=("slack:CB",))
    bot.records.add(full_answer("c" * 32, asker="slack:T1:U7", question=secret))
    bot.slack.add_channel("CPUBLIC", members=("U2",))
    about = json.loads(carried(**changes))
    forged = press(f"unhelpful:{about['answer_id']}", "U2", channel=about["channel"])
    forged["container"] |= {"message_ts": about["ts"], "is_ephemeral": not about["ts"]}
    bot.feedback.on_button(forged)
    view = {"callback_id": REASON, "private_metadata": carried(**changes)}
    bot.feedback.on_reason(submission(view, "It is old.", "U2"))
    assert bot.opinions() == bot.opinions("c" * 32) == []
    assert bot.end_notice() == []


def test_who_asked_may_judge_where_no_place_is_kept(bot: Bot) -> None:
    bot.feedback.on_button(press(button("negative"), channel="DWHISPERED"))
    assert bot.opinions() == [("slack:T1:U1", False, "")]


def test_a_modal_that_is_not_ours_is_left_alone(bot: Bot) -> None:
    endless = carried(at=float("inf")), carried(at=float("nan")), "[" * 3_000, '{"a":' * 1_000
    for metadata in ("", "{", "[]", "null", '{"answer_id": "x"}', json.dumps({"at": "never"}), *endless):
        bot.feedback.on_reason(submission({"callback_id": REASON, "private_metadata": metadata}, "Why not?"))
    assert bot.opinions() == []


# --------------------------------------------------------------------------------------------------------- maintainers


def texts(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """What stands in rich text, element by element; anything but text and links fails."""
    [block] = blocks
    assert block["type"] == "rich_text"
    elements = [one for part in block["elements"] for one in part["elements"]]
    assert {one["type"] for one in elements} <= {"text", "link"}
    return [f"{one['text']} ({one['url']})" if one["type"] == "link" else one["text"] for one in elements]


def test_the_maintainers_are_told_once_and_the_reason_follows(bot: Bot) -> None:
    bot.feedback.on_button(press(button("negative")))
    [first] = bot.end_notice()
    link = f"An answer (https://acme.slack.com/archives/C1/p{TS.replace('.', '')})"
    question = "Where is <!channel> *the* key, [REDACTED]?"
    command = f"lore answers show {ANSWER}"
    assert texts(first["blocks"]) == [link, " did not help.", question, command]
    assert first["text"] == f"An answer did not help. {command}"
    bot.feedback.on_button(press(button("negative")))  # came once more
    bot.feedback.on_reason(submission(bot.slack.views[0][1], "Say <!here> and <@U2>: *hunter2*"))
    [second] = bot.end_notice()
    reason = "Say <!here> and <@U2>: *[REDACTED]*"
    assert texts(second["blocks"]) == [link, " did not help.", question, "Reason:", reason, command]
    assert reason not in second["text"]
    assert second["ts"] == first["ts"]


class Meanwhile:
    """A workspace in which something happens right after each post."""

    def __init__(self, slack: FakeSlack, happens: Callable[[], object]) -> None:
        self._slack = slack
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slack, name)

    def post(self, *arguments: Any, **options: Any) -> str:
        ts = self._slack.post(*arguments, **options)
        self._happens()
        return ts


def test_who_is_forgotten_while_the_maintainers_are_told_is_forgotten_there_too(
    slack: FakeSlack, records: Records
) -> None:
    bot = make_bot(cast("FakeSlack", Meanwhile(slack, lambda: records.forget("slack:T1:U2"))), records)
    bot.feedback.on_button(press(button("negative"), "U2"))
    assert bot.end_notice() == []


def test_nothing_that_people_type_is_hidden_from_the_maintainers(bot: Bot) -> None:
    with_reason(bot, "It is \u202edlo\u202c and\u200b \U000e0041long")
    assert "It is dlo and long" in texts(bot.end_notice()[0]["blocks"])


def test_the_maintainers_are_told_of_a_changed_mind(bot: Bot) -> None:
    with_reason(bot, "It is old.")
    bot.feedback.on_button(press(button("positive"), at=START + 1))
    [message] = bot.end_notice()
    assert "did not help; the person has since found it helpful." in message["text"]
    assert "It is old." not in texts(message["blocks"])
    bot.feedback.on_reaction(reaction("-1", "U2", at=START + 2))
    bot.feedback.on_reaction(reaction("-1", "U2", at=START + 3, added=False))
    [_, message] = bot.end_notice()
    assert "taken that back" in message["text"]


@pytest.mark.parametrize(
    ("channel", "ephemeral"),
    [
        pytest.param("CPRIV", False, id="private channel"),
        pytest.param("D1", False, id="direct message"),
        pytest.param("C1", True, id="command"),
        pytest.param("CGONE", False, id="unknown channel"),
    ],
)
def test_what_was_asked_in_private_is_not_repeated(bot: Bot, channel: str, ephemeral: bool) -> None:
    with_reason(bot, "It is old.", channel=channel, ephemeral=ephemeral)
    [message] = bot.end_notice()
    shown = texts(message["blocks"])
    assert shown[1:] == [" did not help.", "Reason:", "It is old.", f"lore answers show {ANSWER}"]
    assert "key" not in json.dumps(message)
    assert (TS.replace(".", "") in shown[0]) == (not ephemeral and channel != "CGONE")


def test_the_trace_is_linked_where_there_is_one(slack: FakeSlack, records: Records) -> None:
    bot = make_bot(slack, records, trace_url=TRACE)
    bot.feedback.on_button(press(button("negative")))
    [message] = bot.end_notice()
    assert texts(message["blocks"])[-1] == f"How it came about (https://traces.example.com/{ANSWER}?tab=1)"


def test_nobody_is_told_without_a_channel(slack: FakeSlack, records: Records) -> None:
    bot = make_bot(slack, records, channel="")
    bot.feedback.on_button(press(button("negative")))
    assert bot.opinions() == [("slack:T1:U1", False, "")]
    assert slack.counts()["post"] == 0


def test_a_channel_that_refuses_is_named_once(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    bot.slack.refuse("post", "not_in_channel", times=None, channel="CMAINT")
    bot.feedback.on_button(press(button("negative")))
    bot.feedback.on_button(press(button("negative"), "U2"))
    assert [record.message for record in caplog.records if "CMAINT" in record.message] == [
        "The maintainers' channel CMAINT was not told of an answer: Slack refused post: not_in_channel. Look it up."
    ]
    assert len(bot.opinions()) == 2


def test_a_reason_that_comes_while_the_first_message_is_posted_is_told(slack: FakeSlack, records: Records) -> None:
    first, second = make_bot(slack, records), make_bot(slack, records)  # two processes

    def send_the_reason(name: str, _: Mapping[str, Any]) -> None:
        if name == "post":
            slack.before = None
            second.feedback.on_reason(submission(slack.views[0][1], "It is old."))

    slack.before = send_the_reason
    first.feedback.on_button(press(button("negative")))
    [message] = first.end_notice()
    assert "It is old." in texts(message["blocks"])
