"""A resident `lore serve` on the Ray documentation: how soon it answers, how many at once, for how long. Prints JSON.

    python -m bench.web [--questions 1000] [--askers 50]

`first_event_ms` is the time until the first event, `planned_ms` until the first that needed work, `answer_ms` until the
whole answer; no language model is set. `resident_times_sooner` compares an answer with a fresh `lore ask`. `mixed_up`
counts answers to another question than the one asked, and those that differ from the first answer to the same question.
`grown_mb` is what the server's memory grew by between the first hundredth of the questions and the last. Exits with 1
if a question failed or was mixed up.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
from lore.evaluation.beir.dataset import BeirSource

from bench.corpus import load_corpus
from bench.stopwatch import seconds

LORE = (sys.executable, "-m", "lore.cli")
START_SECONDS = 60.0
FRESH = 5


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--askers", type=int, default=50)
    given = parser.parse_args()
    corpus = load_corpus()
    texts = [query.text for query in corpus.queries]
    with tempfile.TemporaryDirectory() as folder:
        environment = _index(Path(folder), BeirSource(corpus.folder))
        with _served(environment) as (url, process):
            report = _measure(url, process.pid, texts, given.questions, given.askers)
        fresh = [seconds(lambda: _run(environment, "ask", "--json", "--", texts[0])) for _ in range(FRESH)]
    report["fresh_ask_ms"] = round(1000 * median(fresh))
    report["resident_times_sooner"] = round(report["fresh_ask_ms"] / report["one_by_one"]["answer_ms"]["p50"], 1)
    json.dump(report, sys.stdout, indent=2)
    print()
    sys.exit(bool(report["failed"] or report["mixed_up"]))


def _index(folder: Path, source: BeirSource) -> dict[str, str]:
    """Index the pages in the folder; returns the environment for it."""
    (folder / "pages").mkdir()
    pages = (page for batch in source.read(None) for page in batch.documents)
    for number, page in enumerate(pages):
        (folder / "pages" / f"{number}.md").write_text(f"# {page.title}\n\n{page.text}", encoding="utf-8")
    (folder / "sources").mkdir()
    (folder / "sources" / "pages.yaml").write_text("kind: files\ntitle: Pages\npath: ../pages\n", encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LORE_")}
    settings = {
        "SOURCES_DIR": folder / "sources",
        "INDEX_URI": folder / "index",
        "STAGING_URI": folder / "staging",
        "RECORDS_URL": f"sqlite:///{folder}/records.db",
        "WEB_QUEUE": 1000,
    }
    environment = clean | {f"LORE_{name}": str(value) for name, value in settings.items()}
    _run(environment, "sync", "--all")
    return environment


def _run(environment: dict[str, str], *command: str) -> None:
    subprocess.run([*LORE, *command], env=environment, check=True, capture_output=True)


@contextmanager
def _served(environment: dict[str, str]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [*LORE, "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        match = re.search(r"http://\S+", process.stderr.readline())
        assert match, "the server didn't start"
        yield match[0].rstrip("/"), process
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _measure(url: str, pid: int, texts: Sequence[str], questions: int, askers: int) -> dict[str, Any]:
    with httpx.Client(base_url=url, timeout=120) as client:
        chunks = client.get("/api/sources").json()["sources"]
        _ask(client, texts[0])
        one_by_one = [_ask(client, texts[number % len(texts)]) for number in range(100)]
    with ThreadPoolExecutor(askers) as pool:
        at_once = list(pool.map(lambda number: _ask_alone(url, texts[number % len(texts)]), range(4 * askers)))
    memory: list[float] = []
    in_a_row = []
    with httpx.Client(base_url=url, timeout=120) as client:
        for number in range(questions):
            in_a_row.append(_ask(client, texts[number % len(texts)]))
            if number in (questions // 100, questions - 1):
                memory.append(_memory_mb(pid))
    asked = [*one_by_one, *at_once, *in_a_row]
    first: dict[str, str] = {}
    return {
        "documents": sum(source["documents"] for source in chunks),
        "one_by_one": _figures(one_by_one),
        f"{askers}_at_once": _figures(at_once),
        f"{questions}_in_a_row": _figures(in_a_row),
        "failed": sum("failed" in one for one in asked),
        "mixed_up": sum(
            one["asked"] != one["question"] or one["text"] != first.setdefault(one["asked"], one["text"])
            for one in asked
            if "failed" not in one
        ),
        "memory_mb": round(memory[-1]),
        "grown_mb": round(memory[-1] - memory[0]),
    }


def _ask_alone(url: str, text: str) -> dict[str, Any]:
    with httpx.Client(base_url=url, timeout=120) as client:
        return _ask(client, text)


def _ask(client: httpx.Client, text: str) -> dict[str, Any]:
    """Ask over the stream; returns seconds, or the reason of the failure."""
    started = time.perf_counter()
    figures: dict[str, Any] = {}
    name = ""
    headers = {"Accept": "text/event-stream"}
    with client.stream("POST", "/api/ask", json={"question": text}, headers=headers) as response:
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
                if name in ("started", "planned"):
                    figures[name] = time.perf_counter() - started
            elif name == "done" and line.startswith("data: "):
                figures["answer"] = time.perf_counter() - started
                answer = json.loads(line[6:])["answer"]
                figures |= {"asked": text.strip(), "question": answer["question"], "text": answer["text"]}
    return figures if "answer" in figures else {"failed": name or response.status_code}


def _figures(asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    told = [one for one in asked if "failed" not in one]
    return {
        "questions": len(asked),
        "first_event_ms": _percentiles([one["started"] for one in told]),
        "planned_ms": _percentiles([one["planned"] for one in told]),
        "answer_ms": _percentiles([one["answer"] for one in told]),
    }


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(values, n=20)
    return {"p50": round(1000 * cuts[9], 1), "p95": round(1000 * cuts[18], 1)}


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


if __name__ == "__main__":
    main()
