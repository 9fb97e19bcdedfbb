"""Each check of the doctor, on what it is meant to find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lore import doctor
from lore.errors import ModelError, StoreError
from lore.settings import load_settings
from lore.types import Counts, SourceState
from lore.wiring.models import make_chat_model, make_reranker

from tests.fakes import FakeChatModel, FakeEmbedder
from tests.servers.model_apis.cohere import CohereServer
from tests.servers.model_apis.cohere import error as cohere_error


class Store:
    """What the check of the index asks a store."""

    def __init__(self, counts: Counts, *states: SourceState) -> None:
        self._counts, self._states = counts, {state.source_id: state for state in states}

    def count(self, source_id: str | None = None) -> Counts:
        return self._counts

    def search(self, *_: object, **__: object) -> list[object]:
        if self._counts.chunks == 7:
            raise StoreError("Could not search the index.", remedy="Look at the folder.")
        return []

    def states(self) -> dict[str, SourceState]:
        return self._states


@pytest.mark.parametrize(
    ("store", "status", "detail"),
    [
        (Store(Counts(2, 5, 5)), "ok", "2 documents, 5 chunks"),
        (Store(Counts(0, 0, 0)), "warning", "empty"),
        (Store(Counts(2, 4, 5)), "problem", "4 chunks, but the documents record 5"),
        (Store(Counts(2, 5, 5), SourceState("docs", status="warning")), "warning", "docs"),
        (Store(Counts(2, 5, 5), SourceState("docs", status="failed")), "warning", "docs"),
    ],
)
def test_index(store: Store, status: str, detail: str) -> None:
    finding = doctor.check_index(store, FakeEmbedder())  # type: ignore[arg-type]
    assert finding.status == status
    assert detail in finding.detail
    assert bool(finding.remedy) == (status != "ok")


def test_an_index_that_can_be_counted_but_not_searched() -> None:
    with pytest.raises(StoreError, match="Could not search"):
        doctor.check_index(Store(Counts(2, 7, 7)), FakeEmbedder())  # type: ignore[arg-type]


class ShortEmbedder(FakeEmbedder):
    """Promises more numbers than it gives."""

    def embed_query(self, text: str) -> np.ndarray:
        return super().embed_query(text)[:4]


def test_embedder_of_the_wrong_length() -> None:
    assert doctor.check_embedder(FakeEmbedder(dimensions=8)).status == "ok"
    finding = doctor.check_embedder(ShortEmbedder(dimensions=8))
    assert (finding.status, finding.detail) == ("problem", "fake:words gave 4 numbers instead of 8")


def test_chat_model() -> None:
    assert doctor.check_chat_model(None).status == "skipped"
    assert doctor.check_chat_model(FakeChatModel(streamed=["yes"])).status == "ok"  # type: ignore[arg-type]
    assert doctor.check_chat_model(FakeChatModel(streamed=[" "])).status == "problem"  # type: ignore[arg-type]
    with pytest.raises(ModelError):
        doctor.check_chat_model(FakeChatModel(streamed=[ModelError("refused")]))  # type: ignore[arg-type]


def test_the_reranker_that_fails_is_not_hidden_by_the_one_behind_it() -> None:
    with CohereServer() as server:
        environ = {"LORE_COHERE_API_KEY": "co-very-secret", "LORE_COHERE_BASE_URL": server.base_url}
        reranker = make_reranker(load_settings(environ), FakeEmbedder())
        assert doctor.check_reranker(reranker, FakeEmbedder()).detail == "cohere:rerank-v4.0-pro"
        server.faults.append(cohere_error(401, "invalid api token"))
        finding = doctor.check_reranker(reranker, FakeEmbedder())
    assert finding.status == "problem"
    assert "local:" in finding.detail
    assert "LORE_COHERE_API_KEY" in finding.remedy


def test_a_package_or_key_that_the_chat_model_lacks_is_named() -> None:
    def look(model: str, key: str = "") -> doctor.Finding:
        environ = {"LORE_CHAT_MODEL": model, "LORE_CHAT_API_KEY": key}
        return doctor.guarded("chat model", lambda: doctor.check_chat_model(make_chat_model(load_settings(environ))))

    assert look("mistralai:tiny", "k").remedy == "Run: pip install langchain-mistralai"
    assert "LORE_OPENAI_API_KEY" in look("openai:gpt-4.1-mini").remedy


def test_staging_is_written_to_and_left_as_it_was(tmp_path: Path) -> None:
    assert doctor.check_staging(str(tmp_path / "new")).status == "ok"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    finding = doctor.check_staging(str(tmp_path / "file"))
    assert finding.status == "problem"
    assert "LORE_STAGING_URI" in finding.remedy


def test_the_file_about_the_assistant(tmp_path: Path) -> None:
    file = tmp_path / "assistant.yaml"
    assert doctor.check_assistant(file).status == "skipped"
    file.write_text("name: Desk\ncontext: The book.\n")
    assert doctor.check_assistant(file) == doctor.Finding("assistant", "ok", "Desk")
    file.write_text("name: Desk\n")
    finding = next(one for one in doctor.examine({"LORE_ASSISTANT": str(file)}) if one.name == "assistant")
    assert finding.status == "problem"
    assert "`context` is missing" in finding.detail


def test_the_file_about_access(tmp_path: Path) -> None:
    def look(**environ: str) -> doctor.Finding:
        return doctor.check_access(load_settings({"LORE_ACCESS": str(file), **environ}))

    file = tmp_path / "access.yaml"
    assert look().status == "skipped"
    file.write_text("login: {issuer: https://a.example, client_id: lore, url: https://b.example}\ngroups: {a: [b]}\n")
    assert (look().status, "LORE_WEB_LOGIN_SECRET" in look().remedy) == ("problem", True)
    secret = {"LORE_WEB_LOGIN_SECRET": "hidden"}
    assert look(**secret).status == "warning"
    finding = look(**secret, LORE_WEB_SESSION_SECRET="hidden too")
    assert (finding.status, "https://a.example" in finding.detail, "hidden" in str(finding)) == ("ok", True, False)


def test_declarations(tmp_path: Path) -> None:
    assert doctor.check_declarations(tmp_path).status == "warning"
    (tmp_path / "good.yaml").write_text("kind: files\npath: .\n")
    assert doctor.check_declarations(tmp_path).detail == "good"
    (tmp_path / "bad.yaml").write_text("kind: filse\n")
    finding = doctor.check_declarations(tmp_path)
    assert finding.status == "problem"
    assert "bad.yaml" in finding.detail


def test_an_unknown_setting_is_a_finding_and_ends_the_examination(tmp_path: Path) -> None:
    findings = {finding.name: finding for finding in doctor.examine({"LORE_EMBEDER": "local"})}
    assert findings["settings"].status == "problem"
    assert "LORE_EMBEDDER" in findings["settings"].remedy
    assert "embedder" not in findings
    assert findings["python"].status == findings["packages"].status == "ok"


def test_a_model_that_cannot_be_reached_is_a_finding(tmp_path: Path) -> None:
    environ = {
        "LORE_SOURCES_DIR": str(tmp_path),
        "LORE_STAGING_URI": str(tmp_path / "staging"),
        "LORE_INDEX_URI": str(tmp_path / "index"),
        "LORE_EMBEDDER": "openai:text-embedding-3-small",
        "LORE_OPENAI_API_KEY": "sk-very-secret",
        "LORE_OPENAI_BASE_URL": "http://127.0.0.1:9/v1",  # the discard port: nobody listens
    }
    findings = {finding.name: finding for finding in doctor.examine(environ)}
    assert findings["embedder"].status == "problem"
    assert findings["embedder"].remedy
    assert findings["index"].status == findings["reranker"].status == "skipped"
    assert "sk-very-secret" not in repr(findings)


def test_records_are_described_and_not_made(tmp_path: Path) -> None:
    from lore.wiring.records import open_records

    file = tmp_path / "records.db"
    settings = load_settings({"LORE_RECORDS_URL": f"sqlite:///{file}"})
    assert "none at" in doctor.check_records(settings).detail
    assert not file.exists()
    file.touch()
    assert "made or changed when" in doctor.check_records(settings).detail
    open_records(settings).close()
    assert doctor.check_records(settings) == doctor.Finding("records", "ok", "0 answers, in sqlite")


def test_damaged_records_are_left_alone_and_a_copy_of_them_is_a_finding(tmp_path: Path) -> None:
    from lore.wiring.records import open_records

    file = tmp_path / "records.db"
    settings = load_settings({"LORE_RECORDS_URL": f"sqlite:///{file}"})
    file.write_text("no database " * 100)
    for _ in range(2):
        finding = doctor.guarded("records", lambda: doctor.check_records(settings))
        assert finding.status == "problem" and "not a database" in finding.detail and "aside" in finding.remedy
    open_records(settings).close()
    finding = doctor.check_records(settings)
    assert finding.status == "warning" and f"{file}.damaged-" in finding.detail and ".recover" in finding.remedy


def test_records_of_a_newer_lore_and_those_that_cannot_be_opened(tmp_path: Path) -> None:
    import sqlite3

    from lore.wiring.records import open_records

    file = tmp_path / "records.db"
    environ = {"LORE_SOURCES_DIR": str(tmp_path), "LORE_RECORDS_URL": f"sqlite:///{file}"}
    file.touch()
    open_records(load_settings(environ)).close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE lore_schema SET version_num = '0099'")
    connection.close()
    [newer] = [finding for finding in doctor.examine(environ) if finding.name == "records"]
    assert (newer.status, "newer Lore" in newer.detail, "Update" in newer.remedy) == ("problem", True, True)
    file.write_text("no database " * 100)
    [broken] = [finding for finding in doctor.examine(environ) if finding.name == "records"]
    assert (broken.status, "not a database" in broken.detail) == ("problem", True)


def test_records_on_a_network_file_system(tmp_path: Path) -> None:
    mounts, file = tmp_path / "mounts", tmp_path / "share" / "deep" / "records.db"
    settings = load_settings({"LORE_RECORDS_URL": f"sqlite:///{file}"})
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {tmp_path.resolve()}/share nfs4 rw,vers=4.2 0 0\n")
    finding = doctor.check_records(settings, mounts)
    assert finding.status == "warning" and "(nfs4)" in finding.detail and "PostgreSQL" in finding.remedy
    mounts.write_text(f"server:/x / nfs rw 0 0\n/dev/vda {tmp_path.resolve()}/share ext4 rw 0 0\n")
    assert doctor.check_records(settings, mounts).status == "ok"
    assert doctor.check_records(settings, tmp_path / "no mounts").status == "ok"


def test_each_mistake_of_a_declaration_has_a_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: files\npth: x\nschedule: never\n", encoding="utf-8")
    lines = doctor.check_declarations(tmp_path).detail.splitlines()
    assert [line.partition(": ")[0].rpartition("line ")[2] for line in lines] == ["3", "1", "2"]
