"""Time and peak memory of an export and an import, by the size of the index: the memory must not grow with it.

    python -m bench.baseline [--megabytes 100,1000] [--store weaviate]

Made-up pages of 20,000 characters, a passage each (so that it is the text that is large), random unit vectors, the real
store; export and import are processes of their own.
Prints JSON: for each size seconds and megabytes at the peak of both, and the size of the file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lore.ingest.baseline.baseline import Baseline
from lore.ingest.options import DocumentSteps, SyncTarget
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.settings import load_settings
from lore.wiring.stores import open_store

from bench.memory import FreeEmbedder, Pages
from bench.scale.meter import peak_megabytes
from bench.scale.stores import STORES

CHARACTERS = 20_000
STEPS = ("fill", "export", "import")


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=lambda text: [int(size) for size in text.split(",")], default=[100, 1_000])
    parser.add_argument("--store", choices=sorted(STORES), default="lancedb")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        json.dump(measure(arguments.step, arguments.file, arguments.megabytes[0]), sys.stdout)
        return
    figures = {size: _one_size(arguments.store, size) for size in arguments.megabytes}
    json.dump({"store": arguments.store, "megabytes": figures}, sys.stdout, indent=2)
    print()


def _one_size(name: str, megabytes: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, STORES[name](Path(folder) / "index") as place:
        file = Path(folder) / "baseline.parquet"
        for step in STEPS:
            other = {"LORE_INDEX_URI": f"{folder}/other", "LORE_WEAVIATE_PREFIX": "Other"} if step == "import" else {}
            environment = os.environ | dict(place.environment) | {"LORE_STAGING_URI": f"{folder}/staging"} | other
            command = [sys.executable, "-m", "bench.baseline", "--step", step, "--file", str(file)]
            command += ["--megabytes", str(megabytes)]
            print(f"{name}, {megabytes} MB: {step} ...", file=sys.stderr, flush=True)
            run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            figures[step] = json.loads(run.stdout)
    return figures


def measure(step: str, file: Path, megabytes: int) -> dict[str, float]:
    """One step in this process."""
    settings, embedder, splitter = load_settings(), FreeEmbedder(), MarkdownSplitter(25_000)
    store = open_store(settings, embedder, splitter)
    started, more = time.perf_counter(), {}
    if step == "fill":
        pages = Pages(megabytes * 1_000_000 // CHARACTERS, characters=CHARACTERS)
        Sync(
            pages,
            SyncTarget(store, embedder),
            DocumentSteps(lambda page: page, splitter),
            staging_uri=settings.ingest.staging_uri,
        ).run()
    else:
        baseline = Baseline(store, embedder, splitter, staging_uri=settings.ingest.staging_uri)
        if step == "export":
            more = {"file_mb": round(baseline.export(file).bytes / 1e6)}
        else:
            report = baseline.load(file)
            assert report.embedded_texts == 0
            more = {"documents": report.documents, "chunks": report.chunks}
    return {"peak_mb": peak_megabytes("self"), "seconds": round(time.perf_counter() - started, 1), **more}


if __name__ == "__main__":
    main()
