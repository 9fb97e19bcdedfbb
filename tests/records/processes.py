"""Processes that share records: bots with a Slack of their own, `lore` commands, and a program that asks and records.

    python -m tests.records.processes bot                   # answers in Slack until it is stopped or killed
    python -m tests.records.processes ask QUESTION …        # answers each, and records it as `lore ask` does
    python -m tests.records.processes twice QUESTION …      # opens the records twice, and asks one question a line read

Settings come from the environment. The pipeline repeats the question; all else is what Lore runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lore.query.events import Answered
from lore.records.records import Records
from lore.settings import Settings, load_settings
from lore.slackbot.app.serve import serve
from lore.types import Question
from lore.wiring.records import make_recorder, open_records

from tests.conftest import ROOT
from tests.servers.slack.app import BOT_USER, SlackApp, channel, person
from tests.servers.slack.app_socket import Connection, Envelope
from tests.slackbot.bots import EchoPipeline, payload_of

CHANNEL = "C1"
SECONDS = 120.0
LORE = (sys.executable, "-m", "lore.cli")


class House:
    """A Slack and records; `environment` has the settings of what runs there."""

    def __init__(self, folder: Path, records_url: str, settings: Mapping[str, str] | None = None) -> None:
        self.slack = SlackApp([channel(CHANNEL, members=["U1", BOT_USER])], [person("U1")])
        self.records_url = records_url
        self._folder = folder
        self._settings = dict(settings or {})
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> House:
        self.slack.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self.slack.__exit__(*details)

    @property
    def environment(self) -> dict[str, str]:
        settings = {
            "SLACK_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_BASE_URL": self.slack.base_url,
            "SLACK_USER_LIMIT": "0",
            "SLACK_CHANNEL_LIMIT": "0",
            "RECORDS_URL": self.records_url,
            "ASSISTANT": str(self._folder / "assistant.yaml"),
            **self._settings,
        }
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LORE_")}
        return clean | {f"LORE_{name}": value for name, value in settings.items()}

    # -------------------------------------------------------------------------------------------------- processes

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A process of this module; its errors go to a file, and it is killed at the end of the block."""
        with (self._folder / "errors.log").open("a") as errors:
            command = (sys.executable, "-m", "tests.records.processes", *arguments)
            pipes: Mapping[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
            process = subprocess.Popen(command, cwd=ROOT, env=self.environment, text=True, **pipes)
        self._processes.append(process)
        return process

    def start_bot(self) -> subprocess.Popen[str]:
        """A bot that is connected."""
        connected = self.slack.sockets.connected
        bot = self.start("bot")
        assert self.slack.sockets.wait_connected(connected + 1, SECONDS), self.log()
        return bot

    def run(self, *command: str) -> str:
        """What a command prints, which must end well."""
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def list_answers(self) -> str:
        """What `lore answers list` prints."""
        return self.run(*LORE, "answers", "list")

    def ask_in_shells(self, *questions: str) -> list[str]:
        """Answer and record each in a process of its own, at once; returns the ids of the answers."""
        shells = [self.start("ask", question) for question in questions]
        return [shell.communicate(timeout=SECONDS)[0].strip() for shell in shells]

    def log(self) -> str:
        """What the processes wrote to their logs."""
        return (self._folder / "errors.log").read_text(encoding="utf-8")

    # ------------------------------------------------------------------------------------------------------ Slack

    def ask(self, *texts: str) -> list[str]:
        """Ask in Slack, each question in a new thread, and wait until all are answered; returns the threads."""
        threads = [self.slack.say("U1", CHANNEL, f"<@{BOT_USER}> {text}")["ts"] for text in texts]
        self.wait_for_answers(threads)
        return threads

    def wait_for_answers(self, threads: Sequence[str]) -> None:
        """Wait until each thread has an answer."""
        self.slack.wait(lambda: all(self.answers(thread) for thread in threads), SECONDS)

    def answers(self, thread: str) -> list[str]:
        """The ids of the finished answers in a thread."""
        found = (payload_of(message).get("answer", "") for message in self.slack.answers(CHANNEL, thread))
        return [str(answer) for answer in found if answer]

    def deliver_again(self, threads: Sequence[str]) -> None:
        """Deliver the questions once more, as Slack does with what was not acknowledged in time."""
        for thread in threads:
            message = self.slack.workspace.messages[CHANNEL][thread]
            for body in self.slack.bodies_of(CHANNEL, message):
                self.slack.deliver(body)
        assert self.slack.settle(SECONDS)

    def ask_all(self, *texts: str) -> list[str]:
        """Ask in Slack, deliver each question to every bot, and wait until all are answered; returns the threads."""
        return self._ask_at(self.slack.sockets.connections, texts)

    def ask_each(self, text: str) -> list[str]:
        """Ask every bot a question of its own, and wait until all are answered; returns the threads."""
        return [thread for bot in self.slack.sockets.connections for thread in self._ask_at([bot], [text])]

    def _ask_at(self, bots: Sequence[Connection], texts: Sequence[str]) -> list[str]:
        sent: list[Envelope] = []
        threads = []
        for text in texts:
            message = self.slack.say("U1", CHANNEL, f"<@{BOT_USER}> {text}", send=False)
            threads.append(message["ts"])
            for body in self.slack.bodies_of(CHANNEL, message):
                for place, bot in enumerate(bots):
                    sent.append(Envelope(f"{body['event_id']}-{place}", "events_api", body))
                    self.slack.sockets.envelopes[sent[-1].id] = sent[-1]
                    bot.send(sent[-1].as_json())
        assert self.slack.sockets.wait(lambda: all(one.acked for one in sent), SECONDS)
        self.wait_for_answers(threads)
        return threads

    # ----------------------------------------------------------------------------------------------------- records

    @contextmanager
    def records(self) -> Iterator[Records]:
        """The records, opened and closed by this process."""
        with Records.open(self.records_url, str) as opened:
            yield opened

    def recorded(self) -> list[str]:
        """The ids of all answers that are recorded."""
        with self.records() as records:
            return [one.id for one in records.latest(10_000)]

    def wait_until_recorded(self, wanted: set[str], seconds: float = 10.0) -> None:
        """Wait until all these answers are recorded."""
        until = time.monotonic() + seconds
        while not wanted <= (found := set(self.recorded())):
            assert time.monotonic() < until, f"{len(wanted & found)} of {len(wanted)} answers are recorded"
            time.sleep(0.1)

    def integrity(self) -> str:
        """Read every record, and return what SQLite finds wrong with the file, or "ok"."""
        with self.records() as records, records.engine.connect() as connection:
            for one in records.latest(10_000):
                records.get(one.id)
            sqlite = connection.dialect.name == "sqlite"
            return str(connection.exec_driver_sql("PRAGMA integrity_check").scalar()) if sqlite else "ok"


def deleted_files(process: subprocess.Popen[str]) -> list[str]:
    """The files of records that a process holds open although they were deleted."""
    targets: list[str] = []
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            targets.append(str(descriptor.readlink()))
    return [target for target in targets if ".db" in target and "(deleted)" in target]


def main(act: str, *questions: str) -> None:
    settings = load_settings()
    {"bot": _answer_in_slack, "ask": _ask, "twice": _ask_twice}[act](settings, questions)


def _answer_in_slack(settings: Settings, _: Sequence[str]) -> None:
    serve(settings, make_pipeline=lambda _, recorder, *__: EchoPipeline(recorder))


def _ask(settings: Settings, questions: Sequence[str]) -> None:
    with make_recorder(settings) as recorder:
        for text in questions:
            print(_answered(EchoPipeline(recorder), text))


def _ask_twice(settings: Settings, questions: Sequence[str]) -> None:
    with open_records(settings, make=True), make_recorder(settings) as recorder:
        for text in questions:
            answer_id = _answered(EchoPipeline(recorder), text)
            recorder.flush()
            print(answer_id, flush=True)
            sys.stdin.readline()


def _answered(pipeline: EchoPipeline, text: str) -> str:
    for event in pipeline.stream(Question(text)):
        if isinstance(event, Answered):
            return event.answer.id
    raise AssertionError("no answer")


if __name__ == "__main__":
    main(*sys.argv[1:])
