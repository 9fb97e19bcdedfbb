"""Speed and exactness of the local embedder on pieces of 1,000 characters of real pages; prints JSON.

python -m bench.embedder --texts 200
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.corpus import load_corpus
from bench.stopwatch import seconds

CHARACTERS = 1000
QUERIES = 50
COMPARED = 8


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200)
    options = parser.parse_args()
    print(json.dumps(measure(pieces(load_corpus().folder, options.texts)), indent=2))


def measure(texts: list[str]) -> dict[str, float | int]:
    """Texts a second, milliseconds a query, seconds to the first vector, cosine to full precision."""
    from lore.models.local import LocalEmbedder

    with tempfile.TemporaryDirectory() as folder:
        embedder = LocalEmbedder(Path(folder), model_dir=None, threads=0)
        build_seconds = seconds(lambda: embedder.embed_query("first"))
        again = LocalEmbedder(Path(folder), model_dir=None, threads=0)
        load_seconds = seconds(lambda: again.embed_query("first"))
    cpu = time.process_time()
    embed_seconds = seconds(lambda: embedder.embed_documents(texts))
    cpu = time.process_time() - cpu
    queries = [seconds(lambda: embedder.embed_query("How do I limit the memory of a task?")) for _ in range(QUERIES)]
    cosines = exactness(texts[:COMPARED])
    return {
        "texts": len(texts),
        "characters": round(statistics.mean(map(len, texts))),
        "texts_per_second": round(len(texts) / embed_seconds, 1),
        "texts_per_cpu_second": round(len(texts) / cpu, 1),
        "query_ms_p50": round(1000 * statistics.median(queries), 2),
        "query_ms_p95": round(1000 * sorted(queries)[int(0.95 * QUERIES)], 2),
        "build_seconds": round(build_seconds, 2),
        "load_seconds": round(load_seconds, 2),
        "cosine_to_fp32_min": round(float(cosines.min()), 4),
        "cosine_to_fp32_mean": round(float(cosines.mean()), 4),
    }


def exactness(texts: list[str]) -> np.ndarray:
    """The cosine of each text's quantized vector and its vector in full precision."""
    from lore.models.local import TOKENIZER, WEIGHTS, build_encoder, weights_folder
    from lore.models.minilm import MAX_TOKENS, reference_embedding
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(weights_folder(None) / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    weights = load_file(weights_folder(None) / WEIGHTS)
    encoder, _ = build_encoder(tokenizer, weights)
    return np.array([encoder.embed(text) @ reference_embedding(weights, encoder.tokenize(text)) for text in texts])


def pieces(folder: Path, count: int) -> list[str]:
    """A sample of whole pieces of 1,000 characters of the corpus, the same in every run."""
    texts: list[str] = []
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            texts += [text[at : at + CHARACTERS] for at in range(0, len(text) - CHARACTERS + 1, CHARACTERS)]
    return random.Random(0).sample(texts, min(count, len(texts)))


if __name__ == "__main__":
    main()
