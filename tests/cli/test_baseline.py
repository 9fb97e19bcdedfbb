"""`lore export` and `lore import`: from one installation to another, and what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Lore

pytestmark = pytest.mark.xdist_group("cli")  # the local model is built once


def test_a_new_installation_starts_from_a_file(indexed: Lore, lore: Lore, tmp_path: Path) -> None:
    file = tmp_path / "baseline.parquet"
    exported = indexed("export", str(file), "--json")
    assert exported.exit_code == 0
    report = json.loads(exported.stdout)
    assert (report["documents"], report["sources"], report["unsettled"]) == (3, {"handbook": 3}, {})
    assert "handbook: 3 documents" in exported.stderr and str(file) in exported.stderr

    imported = lore("import", str(file), "--json")
    assert imported.exit_code == 0
    report = json.loads(imported.stdout)
    assert (report["written"], report["embedded_texts"], report["same_converter"]) == (3, 0, True)
    hits = json.loads(lore("search", "rotate", "an", "API", "key", "--json").stdout)["hits"]
    assert hits[0]["document_id"] == "handbook:keys.md"
    synced = lore("sync", "--all", "--json")
    [report] = json.loads(synced.stdout)["sources"]
    assert (report["unchanged"], report["changed"], report["embedded_texts"]) == (3, 0, 0)


def test_an_installation_with_other_settings_starts_from_it_too(indexed: Lore, lore: Lore, tmp_path: Path) -> None:
    file = tmp_path / "small.parquet"
    assert indexed("export", str(file), "--no-vectors").exit_code == 0
    imported = lore("import", str(file), LORE_CHUNK_CHARACTERS="400")
    assert imported.exit_code == 0 and imported.stdout == ""
    assert "3 written" in imported.stderr and "0 texts embedded" not in imported.stderr


def test_what_is_there_is_not_overwritten(indexed: Lore, lore: Lore, tmp_path: Path) -> None:
    file = tmp_path / "baseline.parquet"
    assert indexed("export", str(file)).exit_code == 0
    refused = indexed("export", str(file))
    assert refused.exit_code == 2 and "--force" in refused.stderr
    assert indexed("export", str(file), "--force").exit_code == 0

    assert lore("sync", "--all").exit_code == 0
    refused = lore("import", str(file))
    assert refused.exit_code == 2 and "handbook" in refused.stderr and "--replace" in refused.stderr
    replaced = lore("import", str(file), "--replace")
    assert replaced.exit_code == 0 and "3 unchanged" in replaced.stderr


def test_nothing_to_export_makes_nothing(lore: Lore, knowledge: Path) -> None:
    result = lore("export", str(knowledge / "none.parquet"))
    assert result.exit_code == 2 and "lore sync --all" in result.stderr
    assert not (knowledge / "index").exists() and not (knowledge / "none.parquet").exists()


def test_a_foreign_file_is_refused(lore: Lore, knowledge: Path) -> None:
    result = lore("import", str(knowledge / "pages" / "keys.md"))
    assert result.exit_code == 2 and "not a Parquet file" in result.stderr
