"""Every method of Slack that answering calls, with everything that can go wrong: each question ends in an answer or an
honest message; none ends in silence, and none in half an answer.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lore.query.events import Answered, Delta, Event, Planned
from lore.records.engine import open_engine
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.settings import Settings
from lore.slackbot.access.audiences import Audiences
from lore.slackbot.app.assembly import open_queue
from lore.slackbot.queue.leases import HeldLeases
from lore.slackbot.reply.conversation import history
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.types import SlackQuestion
from lore.types import Answer, Plan, Question, Trace

from tests.servers.slack.app import BOT_USER, TEAM, Fault, SlackApp, channel, person, ratelimited, refuses

ALWAYS = 10_000
WORDS = [f"word{number}" for number in range(24)]
HONEST = ("couldn't", "can't", "interrupted")
METHODS = (
    "chat.postMessage", "chat.postEphemeral", "chat.update", "chat.delete", "chat.startStream", "chat.appendStream",
    "chat.stopStream", "assistant.threads.setStatus", "conversations.replies", "conversations.info", "users.info",
    "users.conversations",
)  # fmt: skip
REFUSALS = (
    "edit_window_closed", "message_not_found", "channel_not_found", "not_in_channel", "is_archived", "msg_too_long",
    "invalid_blocks", "streaming_state_conflict", "message_not_in_streaming_state", "missing_scope", "unknown_method",
)  # fmt: skip
FAULTS: dict[str, Callable[[str], Fault]] = {
    **{code: lambda method, code=code: refuses(code, method, times=ALWAYS) for code in REFUSALS},  # type: ignore[misc]
    "429 often": lambda method: ratelimited("1", method, times=9),
    "429 for long": lambda method: ratelimited("25", method, times=2),
    "internal_error": lambda method: refuses("internal_error", method, times=1),
    "down for a while": lambda method: refuses("internal_error", method, times=7),
    "500": lambda method: Fault(method, 500, body=b"<html>", times=2),
    "503": lambda method: Fault(method, 503, body=b"", times=3),
    "cut": lambda method: Fault(method, cut=True),
    "no JSON": lambda method: Fault(method, 200, body=b"<html>"),
    "too late": lambda method: Fault(method, delay=1.3),
}
BESIDE = {
    "chat.postMessage": [refuses("unknown_method", "chat.startStream", times=ALWAYS)],
    "chat.update": [refuses("unknown_method", "chat.startStream", times=ALWAYS)],
    "chat.delete": [
        refuses("unknown_method", "chat.startStream", times=ALWAYS),
        refuses("edit_window_closed", "chat.update", times=ALWAYS, after=1),
    ],
}
"""What fails too, so that the method is called at all."""


class Slow:
    """Gives an answer in pieces, with a pause before each."""

    def stream(self, question: Question) -> Iterator[Event]:
        plan = Plan(question.text, (question.text,))
        yield Planned(plan)
        for word in WORDS:
            time.sleep(0.02)
            yield Delta(f"{word} ")
        yield Answered(Answer(question, " ".join(WORDS), (), True, Trace(plan), id="a1"))


class Desk:
    """A small Slack and one bot, whose clock runs ten times as fast."""

    def __init__(self, empty_records: Path, folder: Path) -> None:
        places = [channel("C1", members=["U1", BOT_USER])]
        self.slack = SlackApp(places, [person("U1")])
        shutil.copy(empty_records, folder / "records.db")
        self.records = f"sqlite:///{folder}/records.db"

    def ask(self, method: str, faults: Sequence[Fault]) -> str:
        """Ask a question, and return how it ended: "answer", "honest", or what was wrong."""
        with self.slack as slack, Records(open_engine(self.records), str) as records:
            caller = SlackCaller(
                slack.bot_token, slack.base_url, 1.0, max_retries=2, sleep=lambda seconds: time.sleep(seconds / 50)
            )
            api = BotApi(caller)
            me = api.identity()
            posted = PostedAnswers(records.engine)
            leases = HeldLeases(LeaseStore(records.engine), "a", lease_seconds=3.0, clock=lambda: time.monotonic() * 10)
            audiences = Audiences(api, me)
            queue = open_queue(
                Settings.of(),
                api,
                leases,
                posted,
                Slow(),
                ErrorLog(),
                is_addressed=lambda question: True,
                history=lambda question, on_note: history(question, api, me, on_note),
                audiences=audiences.of,
                below=lambda answer_id: (),
                quick_reply=lambda lease: None,
                extend_seconds=0.1,
                recover_seconds=0.3,
            )
            question = self.question(method)
            slack.faults += faults
            queue.start()
            queue.take(question)
            until = time.monotonic() + 20
            while (ended := self.ended(question)) not in ("answer", "honest") and time.monotonic() < until:
                threading.Event().wait(0.05)
            queue.wait_until_idle(5)
            queue.stop()
            return self.ended(question) if ended else "silence"

    def question(self, method: str) -> SlackQuestion:
        values: dict[str, Any] = {"team": TEAM, "user": "U1", "text": "How?", "room": "channel", "channel": "C1"}
        if method == "chat.postEphemeral":
            return SlackQuestion(key="T:command:1", via="command", ts="", thread_ts="", **values)
        if method == "users.conversations":
            direct = self.slack.workspace.direct_with("U1")["id"]
            ts = self.slack.say("U1", direct, "How?", send=False)["ts"]
            values |= {"room": "direct", "channel": direct}
            return SlackQuestion(key=f"{TEAM}:{direct}:{ts}", via="direct", ts=ts, thread_ts=ts, **values)
        root = self.slack.say("U1", "C1", "Look at this", send=False)["ts"]
        ts = self.slack.say("U1", "C1", f"<@{BOT_USER}> How?", thread_ts=root, send=False)["ts"]
        return SlackQuestion(key=f"{TEAM}:C1:{ts}", via="mention", ts=ts, thread_ts=root, **values)

    def ended(self, question: SlackQuestion) -> str:
        """How a question ended, by what its asker sees last."""
        with self.slack.lock:
            direct = self.slack.workspace.direct_with("U1")["id"]
            seen = [dict(one) for place in {direct, question.channel} for one in self.slack.posted(place)]
            seen = sorted([*seen, *self.slack.methods.ephemeral], key=lambda one: str(one.get("ts")))
        texts = [f"{one.get('text', '')} {one.get('blocks', '')}" for one in seen]
        whole = [number for number, text in enumerate(texts) if WORDS[0] in text and WORDS[-1] in text]
        open_streams = [one for one in seen if one.get("streaming_state") == "in_progress"]
        if len(whole) > 1:
            return "twice"
        honest = any(word in texts[-1] for word in HONEST) if texts else False
        if whole:
            return "answer" if whole == [len(texts) - 1] or honest else "words after the answer"
        if honest:
            return "honest"
        return "half" if open_streams or any(WORDS[0] in text for text in texts) else "status alone" if texts else ""


def ends(empty_records: Path, folder: Path, method: str, names: Sequence[str]) -> dict[str, str]:
    """Ask one question for each fault, side by side."""

    def ask(name: str) -> str:
        place = folder / name.replace(" ", "_")
        place.mkdir()
        return Desk(empty_records, place).ask(
            method, [FAULTS[name](f"/{method}"), *(_copy(one) for one in BESIDE.get(method, ()))]
        )

    with ThreadPoolExecutor(20) as pool:
        return dict(zip(names, pool.map(ask, names), strict=True))


def _copy(fault: Fault) -> Fault:
    return Fault(fault.match, fault.status, fault.headers, fault.body, times=fault.times, after=fault.after)


def test_a_sample_of_faults_at_the_end_of_a_stream(empty_records: Path, tmp_path: Path) -> None:
    found = ends(
        empty_records, tmp_path, "chat.stopStream", ["edit_window_closed", "unknown_method", "429 often", "cut"]
    )
    assert set(found.values()) == {"answer"}, found


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_each_question_ends_in_an_answer_or_an_honest_message(empty_records: Path, tmp_path: Path, method: str) -> None:
    assert len(METHODS) == 12 and len(FAULTS) == 20
    found = ends(empty_records, tmp_path, method, list(FAULTS))
    assert {name: ended for name, ended in found.items() if ended not in ("answer", "honest")} == {}
