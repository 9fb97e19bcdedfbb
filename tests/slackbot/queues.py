"""What the tests of the desk share: questions, a pipeline that does what a test says, a clock, the parts put up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, NoReturn

from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.settings import Settings
from lore.slackbot.app.assembly import open_queue
from lore.slackbot.queue.leases import HeldLeases, Lease
from lore.slackbot.queue.question_queue import QuestionQueue
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.types import SlackQuestion
from lore.types import Answer, Plan, Question, Trace

from tests.slackbot.fake_slack import BOT, FakeSlack

PIECES = ("Open the settings, ", "press rotate, ", "and copy the new key.")
BUTTONS = {"type": "actions", "elements": []}


class Clock:
    """Seconds that are put forward by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def moment(self) -> datetime:
        """The same for the records."""
        return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.now)

    def forward(self, seconds: float) -> None:
        self.now += seconds


class Scripted:
    """A pipeline that answers with `pieces`; `between` is called before each piece with its number and the question.

    What `between` raises is what the pipeline raises. `searching` without a search skips what belongs to it.
    """

    def __init__(
        self, pieces: Sequence[str] = PIECES, between: Callable[[int, Question], None] = lambda number, question: None
    ) -> None:
        self.pieces = pieces
        self.between = between
        self.asked: list[Question] = []
        self.closed = 0
        self._lock = threading.Lock()

    def stream(self, question: Question) -> Iterator[Event]:
        with self._lock:
            self.asked.append(question)
            number = len(self.asked)
        plan = Plan(question.text, (question.text,))
        try:
            yield Planned(plan)
            yield Retrieved((3,), 3)
            yield Reranked(())
            for piece_number, piece in enumerate(self.pieces):
                self.between(piece_number, question)
                yield Delta(piece)
            self.between(len(self.pieces), question)
            text = "".join(self.pieces)
            yield Answered(Answer(question, text, (), True, Trace(plan), id=f"answer-{number}"))
        finally:
            self.closed += 1


def make_question(slack: FakeSlack, text: str = "How do I rotate a key?", **changes: Any) -> SlackQuestion:
    """A question by a mention, which stands in the channel C1 as a message."""
    values: dict[str, Any] = {"via": "mention", "channel": "C1", "room": "channel", "user": "U1", "thread_ts": ""}
    values |= changes
    if values["via"] == "command":
        return SlackQuestion(**{"key": f"{BOT.team}:command:1", "team": BOT.team, "ts": "", "text": text, **values})
    said = slack.say(values["channel"], values["user"], f"<@{BOT.user}> {text}", thread_ts=values["thread_ts"])
    values |= {"ts": said["ts"], "thread_ts": values["thread_ts"] or said["ts"]}
    return SlackQuestion(
        **{"key": f"{BOT.team}:{values['channel']}:{said['ts']}", "team": BOT.team, "text": text, **values}
    )


def make_slack() -> FakeSlack:
    slack = FakeSlack(start=1_790_000_000)
    slack.add_channel("C1", members=("U1", "U2", "U3"))
    slack.add_channel("D1", members=("U1",))
    return slack


def make_lease(claims: LeaseStore, question: SlackQuestion, clock: Clock, owner: str = "a") -> Lease:
    lease = HeldLeases(claims, owner, clock=clock).acquire(question)
    assert lease is not None
    return lease


def make_queue(
    slack: FakeSlack,
    claims: LeaseStore,
    places: PostedAnswers,
    pipeline: Scripted,
    *,
    owner: str = "a",
    clock: Callable[[], float] = monotonic,
    is_addressed: Callable[[SlackQuestion], bool] = lambda question: True,
    **settings: Any,
) -> QuestionQueue:
    """A queue that beats and recovers only when a test says so."""
    return open_queue(
        Settings.of(**settings),
        slack,
        HeldLeases(claims, owner, clock=clock),
        places,
        pipeline,
        ErrorLog(clock=clock),
        is_addressed=is_addressed,
        history=lambda question, on_note: (),
        audiences=lambda question, on_note: ("public",),
        below=lambda answer_id: (BUTTONS,),
        quick_reply=never,
        extend_seconds=1e6,
        recover_seconds=0,
    )


def never(_: object) -> NoReturn:
    """What is not to be called."""
    raise AssertionError("it is called")


def shown_key(message: dict[str, Any]) -> str:
    """The question that a message of the bot says it belongs to; "" where it says nothing."""
    return str(message.get("metadata", {}).get("event_payload", {}).get("key", ""))
