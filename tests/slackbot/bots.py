"""A bot with a pipeline that needs no model, run in a thread against the small Slack."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from lore.protocols import Recorder
from lore.query.events import Answered, Delta, Event, Planned
from lore.query.model_watch import OnModelChange
from lore.settings import Settings, load_settings
from lore.slackbot.app.bot import Transport
from lore.slackbot.app.serve import HttpAddress, serve
from lore.types import Answer, Citation, Plan, Question, Trace

from tests.servers.slack.app import SlackApp

PAGE = Citation(
    1, "docs:deploy", "chunk-1", "docs", "https://docs.example.com/deploy", "Deploying", (), "Run the command."
)


@dataclass
class EchoPipeline:
    """Answers that it was asked so, in words that come one by one. `gate` leases every answer back until it is set."""

    recorder: Recorder | None = None
    on_model_change: OnModelChange | None = None
    questions: list[Question] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    text: str = "You asked: {question}. Run the command [1]."

    def __post_init__(self) -> None:
        self.gate.set()

    def stream(self, question: Question) -> Iterator[Event]:
        self.questions.append(question)
        plan = Plan(question.text, (question.text,))
        yield Planned(plan)
        assert self.gate.wait(30)
        text = self.text.format(question=question.text)
        for word in text.split(" "):
            yield Delta(f"{word} ")
        answer = Answer(question, f"{text} ", (PAGE,), True, Trace(plan), id=str(uuid4()))
        if self.recorder is not None:
            self.recorder.record(answer)
        yield Answered(answer)

    def asked(self) -> list[str]:
        """The texts of all questions so far, sorted."""
        return sorted(question.text for question in self.questions)


def bot_settings(slack: SlackApp, folder: Path, **changes: object) -> Settings:
    """Settings for a bot in that Slack, with its records in a folder."""
    values: dict[str, object] = {
        "slack_token": slack.bot_token,
        "slack_app_token": slack.app_token,
        "slack_signing_secret": slack.signing_secret,
        "slack_base_url": slack.base_url,
        "records_url": f"sqlite:///{folder}/records.db",
        "assistant": folder / "assistant.yaml",
        "max_retries": 1,
    }
    return load_settings({}, **(values | changes))


class RunningBot:
    """A bot in a thread of its own."""

    def __init__(self, settings: Settings, pipeline: EchoPipeline, http: HttpAddress | None) -> None:
        self.pipeline = pipeline
        self.error: BaseException | None = None
        self.stop_it = threading.Event()
        self._ready = threading.Event()
        self.transport: Any = None
        self._settings, self._http = settings, http
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(30)

    def _run(self) -> None:
        def make(_: Settings, recorder: Recorder, on_model_change: OnModelChange) -> EchoPipeline:
            self.pipeline.recorder, self.pipeline.on_model_change = recorder, on_model_change
            return self.pipeline

        try:
            serve(self._settings, http=self._http, make_pipeline=make, stop=self.stop_it, on_ready=self._started)
        except BaseException as error:  # the test looks at it
            self.error = error
        finally:
            self._ready.set()

    def _started(self, transport: Transport) -> None:
        self.transport = transport
        self._ready.set()

    def ended(self, seconds: float = 30.0) -> bool:
        """Wait until it ended by itself, or after `stop_it`."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Stop it, and raise what it ended with."""
        self.stop_it.set()
        assert self.ended(), "the bot does not stop"
        if self.error is not None:
            raise self.error


@contextmanager
def running(
    slack: SlackApp,
    folder: Path,
    pipeline: EchoPipeline | None = None,
    *,
    http: bool = False,
    **changes: object,
) -> Iterator[RunningBot]:
    """A bot that runs while the block does; over HTTP, Slack's events go there."""
    address = HttpAddress("127.0.0.1", 0) if http else None
    bot = RunningBot(bot_settings(slack, folder, **changes), pipeline or EchoPipeline(), address)
    if bot.error is not None:
        raise bot.error
    if http:
        slack.deliver_over_http(bot.transport.url)
    else:
        assert slack.sockets.wait_connected()
    try:
        yield bot
    finally:
        bot.stop_it.set()
        assert bot.ended(), "the bot does not stop"


def waits_for_answers(slack: SlackApp, channel: str, thread_ts: str, count: int = 1) -> list[dict[str, Any]]:
    """The bot's finished messages in a thread, once there are so many that hold an answer."""

    def answered() -> Sequence[dict[str, Any]]:
        found = [one for one in slack.answers(channel, thread_ts) if "answer" in payload_of(one)]
        return found if len(found) >= count else []

    found: list[dict[str, Any]] = slack.wait(answered, 20)
    return found


def wait_until_placed(folder: Path, thread_ts: str) -> None:
    """Wait until the records know that the bot answered in a thread, a moment after the answer is seen."""
    tick, until = threading.Event(), time.monotonic() + 20
    placed = "SELECT 1 FROM lore_places WHERE thread_ts = ? AND answer_id != ''"
    with closing(sqlite3.connect(folder / "records.db")) as records:
        while not records.execute(placed, [thread_ts]).fetchone():
            assert time.monotonic() < until, "the place of the answer is not kept"
            tick.wait(0.01)


def payload_of(message: dict[str, Any]) -> dict[str, Any]:
    """What a message says of itself."""
    payload: dict[str, Any] = message.get("metadata", {}).get("event_payload", {})
    return payload
