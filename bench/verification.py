"""Checks of statements on claims with known labels: words and meaning, and a language model.

    python -m bench.verification CLAIMS.jsonl [--model] [--limit 150]

A line of CLAIMS has `claim`, `title`, `passage` and `label`: supported, contradicted or not_enough. Every second claim
was used to make the rules; the others are reported apart. With `--model`, LORE_CHAT_MODEL judges the claims that the
check keeps, by the verifying call of an answer, and by the probability of its one-letter reply (OpenAI's wire format).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lore.errors import ModelError
from lore.protocols import ChatModel
from lore.query.answer.verification import Verifier
from lore.query.deadlines import TimeLimit
from lore.query.retrieve.passages import SourcePassage
from lore.query.verify.statements import Statement
from lore.query.verify.support import SupportChecker
from lore.settings import load_settings
from lore.types import Chunk, Hit
from lore.wiring.models import make_chat_model, make_embedder

SUPPORTED, CONTRADICTED = "supported", "contradicted"
SYSTEM = "You compare statements with the passage that they cite. Judge by the passage alone."
CHOICE = """Does the passage support the statement?
A: yes, the passage says so
B: no, the passage says otherwise
C: no, the passage does not tell
Reply with one letter."""
PASSAGE_CHARACTERS = 1_800
THRESHOLDS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
SEED = 17


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", type=Path)
    parser.add_argument("--model", action="store_true", help="let LORE_CHAT_MODEL judge as well")
    parser.add_argument("--limit", type=int, default=150, help="claims that the model judges, of all labels alike")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.claims.read_text(encoding="utf-8").splitlines()]
    settings = load_settings()
    embedder = make_embedder(settings)
    chunks = [
        Chunk(f"c{at}", f"d{at}", "claims", "", row["title"], (), row["passage"], 0, 0, len(row["passage"]))
        for at, row in enumerate(rows)
    ]
    vectors = embedder.embed_documents([chunk.passage for chunk in chunks])
    hits = [Hit(chunk, 1.0, vector=vector) for chunk, vector in zip(chunks, vectors, strict=True)]
    sources = [(SourcePassage(hit, (hit,)),) for hit in hits]
    kept = [
        SupportChecker(each, "", embedder).supports(row["claim"], [1]) for row, each in zip(rows, sources, strict=True)
    ]
    everything = range(len(rows))
    _report("check, every second claim", rows, everything[::2], kept.__getitem__)
    _report("check, the others", rows, everything[1::2], kept.__getitem__)
    if not arguments.model:
        return
    model = make_chat_model(settings)
    if model is None:
        sys.exit("--model needs LORE_CHAT_MODEL.")
    sample = _sample(rows, arguments.limit)
    verifier = Verifier(model, context_tokens=None, time=TimeLimit(300, "LORE_VERIFY_SECONDS"))
    verdicts = {at: _verdict(verifier, rows[at], sources[at]) for at in sample if kept[at]}
    chances = {at: _chance(settings, model, rows[at]) for at in sample}
    _report("check, the sample", rows, sample, kept.__getitem__)
    _report("check and verifying call", rows, sample, lambda at: kept[at] and verdicts[at] not in ("not", "partly"))
    for threshold in THRESHOLDS:
        name = f"check and probability ≥ {threshold}"
        _report(name, rows, sample, lambda at, least=threshold: kept[at] and chances[at] >= least)


def _sample(rows: Sequence[dict[str, Any]], limit: int) -> list[int]:
    """Return the places of claims, as many of each label."""
    places = defaultdict(list)
    for at, row in enumerate(rows):
        places[row["label"]].append(at)
    order = random.Random(SEED)
    for label in sorted(places):
        order.shuffle(places[label])
    return [at for each in zip(*(places[label] for label in sorted(places)), strict=False) for at in each][:limit]


def _verdict(verifier: Verifier, row: dict[str, Any], sources: Sequence[SourcePassage]) -> str:
    statement = Statement(0, len(row["claim"]), row["claim"], (1,))
    try:
        return verifier.judge(verifier.request([statement], sources, datetime.now(UTC)), 1)[0]
    except ModelError as error:
        print(error, file=sys.stderr)
        return ""


def _chance(settings: Any, model: ChatModel, row: dict[str, Any]) -> float:
    """Return the probability of "A" among the three letters, from one token."""
    from openai import OpenAI

    client = OpenAI(base_url=settings.providers.openai_base_url, api_key="none", timeout=300)
    passage = f"<passage>\n{row['title']}\n{row['passage'][:PASSAGE_CHARACTERS]}\n</passage>"
    reply = client.chat.completions.create(
        model=model.name.partition(":")[2],
        messages=[
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"{passage}\n\n<statement>{row['claim']}</statement>\n\n{CHOICE}"},
        ],
        max_tokens=1,
        temperature=0,
        logprobs=True,
        top_logprobs=20,
    )
    chances: Counter[str] = Counter()
    logprobs = reply.choices[0].logprobs
    for token in (logprobs.content or [])[0].top_logprobs if logprobs else ():
        chances[token.token.strip()] += math.exp(token.logprob)  # type: ignore[assignment]
    letters = sum(chances[letter] for letter in "ABC")
    return chances["A"] / letters if letters else 0.0


def _report(name: str, rows: Sequence[dict[str, Any]], places: Sequence[int], passes: Callable[[int], bool]) -> None:
    """Print how many claims pass unmarked, and what they are."""
    total = Counter(rows[at]["label"] for at in places)
    passed = Counter(rows[at]["label"] for at in places if passes(at))
    unmarked = sum(passed.values())
    print(
        f"{name:32} unmarked {unmarked}/{len(places)}  precision {passed[SUPPORTED] / max(1, unmarked):.3f}  "
        f"recall {passed[SUPPORTED] / max(1, total[SUPPORTED]):.3f}  "
        f"contradicted {passed[CONTRADICTED]}/{total[CONTRADICTED]}",
        flush=True,
    )


if __name__ == "__main__":
    main()
