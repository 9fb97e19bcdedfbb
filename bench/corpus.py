"""The corpus that the benches share: real pages in BEIR layout, named by LORE_BENCH_BEIR or beside the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lore.evaluation.beir.dataset import BeirDataset, load_beir

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval" / "raydocs"


def load_corpus() -> BeirDataset:
    """The dataset; ends the process with a message where there is none."""
    folder = Path(os.environ.get("LORE_BENCH_BEIR") or DEFAULT)
    if not folder.is_dir():
        sys.exit("This bench needs real pages: set LORE_BENCH_BEIR to a folder in BEIR layout.")
    return load_beir(folder, None)


def wordings(question: str) -> tuple[str, ...]:
    """The question, its longer words, and its words the other way round: three wordings without a model."""
    words = question.split()
    return (
        question,
        " ".join(word for word in words if len(word) > 3) or question,
        f"How to: {' '.join(reversed(words))}",
    )
