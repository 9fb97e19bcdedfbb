"""Records for the bot's tests: made once, and copied for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lore.records.engine import open_engine
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records


@pytest.fixture(scope="session")
def empty_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of records that hold nothing yet."""
    file = tmp_path_factory.mktemp("records") / "records.db"
    Records.open(f"sqlite:///{file}", str).close()
    return file


@pytest.fixture
def records_url(empty_records: Path, tmp_path: Path) -> str:
    shutil.copy(empty_records, tmp_path / "records.db")
    return f"sqlite:///{tmp_path}/records.db"


@pytest.fixture
def records(records_url: str) -> Iterator[Records]:
    with Records(open_engine(records_url), str) as opened:
        yield opened


@pytest.fixture
def claims(records: Records) -> LeaseStore:
    return LeaseStore(records.engine)


@pytest.fixture
def places(records: Records) -> PostedAnswers:
    return PostedAnswers(records.engine)
