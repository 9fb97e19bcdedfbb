"""Several processes on the same records for minutes, one of them killed every few seconds, in turn. Prints JSON.

    python -m bench.records [sqlite|postgres …] [--seconds 300] [--every 10] [--seed 1]

Two bots are asked in a small Slack, `lore ask` asks in a loop, and `lore answers list` lists in another. Every answer
that was shown must be recorded, every question that a bot took in Slack must end once, no command may fail that was not
killed, and the database must be whole. The bots' pipeline says fixed words; all else is what Lore runs. Exits with 1
where one of these is broken.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.records.processes import CHANNEL, LORE, House
from tests.servers import postgres
from tests.servers.slack.app import BOT_USER
from tests.slackbot.bots import payload_of

ASK_PAUSE = 0.5
"""Seconds between two questions in Slack."""
END_SECONDS = 120.0
"""How long it may take until the next question ends: what a killed bot held is taken over when a lease of 30 s ends."""
PLACES = {"SOURCES_DIR": "sources", "INDEX_URI": "index", "STAGING_URI": "staging", "CACHE_DIR": "cache"}
PAGE = "# Deploying\n\n## Steps\n\nRun `deploy up` on the build machine; the site is live after a minute.\n"


class Loop(threading.Thread):
    """A command that is run again and again, and may be killed meanwhile."""

    def __init__(self, house: House, *command: str) -> None:
        super().__init__(daemon=True)
        self.printed: list[Any] = []
        self.runs = self.killed = 0
        self.failures: list[str] = []
        self._house = house
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._over = threading.Event()

    def run(self) -> None:
        """Run it until `end`."""
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        while not self._over.is_set():
            process = subprocess.Popen([*LORE, *self._command], env=self._house.environment, text=True, **pipes)
            self._process = process
            output, errors = process.communicate()
            self.runs += 1
            if process.returncode not in (0, -signal.SIGKILL):
                self.failures.append(errors[-500:])
            with suppress(ValueError):  # killed before it had printed all
                self.printed.append(json.loads(output))

    def kill(self) -> None:
        """Kill the process that runs now."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self.killed += 1

    def end(self) -> None:
        """Let the last run end."""
        self._over.set()
        self.join()


class Bots:
    """Two bots, and somebody who asks them."""

    def __init__(self, house: House) -> None:
        self.killed = 0
        self.threads: list[str] = []
        self._house = house
        self._over = threading.Event()
        self._asker = threading.Thread(target=self._ask, daemon=True)
        self._running = [house.start_bot(), house.start_bot()]

    def start(self) -> None:
        """Begin to ask."""
        self._asker.start()

    def kill(self, place: int) -> None:
        """Kill one of the two, and start another in its place."""
        self._running[place].kill()
        self._running[place].wait()
        self.killed += 1
        self._running[place] = self._house.start("bot")

    def end(self) -> None:
        """Ask nothing more, let all questions end, and stop the bots."""
        self._over.set()
        self._asker.join()
        self._house.slack.settle(END_SECONDS)
        left, until = len(self.threads), time.monotonic() + END_SECONDS
        while left and time.monotonic() < until:
            time.sleep(ASK_PAUSE)
            before, left = left, sum(not self.ends(thread) for thread in self.taken())
            if left < before:
                until = time.monotonic() + END_SECONDS
        for bot in self._running:
            bot.send_signal(signal.SIGTERM)
        for bot in self._running:
            bot.wait(END_SECONDS)

    def taken(self) -> list[str]:
        """The threads of the questions that a bot acknowledged; Slack gives up what none acknowledges in its time."""
        envelopes = list(self._house.slack.sockets.envelopes.values())
        acknowledged = {envelope.payload["event"]["ts"] for envelope in envelopes if envelope.acked}
        return [thread for thread in self.threads if thread in acknowledged]

    def ends(self, thread: str) -> list[str]:
        """How the bots' finished messages in a thread ended: an answer's id, or "apology"."""
        payloads = [payload_of(message) for message in self._house.slack.answers(CHANNEL, thread)]
        return [one.get("answer") or "apology" for one in payloads if one.get("answer") or one.get("closed")]

    def _ask(self) -> None:
        while not self._over.wait(ASK_PAUSE):
            text = f"<@{BOT_USER}> Question {len(self.threads)}?"
            self.threads.append(self._house.slack.say("U1", CHANNEL, text)["ts"])


def soak(folder: Path, url: str, *, seconds: float, every: float, seed: int) -> dict[str, Any]:
    """The figures of one database."""
    (folder / "pages").mkdir()
    (folder / "pages" / "deploying.md").write_text(PAGE, encoding="utf-8")
    (folder / "sources").mkdir()
    (folder / "sources" / "pages.yaml").write_text("kind: files\ntitle: Pages\npath: ../pages\n", encoding="utf-8")
    with House(folder, url, {name: str(folder / place) for name, place in PLACES.items()}) as house:
        house.run(*LORE, "sync", "--all")
        bots = Bots(house)
        asks = Loop(house, "ask", "How do I deploy?", "--json")
        lists = Loop(house, "answers", "list", "--json")
        for one in (bots, asks, lists):
            one.start()
        chance, until = random.Random(seed), time.monotonic() + seconds
        victims = cycle((asks.kill, lambda: bots.kill(0), lists.kill, lambda: bots.kill(1)))
        while (pause := every * chance.uniform(0.5, 1.5)) < until - time.monotonic():
            time.sleep(pause)
            next(victims)()
        asks.end()
        lists.end()
        bots.end()
        return _figures(house, bots, asks, lists)


def _figures(house: House, bots: Bots, asks: Loop, lists: Loop) -> dict[str, Any]:
    taken = bots.taken()
    ends = [bots.ends(thread) for thread in taken]
    in_slack = [end for one in ends for end in one if end != "apology"]
    by_ask = [printed["id"] for printed in asks.printed]
    recorded = Counter(house.recorded())
    figures = {
        "killed": {"bots": bots.killed, "ask": asks.killed, "list": lists.killed},
        "asked_in_slack": len(bots.threads),
        "taken": len(taken),
        "ended_once": sum(len(one) == 1 for one in ends),
        "apologies": sum(one == ["apology"] for one in ends),
        "lore_ask": asks.runs,
        "lore_answers_list": lists.runs,
        "failed_commands": asks.failures + lists.failures,
        "shown": {"in_slack": len(in_slack), "by_lore_ask": len(by_ask)},
        "shown_and_not_recorded": [one for one in [*in_slack, *by_ask] if recorded[one] != 1],
        "recorded": recorded.total(),
        "integrity": house.integrity(),
    }
    kept = figures["ended_once"] == len(ends) and figures["integrity"] == "ok"
    return figures | {"kept": kept and not figures["failed_commands"] and not figures["shown_and_not_recorded"]}


@contextmanager
def sqlite_url(folder: Path) -> Iterator[str]:
    """A file."""
    yield f"sqlite:///{folder}/records.db"


@contextmanager
def postgres_url(_: Path) -> Iterator[str]:
    """A database on a server of its own."""
    with postgres.running() as server:
        yield server.database()


DATABASES = {"sqlite": sqlite_url, "postgres": postgres_url}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("databases", nargs="*", choices=[*DATABASES, []], default=[])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--every", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    report: dict[str, Any] = {}
    for name in given.databases or DATABASES:
        with tempfile.TemporaryDirectory() as folder, DATABASES[name](Path(folder)) as url:
            report[name] = soak(Path(folder), url, seconds=given.seconds, every=given.every, seed=given.seed)
    json.dump(report, sys.stdout, indent=2)
    print()
    sys.exit(not all(figures["kept"] for figures in report.values()))


if __name__ == "__main__":
    main()
