"""Kill -9 at random moments of a sync, each followed by a rerun: the store must equal that of an undisturbed run.

With the real embedder. Prints JSON; exits with 1 when anything differs. Random moments are spread over the whole sync.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.corpus import load_corpus
from include.lore.settings import Settings, load_settings
from include.lore.wiring import make_embedder, open_store

DOCUMENTS = 60
SCRIPT = """
import sys
from include.lore.cli import main
sys.argv = ["lore", "sync", "--all"]
print("started", flush=True)
main()
"""


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pages(folder)
        started = time.perf_counter()
        finish(start(folder, "undisturbed"))
        whole = time.perf_counter() - started
        expected = contents(folder, "undisturbed")
        killed, equal = 0, 0
        for number in range(arguments.kills):
            process = start(folder, f"run-{number}")
            time.sleep(chance.uniform(0, whole))
            killed += process.poll() is None
            process.kill()
            process.communicate()
            finish(start(folder, f"run-{number}"))
            equal += contents(folder, f"run-{number}") == expected
    report = {
        "seconds_undisturbed": round(whole, 2),
        "chunks": sum(map(len, expected.values())),
        "rounds": arguments.kills,
    }
    json.dump(report | {"killed_while_running": killed, "equal_to_undisturbed": equal}, sys.stdout, indent=2)
    print()
    sys.exit(equal != arguments.kills)


def write_pages(folder: Path) -> None:
    """Real pages as a folder of files, and its declaration."""
    corpus = (load_corpus().folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "pages").mkdir()
    for number, line in enumerate(corpus[:DOCUMENTS]):
        (folder / "pages" / f"{number:03d}.md").write_text(json.loads(line)["text"], encoding="utf-8")
    (folder / "sources").mkdir()
    (folder / "sources" / "pages.yaml").write_text("kind: files\ntitle: Pages\npath: ../pages\n", encoding="utf-8")


def environment(folder: Path, run: str) -> dict[str, str]:
    """Settings of one run."""
    return {
        "LORE_SOURCES_DIR": str(folder / "sources"),
        "LORE_STORE": "lancedb",
        "LORE_INDEX_URI": str(folder / run / "index"),
        "LORE_STAGING_URI": str(folder / run / "staging"),
    }


def start(folder: Path, run: str) -> subprocess.Popen[str]:
    """Start a sync and wait until Python has begun with it."""
    import os

    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | environment(folder, run),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    process.stdout.readline()
    return process


def finish(process: subprocess.Popen[str]) -> None:
    """Let a sync end; it must end well."""
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"The sync failed:\n{errors}")


def contents(folder: Path, run: str) -> dict[str, list[object]]:
    """Everything that the index of a run holds: ids, texts, places and vectors of each document's chunks."""
    settings: Settings = load_settings(environment(folder, run))
    store = open_store(settings, make_embedder(settings))
    held: dict[str, list[object]] = {}
    for document in store.documents():
        chunks = store.chunks(document.id)
        vectors = store.vectors_for([chunk.content_hash for chunk in chunks])
        held[document.id] = [(chunk, vectors[chunk.content_hash].tobytes()) for chunk in chunks]
    counts = store.count()
    assert counts.chunks == counts.recorded_chunks == sum(map(len, held.values()))
    return held


if __name__ == "__main__":
    main()
