"""The DAG `retire_source`: what is no longer declared goes after approval, and only that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.orchestration.localrun import LocalRun

from .approvals import a_person_who
from .conftest import DECLARATIONS, NOTES, Project

pytestmark = pytest.mark.xdist_group("airflow")


@pytest.fixture
def sources(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Declarations that are all valid, and an index that holds one more source, "old"."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).write_text(text)
    for name in ("notes", "old"):
        (folder / f"{name}.yaml").write_text(DECLARATIONS["notes.yaml"])
    for name, place in {"SOURCES_DIR": folder, "INDEX_URI": tmp_path / "index", "STAGING_URI": tmp_path / "s"}.items():
        monkeypatch.setenv(f"LORE_{name}", str(place))
    from lore.declarations import load_declarations
    from lore.settings import load_settings
    from lore.wiring.ingest import make_sync

    for declaration in load_declarations(folder).valid:
        make_sync(declaration, load_settings(None)).run()
    (folder / "old.yaml").unlink()
    return folder


@pytest.fixture
def retire(project: Project) -> Callable[[str | None], LocalRun]:
    return lambda source: project.airflow.run("retire_source", {"source": source})


def held() -> list[str]:
    from lore.settings import load_settings
    from lore.wiring.stores import open_versions

    versions = open_versions(load_settings(None))
    return sorted({document.source_id for document in versions.open(1).documents()})


def test_a_source_without_a_declaration_goes_after_approval(
    sources: Path, retire: Callable[[str | None], LocalRun]
) -> None:
    with a_person_who("Reject") as asked:
        rejected = retire(None)
    assert rejected.succeeded and rejected.tasks["remove"] == "skipped"
    assert held() == ["notes", "old"]
    [(_, body)] = asked.requests
    assert "| `old` | 2 |" in body and "notes" not in body
    with a_person_who("Approve"):
        approved = retire("old")
    assert approved.succeeded, approved.errors
    assert held() == ["notes"]
    assert retire(None).tasks["find"] == "skipped"
    assert "The index holds no source 'old'" in str(retire("old").errors["find"])


@pytest.mark.slow
def test_what_is_declared_again_meanwhile_stays(sources: Path, retire: Callable[[str | None], LocalRun]) -> None:
    again = sources / "old.yaml"
    with a_person_who("Approve", meanwhile=lambda: again.write_text(DECLARATIONS["notes.yaml"]) and None):
        assert retire(None).succeeded
    assert held() == ["notes", "old"]
    assert "is declared" in str(retire("old").errors["find"])


def test_nothing_is_found_while_a_declaration_is_broken(
    sources: Path, retire: Callable[[str | None], LocalRun]
) -> None:
    (sources / "old.yml.yaml").write_text("kind: files\nshedule: null\n")
    run = retire(None)
    assert isinstance(run.errors["find"], ConfigurationError)
    assert "Couldn't tell which sources are declared" in str(run.errors["find"])
