"""The Slack bot under load and kill -9, as `lore slack` runs it, against a small Slack on this machine. Prints JSON.

    python -m bench.slack [duplicates|kills|askers …] [--questions 200] [--deliveries 10000] [--rounds 3]

- duplicates: deliveries of questions, again and out of order, by forty threads, to two bots with the same records: each
  question must have one answer.
- kills: a bot is killed in the middle of 50 answers at a random moment, and another one started: each question must
  have one answer or one apology.
- askers: 50 people ask at once; how long it takes until each sees a first sign.

The pipeline says fixed words and pauses between them; all else is the real bot. Exits with 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved
from lore.types import Answer, Plan, Question, Trace

from tests.servers.slack.app import BOT_USER, SlackApp, channel, person

CHANNEL = "C1"
PEOPLE = 50
START_SECONDS = 300.0
ANSWER_SECONDS = 900.0
LOOK_SECONDS = 0.2
ACK_LOOK_SECONDS = 0.01
UNACKED = 40
"""Deliveries in flight at the same time."""
SIGNS = frozenset({"assistant.threads.setStatus", "chat.postMessage", "chat.startStream", "chat.postEphemeral"})


class SlowPipeline:
    """Takes `pause` seconds for each of ten pieces of an answer."""

    def __init__(self, pause: float) -> None:
        self._pause = pause

    def stream(self, question: Question) -> Iterator[Event]:
        """Yield the events of one answer."""
        plan = Plan(question.text, (question.text,))
        yield Planned(plan)
        yield Retrieved((8,), 8)
        yield Reranked(())
        pieces = [f"Sentence {number} of the answer to {question.text[:60]}. " for number in range(10)]
        for piece in pieces:
            time.sleep(self._pause)
            yield Delta(piece)
        yield Answered(Answer(question, "".join(pieces), (), True, Trace(plan), id=uuid4().hex))


def run_bot(pause: float) -> None:
    """Run `lore slack` with the slow pipeline, in a child process, until it is stopped or killed."""
    from lore.settings import load_settings
    from lore.slackbot.app.serve import serve

    serve(load_settings(), make_pipeline=lambda settings, recorder, *_: SlowPipeline(pause))


class Stage:
    """A Slack, records, and bots that are child processes."""

    def __init__(self, folder: Path, *, pause: float, **settings: object) -> None:
        users = [f"U{number}" for number in range(PEOPLE)]
        self.slack = SlackApp([channel(CHANNEL, members=[*users, BOT_USER])], [person(user) for user in users])
        self._folder = folder
        self._pause = pause
        self._settings = settings

    def __enter__(self) -> Stage:
        self.slack.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self.slack.__exit__(*details)

    def start(self) -> subprocess.Popen[bytes]:
        """Start a bot, and return it once it is connected."""
        settings = {
            "SLACK_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_BASE_URL": self.slack.base_url,
            "RECORDS_URL": f"sqlite:///{self._folder}/records.db",
            "ASSISTANT": self._folder / "assistant.yaml",
            "SLACK_USER_LIMIT": 0,
            "SLACK_CHANNEL_LIMIT": 0,
            "SLACK_QUEUE": 1_000,
            **self._settings,
        }
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LORE_")}
        environment |= {f"LORE_{name}": str(value) for name, value in settings.items()}
        connected = self.slack.sockets.connected
        log = self._folder / "bot.log"
        with log.open("ab") as file:
            command = [sys.executable, "-m", "bench.slack", "--bot", str(self._pause)]
            process = subprocess.Popen(command, env=environment, stderr=file)
        if not self.slack.sockets.wait_connected(connected + 1, START_SECONDS):
            process.kill()
            sys.exit(f"The bot did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")
        return process

    def ask(self, number: int, *, send: bool = True) -> str:
        """Ask in a new thread, and return its ts."""
        asked = self.slack.say(f"U{number % PEOPLE}", CHANNEL, f"<@{BOT_USER}> Question {number}?", send=send)
        return str(asked["ts"])

    def deliver(self, body: dict[str, Any]) -> float:
        """Deliver an event, and return the seconds until it is acknowledged or Slack gives up."""
        started = time.monotonic()
        envelope = self.slack.deliver(body)
        while not (envelope.acked or envelope.failed):
            time.sleep(ACK_LOOK_SECONDS)
        return time.monotonic() - started

    def wait_for_ends(self, threads: list[str]) -> float:
        """Wait until each thread has an answer or an apology, and return the seconds."""
        started = time.monotonic()
        while time.monotonic() < started + ANSWER_SECONDS:
            ended = {message["thread_ts"] for message in self.slack.posted(CHANNEL) if ending(message)}
            if ended.issuperset(threads):
                break
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - started

    def count(self, threads: list[str]) -> dict[str, int]:
        """Count how the questions ended."""
        ends: dict[str, list[str]] = {ts: [] for ts in threads}
        for message in self.slack.posted(CHANNEL):
            if message["thread_ts"] in ends:
                ends[message["thread_ts"]].append(ending(message) or "open")
        kinds = Counter(one[0] if len(one) == 1 else "several" if one else "none" for one in ends.values())
        return {name: kinds[name] for name in ("answer", "apology", "open", "none", "several")}


def ending(message: Mapping[str, Any]) -> str:
    """Return "answer" or "apology" for a message that is one; "" for neither."""
    payload = message.get("metadata", {}).get("event_payload", {})
    return "answer" if payload.get("answer") else "apology" if payload.get("closed") else ""


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a bot with SIGTERM."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def duplicates(folder: Path, arguments: argparse.Namespace, chance: random.Random) -> dict[str, Any]:
    """Return the figures of many deliveries to two bots."""
    with Stage(folder, pause=0.0, SLACK_WORKERS=4) as stage:
        threads = [stage.ask(number, send=False) for number in range(arguments.questions)]
        messages = [stage.slack.workspace.messages[CHANNEL][ts] for ts in threads]
        bodies = [body for message in messages for body in stage.slack.bodies_of(CHANNEL, message)]
        deliveries = [bodies[number % len(bodies)] for number in range(arguments.deliveries)]
        chance.shuffle(deliveries)
        bots = [stage.start(), stage.start()]
        started = time.monotonic()
        with ThreadPoolExecutor(UNACKED) as pool:
            waits = sorted(pool.map(stage.deliver, deliveries))
        seconds = time.monotonic() - started
        stage.wait_for_ends(threads)
        envelopes = list(stage.slack.sockets.envelopes.values())
        ends = stage.count(threads)
        for bot in bots:
            stop(bot)
        return {
            "questions": len(threads),
            "deliveries": len(deliveries),
            "sent_again_by_slack": sum(max(0, envelope.attempt) for envelope in envelopes),
            "given_up_by_slack": sum(envelope.failed for envelope in envelopes),
            "seconds": round(seconds, 1),
            "acknowledged_p95_seconds": round(waits[len(waits) * 95 // 100], 3),
            "acknowledged_last_seconds": round(waits[-1], 3),
            "ends": ends,
            "kept": ends == stage.count(threads) and ends["answer"] == len(threads),
        }


def kills(folder: Path, arguments: argparse.Namespace, chance: random.Random) -> dict[str, Any]:
    """Return the figures of rounds in which a bot is killed in the middle of 50 answers."""
    rounds = []
    for number in range(arguments.rounds):
        place = folder / f"round{number}"
        place.mkdir()
        with Stage(place, pause=0.4, SLACK_WORKERS=16) as stage:
            bot = stage.start()
            threads = [stage.ask(one) for one in range(PEOPLE)]
            stage.slack.wait(lambda stage=stage: len(stage.slack.called("chat.startStream")) >= 3, ANSWER_SECONDS)
            time.sleep(chance.uniform(0.0, 5.0))
            seen = [len(stage.slack.thread(CHANNEL, ts)) > 1 for ts in threads]
            bot.kill()
            bot.wait()
            before = stage.count(threads)
            bot = stage.start()
            seconds = stage.wait_for_ends(threads)
            stop(bot)
            rounds.append(
                {
                    "whole_before": before["answer"],
                    "seen_in_part": sum(seen) - before["answer"],
                    "seconds_until_all_ended": round(seconds, 1),
                    "ends": stage.count(threads),
                }
            )
    kept = all(one["ends"]["answer"] + one["ends"]["apology"] == PEOPLE for one in rounds)
    return {"questions": PEOPLE, "rounds": rounds, "kept": kept}


def askers(folder: Path, _: argparse.Namespace, __: random.Random) -> dict[str, Any]:
    """Return the figures of 50 people who ask at once."""
    with Stage(folder, pause=0.3) as stage:
        bot = stage.start()
        stage.wait_for_ends([stage.ask(PEOPLE)])  # so that all is loaded
        asked_at: dict[str, float] = {}

        def ask(number: int) -> None:
            at = time.monotonic()
            asked_at[stage.ask(number)] = at

        with ThreadPoolExecutor(PEOPLE) as pool:
            list(pool.map(ask, range(PEOPLE)))
        threads = list(asked_at)
        whole = stage.wait_for_ends(threads)
        first: dict[str, float] = {}
        for call in stage.slack.calls:
            if call.method in SIGNS and not call.error:
                first.setdefault(str(call.args.get("thread_ts")), call.at)
        waits = sorted(first[ts] - asked_at[ts] for ts in threads)
        ends = stage.count(threads)
        stop(bot)
        p95 = statistics.quantiles(waits, n=20)[-1]
        return {
            "askers": PEOPLE,
            "first_sign_p50_seconds": round(statistics.median(waits), 3),
            "first_sign_p95_seconds": round(p95, 3),
            "first_sign_last_seconds": round(waits[-1], 3),
            "seconds_until_all_answered": round(whole, 1),
            "ends": ends,
            "kept": p95 <= 1.0 and ends["answer"] == PEOPLE,
        }


ACTS = {"duplicates": duplicates, "kills": kills, "askers": askers}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("acts", nargs="*", choices=[*ACTS, []], default=[])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--deliveries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bot", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bot is not None:
        run_bot(arguments.bot)
        return
    report: dict[str, Any] = {}
    with ExitStack() as stack:
        for act in arguments.acts or ACTS:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            report[act] = ACTS[act](folder, arguments, random.Random(arguments.seed))
    json.dump(report, sys.stdout, indent=2)
    print()
    sys.exit(not all(figures["kept"] for figures in report.values()))


if __name__ == "__main__":
    main()
