"""Kill -9 at random moments of a sync, a build or a promotion, each followed by a rerun, which must make it whole.

    python -m bench.kill [sync|build|promote …] [--store weaviate] [--kills 20] [--seed 1]

With the real embedder and the `lore` command. After a sync and a build the index must equal that of an undisturbed run,
to the bit (a server's version takes the next number where the kill fell between claiming and recording one); during a
promotion questions must find one version or the other, whole, and after the rerun the new one. The moments are spread
over the whole command. Prints JSON; exits with 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore.protocols import Versions
from lore.settings import load_settings
from lore.wiring.stores import open_versions

from bench.corpus import load_corpus
from bench.scale.stores import STORES

DOCUMENTS = 60
SMALLER = "600"
"""The budget of the second version's chunks."""
SCRIPT = """
import sys
from lore.cli import main
sys.argv = ["lore", *sys.argv[1:]]
print("started", flush=True)
main()
"""
SYNC = ("sync", "--all")
BUILD = ("index", "build", "--chunk-characters", SMALLER)
PROMOTE = ("index", "promote", "2", "--force")


@dataclass(frozen=True, slots=True)
class Act:
    """A command that is killed, and what has to be run before it."""

    command: Sequence[str]
    before: Sequence[Sequence[str]] = ()


ACTS = {"sync": Act(SYNC), "build": Act(BUILD, (SYNC,)), "promote": Act(PROMOTE, (SYNC, BUILD))}


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("acts", nargs="*", metavar="act", help=f"of {', '.join(ACTS)}; without any, all of them")
    parser.add_argument("--store", choices=sorted(STORES), default="lancedb")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    acts = arguments.acts or list(ACTS)
    if unknown := set(acts) - ACTS.keys():  # `choices` would refuse to be given none
        parser.error(f"no such act: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as name, STORES[arguments.store](Path(name) / "store") as place:
        house = House(Path(name), place.environment)
        chance = random.Random(arguments.seed)
        report = {act: house.kill(ACTS[act], arguments.kills, chance) for act in acts}
    json.dump({"store": arguments.store} | report, sys.stdout, indent=2)
    print()
    sys.exit(any(figures["whole_after_rerun"] != arguments.kills for figures in report.values()))


class House:
    """Real pages as a folder of files, and an index of its own for each run."""

    def __init__(self, folder: Path, environment: Any) -> None:
        self._folder = folder
        self._environment = dict(environment)
        corpus = (load_corpus().folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        (folder / "pages").mkdir()
        for number, line in enumerate(corpus[:DOCUMENTS]):
            (folder / "pages" / f"{number:03d}.md").write_text(json.loads(line)["text"], encoding="utf-8")
        (folder / "sources").mkdir()
        (folder / "sources" / "pages.yaml").write_text("kind: files\ntitle: Pages\npath: ../pages\n", encoding="utf-8")
        self._runs = 0

    def kill(self, act: Act, kills: int, chance: random.Random) -> dict[str, Any]:
        """The figures of one act."""
        run = self._prepared(act)
        started = time.perf_counter()
        self._finish(run, act.command)
        whole = time.perf_counter() - started
        expected = self._contents(run, self._newest(run))
        killed = equal = 0
        for _ in range(kills):
            run = self._prepared(act)
            before = self._live(run) and self._contents(run, self._live(run))
            process = self._start(run, act.command)
            time.sleep(chance.uniform(0, whole))
            killed += process.poll() is None
            process.kill()
            process.communicate()
            live = self._live(run)
            between = act.command != PROMOTE or self._contents(run, live) == (before if live == 1 else expected)
            if act.command != PROMOTE or live == 1:
                self._finish(run, act.command)
            newest = self._newest(run)
            done = self._contents(run, newest) == expected
            equal += between and done and (act.command != PROMOTE or self._live(run) == newest)
        return {
            "seconds_undisturbed": round(whole, 2),
            "chunks": sum(map(len, expected.values())),
            "rounds": kills,
            "killed_while_running": killed,
            "whole_after_rerun": equal,
        }

    def _prepared(self, act: Act) -> str:
        self._runs += 1
        run = f"Run{self._runs}"
        for command in act.before:
            self._finish(run, command)
        return run

    def _settings(self, run: str) -> dict[str, str]:
        return self._environment | {
            "LORE_SOURCES_DIR": str(self._folder / "sources"),
            "LORE_INDEX_URI": str(self._folder / run / "index"),
            "LORE_STAGING_URI": str(self._folder / run / "staging"),
            "LORE_WEAVIATE_PREFIX": run,
        }

    def _start(self, run: str, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command and wait until Python has begun with it."""
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *command],
            env=os.environ | self._settings(run),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        process.stdout.readline()
        return process

    def _finish(self, run: str, command: Sequence[str]) -> None:
        """Let a command end; it must end well."""
        process = self._start(run, command)
        _, errors = process.communicate()
        if process.returncode:
            sys.exit(f"lore {' '.join(command)} failed:\n{errors}")

    def _live(self, run: str) -> int | None:
        return self._versions(run).live()

    def _newest(self, run: str) -> int:
        return max(version.number for version in self._versions(run).all())

    def _versions(self, run: str) -> Versions:
        return open_versions(load_settings(os.environ | self._settings(run)))

    def _contents(self, run: str, number: int | None) -> dict[str, list[object]]:
        """Everything that a version holds: ids, texts, places and vectors of each document's chunks."""
        assert number is not None
        store = self._versions(run).open(number)
        held: dict[str, list[object]] = {}
        for document in store.documents():
            chunks = store.chunks(document.id)
            vectors = store.vectors_for([chunk.content_hash for chunk in chunks])
            held[document.id] = [(chunk, vectors[chunk.content_hash].tobytes()) for chunk in chunks]
        counts = store.count()
        assert counts.chunks == counts.recorded_chunks == sum(map(len, held.values()))
        assert store.fingerprints() == store.document_fingerprints()
        return held


if __name__ == "__main__":
    main()
