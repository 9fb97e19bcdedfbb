"""What the settings make of the records and the traces."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.settings import Settings, load_settings
from lore.types import Question
from lore.wiring.records import make_ledger, make_recorder, open_records

from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer
from tests.servers.otlp import Collector

TOKEN = "ghp_" + "a1B2" * 9
IMPORTED = """
import sys
from lore.settings import load_settings
from lore.wiring.records import make_recorder
make_recorder(load_settings({"LORE_RECORDS_URL": "sqlite:////nowhere/records.db", "LORE_OTEL_ENDPOINT": "http://h:1"}))
print(sorted({"sqlalchemy", "alembic", "opentelemetry.sdk", "requests"} & set(sys.modules)))
"""


def settings_of(folder: Path, **more: str) -> Settings:
    return load_settings({"LORE_RECORDS_URL": f"sqlite:///{folder}/records.db"} | more)


@pytest.mark.parametrize("policy", ["secrets", "secrets+contacts", "none"])
def test_secrets_are_always_redacted_and_contacts_by_setting(tmp_path: Path, policy: str) -> None:
    settings = settings_of(tmp_path, LORE_REDACT=policy)
    question = Question(f"Is {TOKEN} right? Ask jane@tidewheel.io.")
    with make_recorder(settings) as recorder:
        recorder.record(full_answer(question=question))
    with open_records(settings) as records:
        stored = records.get("aaaa").answer.question.text
    assert TOKEN not in stored
    assert "[redacted: GitHub token]" in stored
    assert ("jane@tidewheel.io" in stored) == (policy != "secrets+contacts")


def test_both_the_records_and_a_collector(tmp_path: Path) -> None:
    with Collector() as collector:
        settings = settings_of(tmp_path, LORE_OTEL_ENDPOINT=collector.base_url, LORE_OTEL_CONTENT="true")
        with make_recorder(settings) as recorder:
            recorder.record(full_answer())
            assert recorder.flush(timeout=30)
            assert b"Rotate" in collector.bodies
    with open_records(settings) as records:
        assert records.get("aaaa").answer == full_answer()


def test_retention(tmp_path: Path) -> None:
    with make_recorder(settings_of(tmp_path)) as recorder:
        recorder.record(small_answer("recent"))
    with open_records(settings_of(tmp_path)) as records:
        for number in range(300):
            records.add(small_answer(f"old-{number}"), datetime.now(UTC) - timedelta(days=8))
    with open_records(settings_of(tmp_path, LORE_RECORDS_RETENTION_DAYS="7")) as records:
        assert [one.id for one in records.latest(9)] == ["recent"]


def test_nothing_is_recorded_where_it_is_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings({"LORE_RECORDS_URL": "none"})
    with make_recorder(settings) as recorder:
        recorder.record(full_answer())
    assert list(tmp_path.iterdir()) == []
    assert make_ledger(settings) is None
    with pytest.raises(ConfigurationError, match="not recorded"):
        open_records(settings)


def test_by_default_they_are_beside_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with make_recorder(load_settings({})) as recorder:
        recorder.record(full_answer())
    assert (tmp_path / ".lore" / "records.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "wrong", [{"LORE_RECORDS_URL": "mysql://root:hunter2@host/db"}, {"LORE_OTEL_ENDPOINT": "host:4317"}]
)
def test_a_wrong_address_is_an_error_at_once(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="LORE_"):
        make_recorder(load_settings(wrong))


def test_the_address_is_a_secret() -> None:
    assert "hunter2" not in repr(load_settings({"LORE_RECORDS_URL": "postgresql://lore:hunter2@host/db"}))


def test_records_are_made_only_where_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no records at"):
        open_records(settings_of(tmp_path))
    with open_records(settings_of(tmp_path), make=True) as records:
        assert records.count() == 0


def test_what_was_spent(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    ledger = make_ledger(settings)
    assert ledger is not None
    now = datetime.now(UTC)
    assert ledger(now - timedelta(days=1)) == 0.0
    with open_records(settings) as records:
        records.add(full_answer("first"), now - timedelta(hours=30))
        records.add(full_answer("second"), now - timedelta(hours=1))
        records.add(full_answer("third"), now)
    assert ledger(now - timedelta(days=1)) == 0.5
    assert ledger(now - timedelta(days=2)) == 0.75


def test_making_a_recorder_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
