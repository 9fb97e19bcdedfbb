"""How well "the index holds nothing that answers this" is told without a language model, on the Ray documentation.

    python -m bench.retrieval.abstention [FOLDER_OF_AN_INDEX]

Fifty questions that the pages do not answer (`unanswerable.yaml`) and fifty that they do (every third of the data set's
own) are searched and reranked as in production. Prints JSON: precision and recall of abstaining, by the rule as it is
and along the curve of its floor, and which questions it got wrong; the curve as a table on the standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from lore.evaluation.beir.dataset import SOURCE_ID
from lore.evaluation.beir.run import evaluate_beir
from lore.models.local_reranker import LocalReranker
from lore.query.retrieve import relevance
from lore.query.retrieve.dedup import dedup
from lore.settings import load_settings
from lore.types import Hit
from lore.wiring.models import make_embedder
from lore.wiring.stores import make_splitter, open_store

from bench.corpus import load_corpus

UNANSWERABLE = Path(__file__).with_name("unanswerable.yaml")
COUNT = 50
FLOORS = tuple(round(0.30 + 0.05 * step, 2) for step in range(11))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, of which kind it is ("answerable" or that of the file), and what the search made of it."""

    question: str
    kind: str
    passages: Sequence[Hit]
    candidates: Sequence[Hit]

    def abstains(self) -> bool:
        return relevance.is_irrelevant(self.question, self.passages, self.candidates)


def main() -> int:
    """Print the figures; returns 1 when precision or recall is below .8."""
    with TemporaryDirectory() as temporary:
        index = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary) / "index"
        asked = _ask_all(index, Path(temporary) / "staging")
    figures = _scores(asked)
    curve = []
    chosen = relevance.FLOOR
    for floor in FLOORS:
        relevance.FLOOR = floor
        curve.append({"floor": floor, **_scores(asked)})
    relevance.FLOOR = chosen
    wrong = [{"question": each.question, "kind": each.kind} for each in asked if each.abstains() != _should(each)]
    report = {"rule": {"floor": chosen, **figures}, "by_kind": _by_kind(asked), "curve": curve, "wrong": wrong}
    json.dump(report, sys.stdout, indent=2)
    print()
    print("| floor | precision | recall |\n| ---: | ---: | ---: |", file=sys.stderr)
    for row in curve:
        print(f"| {row['floor']:.2f} | {row['precision']:.2f} | {row['recall']:.2f} |", file=sys.stderr)
    return int(min(figures["precision"], figures["recall"]) < 0.8)


def _ask_all(index: Path, staging: Path) -> list[Asked]:
    corpus = load_corpus()
    settings = load_settings(store="lancedb", index_uri=str(index))
    embedder = make_embedder(settings)
    reranker = LocalReranker(embedder)
    splitter = make_splitter(settings, embedder)
    store = open_store(settings, embedder, splitter)
    evaluate_beir(corpus, store, embedder, reranker, splitter, staging_uri=str(staging), stages=())
    rows = yaml.safe_load(UNANSWERABLE.read_text(encoding="utf-8"))
    questions = [(query.text, "answerable") for query in corpus.queries[::3][:COUNT]]
    questions += [(row["question"], row["kind"]) for row in rows]
    asked = []
    for question, kind in questions:
        vector = embedder.embed_query(question)
        found = store.search(question, vector, settings.query.retrieve_limit, settings.query.alpha, (SOURCE_ID,))
        candidates = dedup([found])
        passages = reranker.rerank(question, candidates, settings.query.rerank_limit)
        asked.append(Asked(question, kind, passages, candidates))
    return asked


def _should(asked: Asked) -> bool:
    return asked.kind != "answerable"


def _scores(asked: Sequence[Asked]) -> dict[str, float]:
    abstained = [each for each in asked if each.abstains()]
    right = sum(map(_should, abstained))
    return {
        "precision": right / len(abstained) if abstained else 1.0,
        "recall": right / sum(map(_should, asked)),
    }


def _by_kind(asked: Sequence[Asked]) -> dict[str, str]:
    kinds = dict.fromkeys(each.kind for each in asked)
    of = {kind: [each.abstains() for each in asked if each.kind == kind] for kind in kinds}
    return {kind: f"{sum(verdicts)} of {len(verdicts)} abstained" for kind, verdicts in of.items()}


if __name__ == "__main__":
    sys.exit(main())
