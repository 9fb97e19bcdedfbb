"""From a question to the first words of its answer, without the language model's own time. Prints JSON.

    python -m bench.scale --keep FOLDER --sizes 100000 --phases build
    python -m bench.scale.first_token --keep FOLDER [--store lancedb|weaviate] [--size 100000] [--rounds 100]

The index is the one that `bench.scale` builds and keeps in the folder. The language model is one that answers at once:
its plan has three wordings, and its answer is the first sentence of the first source, cited. All else is real: the
wordings are embedded by the local model and searched side by side, 100 passages each, reranked by the local reranker,
joined, put into the prompt, and the first sentence is checked. So `first_words_ms` is what Lore adds to the two calls
of a model; `calls` is how many there were for each question. `cpu_ms_each` is the processor time of a whole question,
which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from lore.protocols import Embedder, OnUsage
from lore.query.events import Answered, Delta
from lore.query.pipeline import Pipeline, PipelineModels
from lore.settings import Settings
from lore.types import Message, Question, Usage
from lore.wiring.models import make_embedder, make_reranker
from lore.wiring.query import make_pipeline_settings
from lore.wiring.stores import open_store

from bench.corpus import load_corpus, wordings
from bench.scale.corpus import bench_settings
from bench.scale.prepared import PreparedDocument
from bench.scale.stores import STORES

WARMING = 5
MESSAGE = re.compile(r"<message>(.*?)</message>", re.DOTALL)
FIRST_SENTENCE = re.compile(r'<source number="1"[^>]*>\n(.{40,300}?[.!?])\s', re.DOTALL)


def main() -> None:
    """Print the figures of one index."""
    arguments = _arguments()
    with STORES[arguments.store](arguments.keep / f"{arguments.store}-{arguments.size}") as place:
        os.environ.update(place.environment)
        report = _measure(bench_settings(), arguments.rounds)
    print(json.dumps({"store": arguments.store, "chunks": arguments.size} | report, indent=2))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=sorted(STORES), default="lancedb")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--keep", type=Path, required=True)
    return parser.parse_args()


def _measure(settings: Settings, rounds: int) -> dict[str, Any]:
    embedder = Renamed(make_embedder(settings))
    model = InstantModel()
    pipeline = Pipeline(
        open_store(settings, embedder),
        PipelineModels(embedder, make_reranker(settings, embedder), model),
        make_pipeline_settings(settings),
    )
    texts = [query.text for query in load_corpus().queries]
    for text in texts[:WARMING]:
        pipeline.ask(Question(text))
    model.calls = 0
    taken: defaultdict[str, list[float]] = defaultdict(list)
    cpu = time.process_time()
    for number in range(rounds):
        for name, value in _ask(pipeline, texts[number % len(texts)]).items():
            taken[name].append(1000 * value)
    cpu = time.process_time() - cpu
    cuts = {name: quantiles(values, n=20) for name, values in taken.items() if len(values) > 1}
    report: dict[str, Any] = {
        f"{name}_ms": {"p50": round(cut[9], 1), "p95": round(cut[18], 1), "questions": len(taken[name])}
        for name, cut in cuts.items()
    }
    return report | {"cpu_ms_each": round(1000 * cpu / rounds, 1), "calls": model.calls / rounds}


def _ask(pipeline: Pipeline, text: str) -> Mapping[str, float]:
    """Seconds to the first words, to the end, and of each stage."""
    started = time.perf_counter()
    taken: dict[str, float] = {}
    for event in pipeline.stream(Question(text)):
        if isinstance(event, Delta):
            taken.setdefault("first_words", time.perf_counter() - started)
        elif isinstance(event, Answered):
            taken |= event.answer.trace.seconds
            if not event.answer.found:  # there was no second call, and no words of a model
                taken.pop("first_words")
    return taken


class Renamed:
    """The embedder of the settings under the name that the index of `bench.scale` was made with."""

    name = PreparedDocument.name

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.embed_documents = embedder.embed_documents
        self.embed_query = embedder.embed_query


class InstantModel:
    """A language model that takes no time: it plans three wordings, and answers with how the first source begins."""

    name = "bench:instant"

    def __init__(self) -> None:
        self.calls = 0

    def structured(self, messages: Sequence[Message], schema: type, *, on_usage: OnUsage | None = None) -> Any:
        """The plan."""
        self._count(on_usage)
        asked = MESSAGE.search(messages[-1].content)
        question = asked[1].strip() if asked else "What is it?"
        return schema.model_validate({"question": question, "wordings": list(wordings(question)), "search": True})  # type: ignore[attr-defined]

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """The answer, word for word."""
        self._count(on_usage)
        sentence = FIRST_SENTENCE.search(messages[-1].content)
        text = " ".join(sentence[1].split()) if sentence else "The first source says so."
        yield from re.findall(r"\S+\s*", f"{text} [1]\nThat is all there is to say about it [1].\n")

    def _count(self, on_usage: OnUsage | None) -> None:
        self.calls += 1
        if on_usage is not None:
            on_usage(Usage(self.name))


if __name__ == "__main__":
    main()
