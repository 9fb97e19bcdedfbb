"""Records in a database of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lore.records.records import Records

from tests.servers import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Postgres]:
    with postgres.running() as server:
        yield server


@pytest.fixture(
    params=[
        pytest.param("sqlite"),
        pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),  # one server for all tests
    ]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that holds nothing yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/records/answers.db"
    return str(request.getfixturevalue("postgres_server").database())


@pytest.fixture
def records(url: str) -> Iterator[Records]:
    with Records.open(url, unredacted) as opened:
        yield opened


def unredacted(text: str) -> str:
    return text
