"""The schema: what the migrations make is what the code knows, once, whoever is first; newer records are refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from lore.errors import ConfigurationError, RecordsError
from lore.records.engine import open_engine
from lore.records.records import Records
from lore.records.schema import MIGRATIONS, bring_up_to_date, migrate
from lore.records.tables import HEAD, VERSION_TABLE, metadata
from sqlalchemy import inspect, text

from tests.conftest import ROOT
from tests.records.answers import full_answer
from tests.records.conftest import unredacted

OPEN = "import sys; from lore.records.records import Records; Records.open(sys.argv[1], str).close()"


def test_the_migrations_make_the_tables_that_the_code_knows(records: Records) -> None:
    with records.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, VERSION_TABLE}


def test_the_newest_migration_is_the_one_that_the_code_names() -> None:
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [HEAD]


def test_every_migration_can_be_undone_and_done_again(records: Records) -> None:
    with records.engine.begin() as connection:
        migrate(connection, "base")
        assert set(inspect(connection).get_table_names()) == {VERSION_TABLE}
    bring_up_to_date(records.engine)
    records.add(full_answer())
    assert records.get("aaaa").answer == full_answer()


@pytest.mark.slow
def test_two_processes_may_be_first(url: str) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", OPEN, url], cwd=ROOT) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    with Records.open(url, unredacted) as records:
        records.add(full_answer())


def test_eight_threads_may_be_first(url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        for opened in pool.map(lambda _: Records.open(url, unredacted), range(8)):
            opened.close()


def test_a_migration_that_fails_leaves_nothing(url: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE lore_feedback (id INTEGER)"))  # in the way of the last but one table
    with pytest.raises(RecordsError, match="lore_feedback"):
        bring_up_to_date(engine)
    assert inspect(engine).get_table_names() == ["lore_feedback"]
    engine.dispose()


def test_records_of_a_newer_lore_are_refused_and_left_alone(url: str) -> None:
    with Records.open(url, unredacted) as records:
        records.add(full_answer())
        with records.engine.begin() as connection:
            connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0099'"))
    with pytest.raises(ConfigurationError, match=r"newer Lore.*'0099'") as refused:
        Records.open(url, unredacted)
    assert "Update" in refused.value.remedy


def test_another_programs_tables_do_not_matter(url: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('airflow')"))
    engine.dispose()
    with Records.open(url, unredacted) as records:
        records.add(full_answer())


def test_the_migrations_are_part_of_the_package() -> None:
    """setuptools takes folders that have an `__init__.py`."""
    assert all((folder / "__init__.py").exists() for folder in (MIGRATIONS, MIGRATIONS / "versions"))
    assert list(Path(MIGRATIONS, "versions").glob("r*.py"))
