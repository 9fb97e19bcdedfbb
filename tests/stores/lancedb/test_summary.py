"""The summary beside an index: as good as the index itself, or ignored."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lore.stores.lancedb.schema import SCHEMA_NUMBER
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.summary import SUMMARY_FILE, read_summary
from lore.stores.lancedb.versions import LanceVersions
from lore.types import Counts, Failure, IndexSummary, Recipe, SourceState

from tests.contracts.store.entries import make_entry

CHOICES = {"embedder": "fake", "embedding_dimensions": None}
STATE = SourceState(
    "fake", "cursor", "recipe", "warning", datetime(2026, 1, 2, tzinfo=UTC), (Failure("fake:x", "Broken."),), {"new": 2}
)


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    recipe = Recipe("fake:words", 64, "splitter", choices={"embedder": "fake"})
    store = LanceStore(str(tmp_path / "index"), recipe)
    store.replace([make_entry("a", ["one", "two"]), make_entry("b", ["three"])])
    store.save_state(STATE)
    return store


def summary(tmp_path: Path, **changes: object) -> IndexSummary | None:
    return read_summary(tmp_path / "index", {**CHOICES, **changes}, SCHEMA_NUMBER)


def test_it_says_what_the_index_says(store: LanceStore, tmp_path: Path) -> None:
    found = summary(tmp_path)
    assert found is not None and found.states == store.states() == {"fake": STATE}
    source_ids = {document.source_id for document in store.documents()}
    assert found.counts == {source_id: store.count(source_id) for source_id in source_ids}
    assert sum((counts.chunks for counts in found.counts.values()), 0) == 3


def test_after_any_other_write_it_is_ignored(store: LanceStore, tmp_path: Path) -> None:
    store.replace([make_entry("c", ["four"])])
    assert summary(tmp_path) is None
    store.save_state(STATE)
    assert summary(tmp_path) is not None
    store.delete(make_entry("c", ["four"]).document.source_id, [make_entry("c", ["four"]).document.id])
    assert summary(tmp_path) is None
    store.optimize()
    store.remove_state("fake")
    found = summary(tmp_path)
    assert found is not None and found.states == {}


def test_it_belongs_to_the_live_version_and_its_settings(store: LanceStore, tmp_path: Path) -> None:
    assert summary(tmp_path, embedder="other") is None
    assert summary(tmp_path, embedding_dimensions=2) is None
    assert read_summary(tmp_path / "index", CHOICES, SCHEMA_NUMBER + 1) is None
    versions = LanceVersions(str(tmp_path / "index"))
    version = versions.create(Recipe("fake:words", 64, "other", choices={"embedder": "fake"}))
    assert summary(tmp_path) is not None
    versions.promote(version.number)
    assert summary(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"commits": {}}', "\0"])
def test_a_damaged_one_is_ignored(store: LanceStore, tmp_path: Path, text: str) -> None:
    (tmp_path / "index" / SUMMARY_FILE).write_text(text)
    assert summary(tmp_path) is None


def test_without_an_index_there_is_none(tmp_path: Path) -> None:
    assert summary(tmp_path) is None
    assert not (tmp_path / "index").exists()


def test_states_hold_json_values_only(store: LanceStore, tmp_path: Path) -> None:
    values = json.loads((tmp_path / "index" / SUMMARY_FILE).read_text())
    assert sorted(values) == ["commits", "counts", "states"]
    assert all(isinstance(Counts(*counts), Counts) for counts in values["counts"].values())
