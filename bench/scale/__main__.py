"""A store at 10,000 and 100,000 chunks: what writing, searching and small syncs cost, how that grows. Prints JSON.

    python -m bench.scale [--store lancedb|weaviate] [--sizes 10000,100000] [--phases build,search,sync]
                          [--rounds 150] [--syncs 4] [--changed 1000] [--keep FOLDER]

`--keep` keeps the real vectors and the indexes in a folder and takes up those that are there: an index that is whole is
searched and synced again and not built again. Without it all is made in a temporary folder; the local model then embeds
the real pages for some minutes first. `corpus` describes the pages. `--store weaviate` starts the server on PATH.

Each phase is a process of its own, so that its peak memory can be told. `cpu` is the processor time of that process,
and `server_cpu` that of the server: other work on the machine disturbs them less than it does `wall`.

build    writing everything with `Store.replace`, in groups as a sync does, then `Store.optimize`
search   three wordings side by side with 100 hits each at alpha .5 for the public, then dedup: alone, and with 8 askers
         at once; and which share of the true nearest 100 a search by vector alone finds. The snapshot, which says
         what version is live, is timed by itself: it is taken before the wordings are made. `fixed_work_ms` says how
         fast the machine was just then
sync     the real `Sync` of a source in which 1,000 documents changed, in one passage each; several times over, with
         what each method of the store took
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

import numpy as np
from lore.ingest.options import DocumentSteps, SyncTarget
from lore.ingest.sync import Sync
from lore.protocols import Store
from lore.query.deadlines import TimeLimit
from lore.query.retrieve.dedup import dedup
from lore.query.retrieve.search import retrieve
from lore.types import PUBLIC, Batch, Cursor, Document, Question
from lore.wiring.stores import open_store

from bench.scale.corpus import SOURCE_ID, Asked, ScaleCorpus, bench_settings
from bench.scale.meter import Meter, Metered, fixed_work, folder_megabytes, peak_megabytes, reset_peak
from bench.scale.prepared import PreparedDocument
from bench.scale.stores import STORES

if TYPE_CHECKING:
    from lore.types import Matrix

LIMIT = 100
ALPHA = 0.5
SECONDS = 60.0
ASKERS = 8
WARMING = 5
RECALL_QUESTIONS = 50
PHASES = ("build", "search", "sync")
REVISION = "revision"
"""A file in the index's folder: which revision the changing documents are at. It is written once the build is whole."""


def main() -> None:
    """Print JSON: for each size, what each phase measured."""
    arguments = _arguments()
    if arguments.phase:
        json.dump(_phase(arguments), sys.stdout)
        return
    report: dict[str, Any] = {"store": arguments.store}
    with ExitStack() as stack:
        keep = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keep.mkdir(parents=True, exist_ok=True)
        for size in arguments.sizes:
            report[str(size)] = _measure(arguments, keep, size)
    json.dump(report, sys.stdout, indent=2)
    print()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=sorted(STORES), default="lancedb")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[10_000, 100_000])
    parser.add_argument("--phases", type=lambda text: text.split(","), default=list(PHASES))
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--syncs", type=int, default=4)
    parser.add_argument("--changed", type=int, default=1_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    parser.add_argument("--server", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(arguments: argparse.Namespace, keep: Path, size: int) -> dict[str, Any]:
    """Run the phases on one index, each in a process of its own."""
    index = keep / f"{arguments.store}-{size}"
    report: dict[str, Any] = {}
    with STORES[arguments.store](index) as place:
        built = (index / REVISION).exists()
        for phase in PHASES:
            if (phase == "build" and built) or (phase not in arguments.phases and (built or phase != "build")):
                continue
            if place.server:
                reset_peak(place.server)
            print(f"{arguments.store}, {size} chunks: {phase} ...", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "bench.scale", "--phase", phase, "--index", str(index)]
            command += ["--keep", str(keep), "--sizes", str(size), "--rounds", str(arguments.rounds)]
            command += ["--syncs", str(arguments.syncs), "--changed", str(arguments.changed)]
            command += ["--server", str(place.server)] if place.server else []
            environment = os.environ | dict(place.environment)
            run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            report[phase] = json.loads(run.stdout) | {"disk_mb": folder_megabytes(place.data)}
            if place.server:
                report[phase]["server_peak_mb"] = peak_megabytes(place.server)
    return report


def _phase(arguments: argparse.Namespace) -> dict[str, Any]:
    """One phase, in this process."""
    corpus = ScaleCorpus(arguments.sizes[0], arguments.keep)
    given = PreparedDocument(corpus)
    bench = Bench(
        open_store(bench_settings(), given, given), corpus, given, arguments.index / REVISION, arguments.server
    )
    before = peak_megabytes("self")
    if arguments.phase == "build":
        report = bench.build()
    elif arguments.phase == "search":
        report = bench.search(arguments.rounds)
    else:
        report = bench.sync(arguments.syncs, arguments.changed)
    return {"peak_mb": peak_megabytes("self"), "peak_mb_before": before} | report


@dataclass(frozen=True)
class Changed:
    """A source in which some documents changed and the others did not; like most, it can list them all."""

    documents: tuple[Document, ...]
    ids: tuple[str, ...]
    id: str = SOURCE_ID

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """The changed documents."""
        yield Batch(self.documents, cursor="now")

    def list_ids(self) -> Iterator[str]:
        """The ids of all documents."""
        return iter(self.ids)


@dataclass(frozen=True)
class Bench:
    """The phases, on one store. `revision_file` says which revision the changing documents are at."""

    store: Store
    corpus: ScaleCorpus
    given: PreparedDocument
    revision_file: Path
    server: int | None

    def build(self) -> dict[str, Any]:
        """Write all; making the corpus is not counted."""
        write = {"wall": 0.0, "cpu": 0.0, "server_cpu": 0.0}
        chunks = 0
        for batch in self.corpus.batches():
            meter = Meter(self.server)
            self.store.replace(batch)
            for key, value in meter.read(4).items():
                write[key] += value
            chunks += sum(len(entry.chunks) for entry in batch)
        meter = Meter(self.server)
        self.store.optimize()
        optimize = meter.read()
        assert self.store.count().chunks == chunks
        self.revision_file.write_text("0 0")
        return {
            "documents": self.corpus.documents,
            "chunks": chunks,
            "write_seconds": {key: round(value, 1) for key, value in write.items()},
            "optimize_seconds": optimize,
            "chunks_per_second": round(chunks / (write["wall"] + optimize["wall"])),
        }

    def search(self, rounds: int) -> dict[str, Any]:
        """Ask `rounds` questions one after the other, and then by `ASKERS` at once."""
        for asked in self.corpus.questions:
            self.given.queries.update(zip(asked.wordings, asked.vectors, strict=True))
        order = np.random.default_rng(1).integers(len(self.corpus.questions), size=rounds + WARMING)
        questions = [self.corpus.questions[number] for number in order]
        list(map(self._ask, questions[:WARMING]))
        report: dict[str, Any] = {"fixed_work_ms": fixed_work()}
        for name, askers in (("alone", 1), (f"{ASKERS}_askers", ASKERS)):
            meter = Meter(self.server)
            with ThreadPoolExecutor(askers) as pool:
                taken = list(pool.map(self._ask, questions[WARMING:]))
            spent = meter.read(3)
            cuts, looking = quantiles([asking for asking, _ in taken], n=20), median(looking for _, looking in taken)
            report[name] = {"p50_ms": round(cuts[9], 1), "p95_ms": round(cuts[18], 1)}
            report[name] |= {"snapshot_p50_ms": round(looking, 1)}
            report[name] |= {"questions_per_second": round(rounds / spent.pop("wall"), 1)}
            report[name] |= {f"{key}_ms_each": round(1000 * value / rounds, 1) for key, value in spent.items()}
        report["peak_mb"] = peak_megabytes("self")  # before the true nearest are computed, which needs all vectors
        return report | {f"recall_at_{LIMIT}": self._recall()}

    def _ask(self, asked: Asked) -> tuple[float, float]:
        """Milliseconds from three wordings and their vectors to the candidates; and those before, for the snapshot."""
        began = time.perf_counter()
        question, index = Question(asked.text), self.store.snapshot()
        started = time.perf_counter()
        results = retrieve(
            index, self.given, asked.wordings, question, limit=LIMIT, alpha=ALPHA, time=TimeLimit(SECONDS, "SECONDS")
        ).results
        dedup(results)
        ended = time.perf_counter()
        assert all(len(hits) == LIMIT for hits in results)
        return 1000 * (ended - started), 1000 * (started - began)

    def _recall(self) -> dict[str, float]:
        """The share of the nearest chunks, by all vectors, that a search finds: the mean and the worst question."""
        revision, changed = map(int, self.revision_file.read_text().split())
        changing = set(self.corpus.changing(changed))
        names: list[str] = []
        rows: list[Matrix] = []
        for number in range(self.corpus.documents):
            entry = self.corpus.entry(number, revision if number in changing else 0)
            if PUBLIC in entry.document.audiences:
                names.extend(chunk.id for chunk in entry.chunks)
                rows.append(entry.vectors)
        matrix = np.concatenate(rows)
        shares = []
        for asked in self.corpus.questions[:RECALL_QUESTIONS]:
            nearest = np.argpartition(-(matrix @ asked.vectors[0]), LIMIT)[:LIMIT]
            hits = self.store.search(asked.text, asked.vectors[0], LIMIT, 1.0)
            shares.append(len({names[place] for place in nearest} & {hit.chunk.id for hit in hits}) / LIMIT)
        return {"mean": round(float(np.mean(shares)), 4), "min": round(min(shares), 2)}

    def sync(self, times: int, changed: int) -> dict[str, Any]:
        """Sync a source that changed, `times` over; each time the same documents change anew."""
        revision, _ = map(int, self.revision_file.read_text().split())
        syncs = []
        for number in range(revision + 1, revision + times + 1):
            entries = [self.corpus.entry(place, number) for place in self.corpus.changing(changed)]
            self.given.entries = {entry.document.id: entry for entry in entries}
            source = Changed(tuple(entry.document for entry in entries), tuple(self.corpus.document_ids()))
            store = Metered(self.store, self.server)
            with tempfile.TemporaryDirectory() as staging:
                sync = Sync(
                    source,
                    SyncTarget(store, self.given),
                    DocumentSteps(lambda document: document, self.given),
                    staging_uri=staging,
                )
                meter = Meter(self.server)
                report = sync.run()
            assert (report.changed, report.removed) == (len(entries), 0), report
            self.revision_file.write_text(f"{number} {changed}")
            syncs.append({"seconds": meter.read(), "embedded_texts": report.embedded_texts, "store": store.seconds})
        each = {key: [sync["seconds"][key] for sync in syncs] for key in syncs[0]["seconds"]}
        mean = {f"mean_{key}_seconds": round(float(np.mean(values)), 2) for key, values in each.items()}
        return {"documents": changed, **mean, "syncs": syncs}


if __name__ == "__main__":
    main()
