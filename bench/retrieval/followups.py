"""Whether a follow-up finds the page that the complete question finds: 20 dialogues of two turns on the Ray docs.

    python -m bench.retrieval.followups [--index FOLDER] [--model] [--only N] [--held-out]

The dialogues are in `followups.yaml`; --held-out takes ten others, for which no rule was changed. Each follow-up is
planned with the first turn and its answer as history, by the rules that work without a language model or, with --model,
by the one that LORE_CHAT_MODEL names (one call each), and searched and reranked as in production. `found` counts the
dialogues whose page is among the passages that an answer would be written from; `alone` is the same for the follow-up
without its history.

Without either option it also measures what the rules cost where there is nothing to complete: each query of the
benchmark is asked after an unrelated one. `changed` counts those that the rules took for follow-ups.

Prints JSON. --index keeps the index for the next time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from lore.evaluation.beir.dataset import SOURCE_ID, BeirDataset
from lore.evaluation.beir.run import run_beir
from lore.protocols import ChatModel
from lore.query.pipeline import Pipeline
from lore.query.understand.plan import make_plan
from lore.settings import Settings, load_settings
from lore.types import Message, Plan, Question
from lore.wiring.models import make_chat_model
from lore.wiring.query import make_pipeline

from bench.corpus import load_corpus

DIALOGUES = Path(__file__).with_name("followups.yaml")
HELD_OUT = Path(__file__).with_name("followups_held_out.yaml")


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, help="folder of the index, built where there is none")
    parser.add_argument("--model", action="store_true", help="plan with LORE_CHAT_MODEL")
    parser.add_argument("--only", type=int, help="the first N dialogues")
    parser.add_argument("--held-out", action="store_true", help="the dialogues that the rules were not written for")
    arguments = parser.parse_args()
    settings, corpus = load_settings(), load_corpus()
    chat_model = make_chat_model(settings) if arguments.model else None
    if arguments.model and chat_model is None:
        sys.exit("--model needs LORE_CHAT_MODEL.")
    with tempfile.TemporaryDirectory() as folder:
        pipeline = _pipeline(settings, corpus, arguments.index or Path(folder) / "index")
        file = HELD_OUT if arguments.held_out else DIALOGUES
        dialogues = yaml.safe_load(file.read_text(encoding="utf-8"))[: arguments.only]
        rows = [_dialogue(dialogue, pipeline, chat_model) for dialogue in dialogues]
        figures: dict[str, Any] = {"planner": chat_model.name if chat_model else "rules", "dialogues": len(rows)}
        figures |= {name: sum(row[name] is not None for row in rows) for name in ("full", "alone", "found")}
        if chat_model is None and not arguments.held_out:
            figures["unrelated"] = _unrelated(corpus, pipeline)
    json.dump(figures | {"each": rows}, sys.stdout, indent=2)
    print()


def _pipeline(settings: Settings, corpus: BeirDataset, index: Path) -> Pipeline:
    run_beir(corpus.folder, settings, stages=("rerank",), limit_queries=1, index_dir=index)
    own = {"store": "lancedb", "index_uri": str(index), "chat_model": "", "assistant": Path("absent.yaml")}
    return make_pipeline(settings.with_values(**own))


def _dialogue(dialogue: dict[str, str], pipeline: Pipeline, chat_model: ChatModel | None) -> dict[str, Any]:
    """One dialogue: the places of its page for the complete question, the follow-up alone, and the planned one."""
    history = (Message("user", dialogue["first"]), Message("assistant", dialogue["answer"]))
    started = time.perf_counter()
    planned = make_plan(Question(dialogue["follow_up"], history), chat_model)
    plan, notes = planned.plan, (*planned.notes, *planned.ignored)
    seconds = time.perf_counter() - started
    page = [dialogue["page"]]
    row = {
        "follow_up": dialogue["follow_up"],
        "question": plan.question,
        "wordings": plan.wordings,
        "full": _place(_plain(dialogue["full"]), page, pipeline),
        "alone": _place(_plain(dialogue["follow_up"]), page, pipeline),
        "found": _place(plan, page, pipeline) if plan.search else None,
        "notes": notes,
        "seconds": round(seconds, 2),
    }
    print(f"{row['found']}  {plan.question}", file=sys.stderr, flush=True)
    return row


def _unrelated(corpus: BeirDataset, pipeline: Pipeline) -> dict[str, int]:
    """How many of the benchmark's queries find a page of theirs, alone and after another query as first turn."""
    queries = corpus.queries
    counts = {"queries": len(queries), "changed": 0, "alone": 0, "found": 0}
    for number, query in enumerate(queries):
        before = Message("user", queries[(7 * number + len(queries) // 3) % len(queries)].text)
        plan = make_plan(Question(query.text, (before,)), None).plan
        pages = [page for page, grade in query.relevance.items() if grade > 0]
        counts["changed"] += plan.question != query.text
        counts["alone"] += _place(_plain(query.text), pages, pipeline) is not None
        counts["found"] += _place(plan, pages, pipeline) is not None
    return counts


def _plain(text: str) -> Plan:
    return Plan(text, (text,))


def _place(plan: Plan, pages: Sequence[str], pipeline: Pipeline) -> int | None:
    """The place of the first passage of one of these pages, from 1; None where there is none."""
    hits = pipeline.passages(plan, Question(plan.question))
    wanted = {f"{SOURCE_ID}:{page}" for page in pages}
    return next((place for place, hit in enumerate(hits, start=1) if hit.chunk.document_id in wanted), None)


if __name__ == "__main__":
    main()
