"""Opening a database: addresses, permissions, several writers, and what goes wrong."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lore.errors import ConfigurationError, RecordsError
from lore.records.engine import check_url, database_file, open_engine, reading
from lore.records.records import Records
from sqlalchemy import text

from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer
from tests.records.conftest import unredacted
from tests.servers.postgres import Postgres

ADD_FOR_EVER = """
import sys
from lore.records.records import Records
from tests.records.answers import full_answer
with Records.open(sys.argv[1], str) as records:
    for number in range(100_000):
        records.add(full_answer(f"id-{number:06}"))
        print(number, flush=True)
"""


@pytest.mark.parametrize(
    "url",
    [
        "",
        "records.db",
        "mysql://root:hunter2@host/db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file.db?mode=memory",
        "postgresql+asyncpg://lore:hunter2@host/db",
    ],
)
def test_an_address_that_names_no_database(url: str) -> None:
    with pytest.raises(ConfigurationError, match="LORE_RECORDS_URL") as wrong:
        check_url(url)
    assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize("url", ["postgresql://lore:hunter2@host:port/db", "postgresql://["])
def test_an_address_that_cannot_be_read(url: str) -> None:
    with pytest.raises((ConfigurationError, RecordsError)) as wrong:
        Records.open(url, unredacted)
    assert "hunter2" not in str(wrong.value)


def test_a_file_below_home() -> None:
    assert database_file("sqlite:///~/records.db") == Path.home() / "records.db"
    assert database_file("sqlite:////var/lib/records.db") == Path("/var/lib/records.db")
    assert database_file("sqlite:///.lore/records.db") == Path(".lore/records.db")
    assert database_file("postgresql://host/db") is None


def test_files_and_new_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Records.open(f"sqlite:///{tmp_path}/new/deep/records.db", unredacted) as records:
            records.add(full_answer())
            files = sorted((tmp_path / "new" / "deep").iterdir())
            assert [file.name for file in files] == [
                "records.db",
                "records.db-shm",
                "records.db-wal",
                "records.db.lock",
            ]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
            assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
            assert stat.S_IMODE((tmp_path / "new" / "deep").stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_sqlite_is_set_up_for_several(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/records.db")
    with reading(engine) as connection:
        values = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "foreign_keys")
        }
    assert values == {"journal_mode": "wal", "foreign_keys": 1}
    engine.dispose()


def test_a_reader_waits_for_no_writer(records: Records) -> None:
    records.add(full_answer())
    with records.engine.begin() as writing:
        writing.execute(text("DELETE FROM lore_answers"))
        assert records.get("aaaa").answer == full_answer()


def test_a_reader_sees_one_moment(records: Records) -> None:
    records.add(full_answer())
    with reading(records.engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM lore_answers")).scalar() == 1
        records.forget("U1")
        assert connection.execute(text("SELECT count(*) FROM lore_calls")).scalar() == 2
    with reading(records.engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM lore_calls")).scalar() == 0


def test_fifty_writers_at_once(records: Records) -> None:
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda number: records.add(full_answer(f"id-{number:03}")), range(100)))
    for number in range(100):
        assert records.get(f"id-{number:03}").answer == full_answer(f"id-{number:03}")


def test_a_kill_in_the_middle_leaves_whole_answers(url: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", ADD_FOR_EVER, url], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if int(line) >= 20:
            break
    process.kill()
    process.wait()
    written = max([20, *map(int, process.stdout.read().split())])
    process.stdout.close()
    with Records.open(url, unredacted) as records:
        found = records.latest(100_000)
        assert len(found) in (written + 1, written + 2)
        for summary in found[:30]:
            assert records.get(summary.id).answer == full_answer(summary.id)
        records.add(small_answer("afterwards"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RecordsError, match="Permission denied"):
        Records.open(f"sqlite:///{tmp_path}/records.db", unredacted)


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="directory"):
        Records.open(f"sqlite:///{tmp_path}", unredacted)


def test_a_locked_database_can_be_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "records.db"
    with Records.open(f"sqlite:///{file}", unredacted) as records:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        raw = records.engine.raw_connection()
        raw.driver_connection.execute("PRAGMA busy_timeout = 1")  # type: ignore[union-attr]
        raw.close()  # back into the pool, which gives it again
        with pytest.raises(RecordsError, match="locked") as wrong:
            records.add(full_answer())
        assert wrong.value.retryable
        other.execute("ROLLBACK")
        records.add(full_answer())
        other.close()


@pytest.mark.xdist_group("postgres")
def test_a_server_that_refuses_everything_can_be_tried_again(postgres_server: Postgres) -> None:
    with Records.open(postgres_server.database(), unredacted) as records:
        with records.engine.begin() as connection:
            connection.execute(text("ALTER TABLE lore_calls RENAME TO elsewhere"))
        with pytest.raises(RecordsError) as wrong:
            records.add(full_answer())
        assert wrong.value.retryable
        with records.engine.begin() as connection:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO lore_calls"))
        records.add(full_answer())


def test_a_server_that_is_not_there() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(RecordsError) as wrong:
        Records.open("postgresql://lore:hunter2@127.0.0.1:1/lore", unredacted)
    assert wrong.value.retryable
    assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize("password", ["pa@hunter2", "pa/@hunter2/x", "pa?@hunter2", "pa:@hunter2:1", "pa@h?hunter2=1"])
def test_a_password_that_tears_the_address_apart_is_not_repeated(password: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises((ConfigurationError, RecordsError)) as wrong:
        Records.open(f"postgresql://lore:{password}@127.0.0.1:1/lore", unredacted)
    assert "hunter2" not in f"{wrong.value}{wrong.value.remedy}"


def test_errors_do_not_repeat_what_was_asked(records: Records) -> None:
    with records.engine.begin() as connection:
        connection.execute(text("DROP TABLE lore_calls"))
    with pytest.raises(RecordsError, match="lore_calls") as wrong:
        records.add(full_answer("zebra"))
    assert "zebra" not in str(wrong.value)
    assert "zebra" not in str(wrong.value.__cause__)
