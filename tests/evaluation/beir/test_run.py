"""A small benchmark through the real sync, store and pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.evaluation.beir.dataset import load_beir
from lore.evaluation.beir.run import RunProgress, evaluate_beir
from lore.ingest.split.splitter import MarkdownSplitter
from lore.models.local_reranker import LocalReranker
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder

WriteBeir = Callable[..., Path]


def open_store(folder: Path) -> LanceStore:
    return LanceStore(str(folder / "index"), Recipe("fake:words", 64))


def test_every_stage_over_a_real_index(write_beir: WriteBeir, tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    told: list[str] = []
    evaluation = evaluate_beir(
        load_beir(write_beir()),
        open_store(tmp_path),
        embedder,
        LocalReranker(embedder),
        MarkdownSplitter(200),
        staging_uri=str(tmp_path / "staging"),
        listener=RunProgress(lambda step: told.append(step.stage), lambda stage, done, total: told.append(stage)),
    )
    figures = evaluation.to_json()
    assert (figures["dataset"], figures["queries"], figures["reranker"]) == ("tiny", 2, "local:minilm-bm25")
    assert figures["index"]["documents"] == 4
    assert figures["index"]["chunks"] > 4  # the long page is split
    assert list(figures["stages"]) == ["keyword", "vector", "hybrid", "rerank"]
    for score in figures["stages"].values():
        assert score["ndcg_at_10"] == score["mrr_at_10"] == score["recall_at_100"] == 1.0
        assert 0 < score["ms_p50"] <= score["ms_p95"]
    assert {"extract", "index", "reconcile", "keyword", "rerank"} <= set(told)


def test_a_kept_index_is_not_embedded_again(write_beir: WriteBeir, tmp_path: Path) -> None:
    dataset = load_beir(write_beir())
    figures = []
    for _ in range(2):
        embedder = FakeEmbedder()
        evaluation = evaluate_beir(
            dataset,
            open_store(tmp_path),
            embedder,
            None,
            MarkdownSplitter(200),
            staging_uri=str(tmp_path / "staging"),
        )
        assert [score.stage for score in evaluation.stages] == ["keyword", "vector", "hybrid"]  # there is no reranker
        figures.append(evaluation.index)
    assert figures[0].embedded_texts > 0
    assert (figures[1].embedded_texts, figures[1].chunks) == (0, figures[0].chunks)


def test_a_page_that_cannot_be_converted_is_counted(write_beir: WriteBeir, tmp_path: Path) -> None:
    pages = [
        {"_id": "keys", "title": "Keys", "text": "Rotate an api key.", "metadata": {"path": "keys.md"}},
        {"_id": "bad", "title": "Bad", "text": "{ no notebook", "metadata": {"path": "bad.ipynb"}},
    ]
    evaluation = evaluate_beir(
        load_beir(write_beir(pages=pages, qrels=[("q1", "keys", "1"), ("q2", "bad", "1")])),
        open_store(tmp_path),
        FakeEmbedder(),
        None,
        MarkdownSplitter(200),
        staging_uri=str(tmp_path / "staging"),
        stages=["keyword"],
        by_path=True,
    )
    assert (evaluation.index.documents, evaluation.index.failed, evaluation.converted) == (1, 1, True)
    assert evaluation.stages[0].recall_at_100 == 0.5


def test_the_stage_rerank_needs_a_reranker(write_beir: WriteBeir, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs a reranker"):
        evaluate_beir(
            load_beir(write_beir()),
            open_store(tmp_path),
            FakeEmbedder(),
            None,
            MarkdownSplitter(200),
            staging_uri=str(tmp_path / "staging"),
            stages=["rerank"],
        )
    assert not (tmp_path / "index").exists()
