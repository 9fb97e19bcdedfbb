"""`lore sources remove`, and what the commands say of sources that are no longer declared."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Lore, declare
from tests.cli.test_process import start


def other_pages(knowledge: Path) -> None:
    (knowledge / "more").mkdir()
    (knowledge / "more" / "lamp.md").write_text("# Lamps\n\nA lamp burns for a year.\n", encoding="utf-8")
    declare(knowledge, "lamps", "kind: files\npath: ../more\n")


def test_a_source_that_is_no_longer_declared_is_named_and_removed(lore: Lore, knowledge: Path) -> None:
    other_pages(knowledge)
    assert "no longer declared" not in lore("sync", "--all").stderr
    (knowledge / "sources" / "lamps.yaml").unlink()
    synced = lore("sync", "--all")
    assert "lamps is no longer declared" in synced.stderr and "lore sources remove lamps" in synced.stderr
    assert "lore sources remove lamps" in lore("sources").stderr
    assert "lamp burns" in lore("search", "How long does a lamp burn?").stdout
    removed = lore("sources", "remove", "lamps", "--yes", "--json")
    assert json.loads(removed.stdout) == {"id": "lamps", "removed": 1}
    assert "lamp burns" not in lore("search", "How long does a lamp burn?").stdout
    assert [row["id"] for row in json.loads(lore("sources", "--json").stdout)["sources"]] == ["handbook"]
    assert "no longer declared" not in lore("sync", "--all").stderr


def test_only_a_confirmed_removal_removes(lore: Lore, knowledge: Path) -> None:
    lore("sync", "--all")
    refused = lore("sources", "remove", "handbook")
    assert refused.exit_code == 1 and "3 documents" in refused.stderr
    [row] = json.loads(lore("sources", "--json").stdout)["sources"]
    assert row["documents"] == 3
    assert "still declared" in lore("sources", "remove", "handbook", "-y").stderr


def test_an_unknown_source_is_not_removed(lore: Lore, knowledge: Path) -> None:
    lore("sync", "--all")
    result = lore("sources", "remove", "handbok", "--yes")
    assert result.exit_code == 2 and "Did you mean handbook?" in result.stderr


def test_without_an_index_nothing_is_made(lore: Lore, knowledge: Path) -> None:
    result = lore("sources", "remove", "handbook", "--yes")
    assert result.exit_code == 2 and f"There is no index at {knowledge}/index" in result.stderr
    assert not (knowledge / "index").exists() and not (knowledge / "staging").exists()


def test_a_broken_declaration_does_not_make_its_source_undeclared(lore: Lore, knowledge: Path) -> None:
    lore("sync", "--all")
    declare(knowledge, "handbook", "kind: filse\n")
    assert "no longer declared" not in lore("sync", "--all").stderr


def test_all_with_ids_says_that_it_takes_none(lore: Lore) -> None:
    result = lore("sync", "--all", "handbook")
    assert result.exit_code == 2
    assert "--all syncs every source and takes no ids" in result.stderr


def test_outside_the_project_messages_name_whole_paths_and_nothing_is_made(tmp_path: Path, cache: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    places = {"LORE_SOURCES_DIR": "", "LORE_INDEX_URI": "", "LORE_STAGING_URI": "", "LORE_RECORDS_URL": ""}
    for arguments, path in {
        ("ask", "What?"): f"{outside}/.lore/index",
        ("search", "What?"): f"{outside}/.lore/index",
        ("export", "x.parquet"): f"{outside}/.lore/index",
        ("sources",): f"{outside}/dags/sources",
        ("sync", "--all"): f"{outside}/dags/sources",
        ("answers", "list"): f"{outside}/.lore/records.db",
    }.items():
        process = start(*arguments, folder=outside, cache=cache, **places)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (2, ""), arguments
        assert path in err, arguments
        assert list(outside.iterdir()) == [], arguments


def test_documents_that_lose_much_of_their_text_are_named(lore: Lore, knowledge: Path) -> None:
    lore("sync", "--all")
    assert "left out much" not in lore("sources").stderr
    hidden = f'<div style="display:none">{"Words that nobody sees. " * 60}</div>'
    page = f"<html><body><main><h1>Lamps</h1><p>A lamp burns for a year.</p>{hidden}</main></body></html>"
    (knowledge / "pages" / "lamps.html").write_text(page, encoding="utf-8")
    lore("sync", "--all")
    told = lore("sources").stderr
    assert "handbook: Conversion left out much of the text of 1 documents: handbook:lamps.html (9" in told
    [row] = json.loads(lore("sources", "--json").stdout)["sources"]
    assert list(row["lost_text"]) == ["handbook:lamps.html"]
