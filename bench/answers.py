"""Answers of a language model on the Ray documentation, kept whole so that they can be counted and read by a person.

    python -m bench.answers --out FILE.jsonl [--index FOLDER] [--answerable 200] [--unanswerable 50] [--askers 2]
    python -m bench.answers --out FILE.jsonl --words-of OTHER.jsonl [--index FOLDER]
    python -m bench.answers --out FILE.jsonl --report

Asks the model that LORE_CHAT_MODEL names, with queries of the benchmark and with questions that the pages do not answer
(`unanswerable.yaml`). The plan is given (three wordings without a model), so a question is one call.
LORE_CONTEXT_TOKENS and LORE_RERANK_LIMIT suit a small model. Each answer is a line of FILE with the model's own words
before the check, the passages, and what the check took out; a run that was cut off goes on where it stopped. With
`--words-of` no model is asked: the words are those of an earlier file, and what is made of them is the code's of now.

Prints JSON. `links` are all addresses and link targets in the answers, found by a plain pattern and not by the code
that checks answers; `links_in_no_source` are those that stand in none of the passages given and are the address of
none of them, `raw_links_in_no_source` the same in the model's own words. `abstained` counts answers that say that
nothing was found.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from lore.errors import ModelError
from lore.evaluation.beir.run import run_beir
from lore.protocols import ChatModel, OnUsage
from lore.query.pipeline import Pipeline, PipelineModels
from lore.settings import load_settings
from lore.types import Message, Plan, Question
from lore.wiring.models import make_chat_model, make_embedder, make_reranker
from lore.wiring.query import make_pipeline_settings
from lore.wiring.stores import open_store

from bench.corpus import load_corpus, wordings
from bench.retrieval.abstention import UNANSWERABLE

LINK = re.compile(
    r"(?:https?|ftp)://[^\s<>\"'`|)\]}]+|\bwww\.[^\s<>\"'`|)\]}]+|\]\(\s*<?([^)\s>]*)|<a\s[^>]*href\s*=\s*[\"']?([^\"'\s>]+)"
)


def main() -> None:
    """Ask what was not asked yet, then print the figures of the whole file."""
    arguments = _arguments()
    if not arguments.report:
        _ask_all(arguments)
    rows = [json.loads(line) for line in arguments.out.read_text(encoding="utf-8").splitlines()]
    json.dump(report(rows), sys.stdout, indent=2)
    print()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the answers, a line of JSON each")
    parser.add_argument("--index", type=Path, help="folder of the index, built where there is none")
    parser.add_argument("--answerable", type=int, default=200)
    parser.add_argument("--unanswerable", type=int, default=50)
    parser.add_argument("--askers", type=int, default=2, help="questions at once")
    parser.add_argument("--words-of", type=Path, help="an earlier file, whose words of the model are used again")
    parser.add_argument("--report", action="store_true", help="only print the figures of the file")
    return parser.parse_args()


def _ask_all(arguments: argparse.Namespace) -> None:
    settings, corpus = load_settings(), load_corpus()
    model = Recorded(arguments.words_of) if arguments.words_of else make_chat_model(settings)
    if model is None:
        sys.exit("This bench needs LORE_CHAT_MODEL, or --words-of.")
    questions = [(query.text, "answerable") for query in corpus.queries[: arguments.answerable]]
    rows = yaml.safe_load(UNANSWERABLE.read_text(encoding="utf-8"))[: arguments.unanswerable]
    questions += [(row["question"], row["kind"]) for row in rows]
    done = set()
    if arguments.out.exists():
        done = {json.loads(line)["question"] for line in arguments.out.read_text(encoding="utf-8").splitlines()}
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder) / "index"
        run_beir(corpus.folder, settings, stages=("rerank",), limit_queries=1, index_dir=index)
        settings = settings.with_values(store="lancedb", index_uri=str(index))
        embedder = make_embedder(settings)
        index, reranker = open_store(settings, embedder), make_reranker(settings, embedder)
        lock = threading.Lock()

        def make(chat_model: ChatModel) -> Pipeline:
            models = PipelineModels(embedder, reranker, chat_model, settings.query.context_tokens)
            return Pipeline(index, models, make_pipeline_settings(settings))

        def ask(asked: tuple[str, str]) -> None:
            row = _ask(make, model, *asked)
            with lock, arguments.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(f"{row['seconds']:6.1f} s  {row['question'][:90]}", file=sys.stderr, flush=True)

        with ThreadPoolExecutor(arguments.askers) as pool:
            list(pool.map(ask, [each for each in questions if each[0] not in done]))


def _ask(make: Callable[[ChatModel], Pipeline], model: ChatModel, question: str, kind: str) -> dict[str, Any]:
    overheard = Overheard(model)
    answer = make(overheard).ask(Question(question), plan=Plan(question, wordings(question)))
    check = answer.trace.check
    return {
        "question": question,
        "kind": kind,
        "found": answer.found,
        "text": answer.text,
        "raw": "".join(overheard.pieces),
        "citations": [{"number": each.number, "title": each.title, "quote": each.quote} for each in answer.citations],
        "passages": [
            {"url": hit.chunk.url, "title": hit.chunk.title, "text": hit.chunk.passage} for hit in answer.trace.passages
        ],
        "check": {name: getattr(check, name) for name in check.__dataclass_fields__},
        "notes": answer.trace.notes,
        "seconds": round(answer.trace.seconds["total"], 2),
        "calls": overheard.calls,
    }


def report(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of these answers."""
    answerable = [row for row in rows if row["kind"] == "answerable"]
    others = [row for row in rows if row["kind"] != "answerable"]
    written = [row for row in rows if row["raw"] and row["found"]]
    return {
        "answers": len(rows),
        "written_by_the_model": len(written),
        "links": sum(1 for row in rows for _ in links(row["text"])),
        "links_in_no_source": [link for row in rows for link in _unheld(row, "text")],
        "raw_links_in_no_source": [link for row in rows for link in _unheld(row, "raw")],
        "abstained": {
            "answerable": f"{sum(not row['found'] for row in answerable)} of {len(answerable)}",
            "unanswerable": f"{sum(not row['found'] for row in others)} of {len(others)}",
        },
        "sentences": {
            name: sum(int(row["check"][name]) for row in written) for name in ("cited", "supported", "uncited")
        },
        "taken_out_or_marked": {
            name: sum(len(row["check"][name]) for row in written)
            for name in ("dropped_citations", "dropped_links", "dropped_commands", "unsupported", "misquoted")
        },
        "without_citation": sum(not row["citations"] for row in written),
        "calls": sum(row["calls"] for row in rows),
    }


def links(text: str) -> Iterator[str]:
    """Every address and link target in a text, as it stands there."""
    for match in LINK.finditer(text):
        yield (match[1] or match[2] or match[0]).rstrip(".,;:!?*_")


def _unheld(row: dict[str, Any], name: str) -> Iterator[str]:
    held = "\n".join(f"{passage['url']}\n{passage['text']}" for passage in row["passages"])
    return (link for link in links(row[name]) if link not in held)


class Recorded:
    """A model that says again what another one said, told by the question in its prompt."""

    name = "bench:recorded"

    def __init__(self, file: Path) -> None:
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        self._words = {row["question"]: row["raw"] for row in rows}

    def structured(self, messages: Sequence[Message], schema: type[Any], *, on_usage: OnUsage | None = None) -> Any:
        """Never asked: the plan is given."""
        raise ModelError("No plan was recorded.")

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """The words, one by one."""
        question = next(question for question in self._words if question in messages[-1].content)
        yield from re.findall(r"\s*\S+|\s+$", self._words[question])


class Overheard:
    """A model whose words are kept as it says them."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self.pieces: list[str] = []
        self.calls = 0
        self._model = model

    def structured(self, messages: Sequence[Message], schema: type[Any], *, on_usage: OnUsage | None = None) -> Any:
        """Passed on."""
        self.calls += 1
        return self._model.structured(messages, schema, on_usage=on_usage)

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """Passed on."""
        self.calls += 1
        for piece in self._model.stream(messages, on_usage=on_usage):
            self.pieces.append(piece)
            yield piece


if __name__ == "__main__":
    main()
