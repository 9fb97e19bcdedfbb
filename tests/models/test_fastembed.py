"""Models of fastembed, from folders that the tests write; no hub is asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lore.errors import ConfigurationError, ModelError
from lore.models.fastembed.embedder import FastEmbedEmbedder
from lore.models.fastembed.folder import read_folder
from lore.models.fastembed.prompts import prompts_of
from lore.models.fastembed.reranker import FastEmbedReranker
from lore.models.local_reranker import LocalReranker
from lore.protocols import Embedder

from tests.contracts.embedder import EmbedderContract
from tests.models.hits import make_hit
from tests.tiny_model import DIMENSIONS, write_cross_encoder, write_embedder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedder(tmp_path_factory.mktemp("model"))


def make(folder: Path, tmp_path: Path) -> FastEmbedEmbedder:
    return FastEmbedEmbedder(str(folder), cache_dir=tmp_path, threads=2)


class TestFolder(EmbedderContract):
    @pytest.fixture(scope="class")
    def embedder(self, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
        return make(folder, tmp_path_factory.mktemp("cache"))


def change(folder: Path, file: str, **values: object) -> None:
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(known | values), encoding="utf-8")


def test_a_folder_says_what_its_model_is(folder: Path, tmp_path: Path) -> None:
    embedder = make(folder, tmp_path)
    assert embedder.name.startswith("fastembed:tiny-e5-letters@")
    assert (embedder.dimensions, embedder.max_tokens) == (DIMENSIONS, 512)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie viele Urlaubstage habe ich?", "Jede Person hat 28 Urlaubstage im Jahr."),
        ("有給休暇は何日ありますか？", "有給休暇は年に28日です。"),
    ],
)
def test_the_nearest_text_has_the_same_words(folder: Path, tmp_path: Path, question: str, text: str) -> None:
    embedder = make(folder, tmp_path)
    texts = ["Der Server startet neu.", "サーバーを再起動します。", "The port is 8080.", text]
    assert int(np.argmax(embedder.embed_documents(texts) @ embedder.embed_query(question))) == 3


def test_questions_and_passages_get_the_prompts_of_e5(folder: Path, tmp_path: Path) -> None:
    embedder = make(folder, tmp_path)
    plain = make(write_embedder(tmp_path / "plain", name="letters"), tmp_path)
    np.testing.assert_allclose(embedder.embed_query("key"), plain.embed_query("query: key"), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_documents(["key"]), plain.embed_documents(["passage: key"]), atol=1e-6)


def test_prompts_in_a_file_of_the_model_go_first(tmp_path: Path) -> None:
    write_embedder(tmp_path)
    change(tmp_path, "config_sentence_transformers.json", prompts={"query": "Q: ", "passage": "P: "})
    assert read_folder(str(tmp_path)).prompts == {"query": "Q: ", "document": "P: "}


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("multilingual-e5-small", "query: ", "passage: "),
        ("nomic-ai/nomic-embed-text-v1.5-Q", "search_query: ", "search_document: "),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "", ""),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
    ],
)
def test_prompts_follow_from_a_name(model: str, query: str, document: str) -> None:
    assert prompts_of(model) == {"query": query, "document": document}


def test_another_model_in_the_folder_has_another_name(tmp_path: Path) -> None:
    names = [read_folder(str(write_embedder(tmp_path))).name]
    change(tmp_path, "config_sentence_transformers.json", prompts={"query": "Q: "})
    names.append(read_folder(str(tmp_path)).name)
    with (tmp_path / "onnx/model.onnx").open("ab") as graph:
        graph.write(b"\0")
    names.append(read_folder(str(tmp_path)).name)
    assert len(set(names)) == 3


def test_the_first_token_pools_where_the_model_says_so(tmp_path: Path) -> None:
    write_embedder(tmp_path / "mean")
    write_embedder(tmp_path / "first")
    change(tmp_path / "first", "1_Pooling/config.json", pooling_mode_cls_token=True)
    mean, first = (make(tmp_path / name, tmp_path).embed_documents(["one", "two"]) for name in ("mean", "first"))
    assert mean[0] @ mean[1] < 0.99
    assert first[0] @ first[1] > 0.99  # all texts begin with the same token


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        ("onnx/model.onnx", "no ONNX graph"),
        ("tokenizer.json", "no tokenizer.json"),
        ("tokenizer_config.json", "no tokenizer_config.json"),
        ("config.json", "how many dimensions"),
    ],
)
def test_an_incomplete_folder_says_what_is_missing(tmp_path: Path, remove: str, message: str) -> None:
    write_embedder(tmp_path)
    (tmp_path / remove).unlink()
    with pytest.raises(ConfigurationError, match=message):
        make(tmp_path, tmp_path)


def test_a_missing_folder_and_broken_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="doesn't exist"):
        make(tmp_path / "nowhere", tmp_path)
    write_embedder(tmp_path)
    (tmp_path / "onnx/model.onnx").write_bytes(b"no graph")
    with pytest.raises(ConfigurationError, match="Couldn't load the model in"):
        make(tmp_path, tmp_path).embed_query("x")
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"config\.json: it is not JSON"):
        make(tmp_path, tmp_path)


def test_wrong_dimensions_are_an_error_of_the_model(tmp_path: Path) -> None:
    write_embedder(tmp_path)
    change(tmp_path, "config.json", hidden_size=7)
    with pytest.raises(ModelError, match="shape"):
        make(tmp_path, tmp_path).embed_query("x")


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        FastEmbedEmbedder("intfloat/multilingual-e5-lage", cache_dir=tmp_path, threads=1)
    assert "Did you mean intfloat/multilingual-e5-large?" in str(raised.value.remedy)
    assert "jinaai/jina-embeddings-v2-base-de" in str(raised.value.remedy)


def test_a_name_needs_no_download_until_it_embeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = FastEmbedEmbedder("intfloat/Multilingual-E5-large", cache_dir=tmp_path, threads=1)
    assert (embedder.name, embedder.dimensions) == ("fastembed:intfloat/multilingual-e5-large", 1024)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError) as raised:
        embedder.embed_query("x")
    assert "LORE_EMBEDDER to fastembed:FOLDER" in str(raised.value.remedy)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("cross"))


def test_a_cross_encoder_orders_passages(folder: Path, cross_encoder: Path, tmp_path: Path) -> None:
    first = LocalReranker(make(folder, tmp_path))
    reranker = FastEmbedReranker(str(cross_encoder), first, cache_dir=tmp_path, threads=2)
    hits = [make_hit(f"page{number}", f"Ein anderer Text, Nummer {number}.") for number in range(50)]
    hits.insert(40, make_hit("vacation", "Jede Person hat 28 Urlaubstage im Jahr."))
    best = reranker.rerank("Wie viele Urlaubstage im Jahr?", hits, 5)
    assert len(best) == 5
    assert best[0].chunk.document_id == "fake:vacation"
    assert [hit.score for hit in best] == sorted((hit.score for hit in best), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in best)
    assert reranker.rerank("x", [], 5) == []


def test_an_unknown_cross_encoder_lists_the_known_ones(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        FastEmbedReranker("bge-reranker", LocalReranker(make(folder, tmp_path)), cache_dir=tmp_path, threads=1)
    assert "BAAI/bge-reranker-v2-m3" in str(raised.value.remedy)
