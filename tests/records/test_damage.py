"""A file that is damaged, moved, removed or replaced, and errors that pass: what becomes of the records."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lore.errors import RecordsError
from lore.records.records import Records
from lore.records.sqlite_file import damaged_copies

from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer
from tests.records.conftest import unredacted
from tests.records.processes import House

ANSWERS = 30
ADD = """
import sys
import time
from lore.errors import RecordsError
from lore.records.records import Records
from tests.records.answers import small_answer
sys.stdin.readline()
for _ in range(3):
    try:
        with Records.open(sys.argv[1], str) as records:
            records.add(small_answer(sys.argv[2]))
        break
    except RecordsError:
        pass
"""
SCRIBBLE = """
import sys
with open(sys.argv[1], "r+b") as file:
    size = file.seek(0, 2)
    file.seek(int(sys.argv[2]))
    file.write(b"scribble" * ((size - int(sys.argv[2])) // 8))
"""
HEADER, SCHEMA, ANSWERS_ALONE = 0, 4096, 40 * 4096
"""From where on a file is written over: all of it, all but the first page, or what no opening reads."""


def damage(file: Path, start: int) -> None:
    """Write over the file, in another process: closing it here would drop the locks of this one."""
    subprocess.run([sys.executable, "-c", SCRIBBLE, str(file), str(start)], check=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Records of some answers that nobody has open."""
    file = tmp_path / "records.db"
    with opened(file) as records:
        for number in range(ANSWERS):
            records.add(full_answer(f"id-{number}"))
    return file


def opened(file: Path) -> Records:
    return Records.open(f"sqlite:///{file}", unredacted)


def twice(act: Callable[[], object]) -> None:
    """Do something as the recorder does: what may help is tried again."""
    try:
        act()
    except RecordsError as error:
        assert error.retryable
        act()


def add(records: Records, answer_id: str) -> None:
    twice(lambda: records.add(small_answer(answer_id)))


def ids(records: Records) -> set[str]:
    return {one.id for one in records.latest(100)}


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in caplog.messages if "damaged" in message]


@pytest.mark.parametrize("start", [HEADER, SCHEMA, ANSWERS_ALONE])
def test_a_file_that_is_damaged_is_kept_aside_and_begun_anew(
    file: Path, start: int, caplog: pytest.LogCaptureFixture
) -> None:
    damage(file, start)
    content, mode = file.read_bytes(), file.stat().st_mode
    with opened(file) as records:
        add(records, "new")
        assert ids(records) == {"new"}
    [copy] = damaged_copies(file)
    assert copy.read_bytes() == content
    assert copy.stat().st_mode == file.stat().st_mode == mode
    [message] = said(caplog)
    assert str(copy) in message and str(file) in message
    with opened(file) as records:
        assert ids(records) == {"new"}
    assert len(damaged_copies(file)) == len(said(caplog)) == 1


def test_a_list_of_a_damaged_file_fails_once(file: Path) -> None:
    damage(file, ANSWERS_ALONE)
    with opened(file) as records:
        with pytest.raises(RecordsError, match="malformed") as wrong:
            records.latest(100)
        assert wrong.value.retryable
        assert records.latest(100) == []
    with opened(file) as records:
        assert records.latest(100) == []


@pytest.mark.parametrize("start", [HEADER, SCHEMA, ANSWERS_ALONE])
def test_a_file_that_is_damaged_while_it_is_open(file: Path, start: int, caplog: pytest.LogCaptureFixture) -> None:
    with opened(file) as first, opened(file) as second:
        first.add(small_answer("before"))
        Path(f"{file}-wal").unlink()  # what it has would hide the damage
        damage(file, start)
        first.engine.dispose()
        second.engine.dispose()
        twice(lambda: first.latest(100))
        for number in range(3):
            add(first, f"first-{number}")
            add(second, f"second-{number}")
        assert ids(first) == ids(second) == {f"{who}-{number}" for who in ("first", "second") for number in range(3)}
    assert len(damaged_copies(file)) == len(said(caplog)) == 1


def test_processes_that_find_the_damage_at_once_move_the_file_once(file: Path) -> None:
    damage(file, SCHEMA)
    url = f"sqlite:///{file}"
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD, url, f"id-new-{number}"], cwd=ROOT, stdin=subprocess.PIPE)
        for number in range(4)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(damaged_copies(file)) == 1
    with opened(file) as records:
        assert ids(records) == {f"id-new-{number}" for number in range(4)}


def test_a_bot_answers_and_records_after_damage(tmp_path: Path) -> None:
    with House(tmp_path, f"sqlite:///{tmp_path}/records.db") as house:
        house.start_bot()
        house.ask("Before?")
        damage(tmp_path / "records.db", SCHEMA)
        damage(tmp_path / "records.db-wal", HEADER)
        threads = house.ask(*(f"Question {number}?" for number in range(6)))
        assert [len(house.answers(thread)) for thread in threads] == [1] * 6
        house.wait_until_recorded({house.answers(thread)[0] for thread in threads[-3:]})
        assert house.integrity() == "ok"
        [copy] = damaged_copies(tmp_path / "records.db")
        assert house.log().count(str(copy)) == 1


@pytest.mark.parametrize("how", ["moved", "removed", "restored", "removed with its folder"])
def test_a_file_that_is_no_longer_there_is_not_written(tmp_path: Path, how: str) -> None:
    file = tmp_path / "deep" / "records.db"
    with opened(file) as records:
        records.add(small_answer("backed-up"))
    backup = file.read_bytes()
    with opened(file) as records:
        records.add(small_answer("before"))
        if how == "moved":
            file.rename(tmp_path / "elsewhere.db")
        elif how == "removed with its folder":
            for part in list(file.parent.iterdir()):
                part.unlink()
            file.parent.rmdir()
        else:
            file.unlink()
        if how == "restored":
            for part in ("-wal", "-shm"):
                Path(f"{file}{part}").unlink()
            file.write_bytes(backup)
        records.add(small_answer("after"))
        kept = {"backed-up", "after"} if how == "restored" else {"after"}
        assert ids(records) == kept
    with opened(file) as records:
        assert ids(records) == kept
        with records.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


def test_a_link_to_a_file_that_is_damaged(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").mkdir()
    link = tmp_path / "link" / "records.db"
    link.symlink_to(file)
    damage(file, HEADER)
    monkeypatch.chdir(link.parent)
    with opened(Path("records.db")) as records:
        monkeypatch.chdir("/")
        records.add(small_answer("new"))
        assert ids(records) == {"new"}
    assert link.is_symlink() and list(link.parent.iterdir()) == [link]
    with opened(file) as records:
        assert ids(records) == {"new"}
    assert len(damaged_copies(file)) == 1


def test_a_killed_process_that_had_moved_the_database_without_its_log(file: Path) -> None:
    records = opened(file)
    records.add(small_answer("in-the-log"))
    file.rename(f"{file}.damaged-20261201T000000.000000Z")
    with opened(file) as other:
        assert ids(other) == set()
        other.add(small_answer("new"))
        records.add(small_answer("old-hand"))
    assert ids(records) == {"new", "old-hand"}
    records.close()


def test_an_error_of_another_file_is_no_damage(file: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_text("This is a letter. " * 100)
    with opened(file) as records:
        with pytest.raises(Exception, match="not a database"), records.engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql(f"ATTACH '{tmp_path}/letter.db' AS letter")
            connection.exec_driver_sql("SELECT * FROM letter.sqlite_master")
        assert len(records.latest(100)) == ANSWERS
    assert damaged_copies(file) == []


def test_what_passes_moves_nothing(file: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(file) as records:
        other = sqlite3.connect(file, isolation_level=None)
        raw = records.engine.raw_connection()
        raw.driver_connection.execute("PRAGMA busy_timeout = 1")  # type: ignore[union-attr]
        raw.close()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecordsError, match="locked"):
            records.add(small_answer("locked"))
        other.execute("ROLLBACK")
        other.close()
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, limit[1]))
            with pytest.raises(RecordsError) as wrong:
                for number in range(100):
                    records.add(full_answer(f"much-{number}"))
            assert wrong.value.retryable and wrong.value.remedy
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        records.add(small_answer("afterwards"))
        assert {f"id-{number}" for number in range(ANSWERS)} | {"afterwards"} <= ids(records)
    assert damaged_copies(file) == []


def test_a_damaged_copy_is_removed_with_what_is_too_old(file: Path) -> None:
    damage(file, HEADER)
    with Records.open(f"sqlite:///{file}", unredacted, retention_days=10) as records:
        [copy] = damaged_copies(file)
        Path(f"{copy}-wal").touch()
        records.tidy()
        assert copy.exists()
        old = time.time() - 11 * 24 * 3600
        os.utime(copy, (old, old))
        records.tidy()
    assert list(file.parent.glob("*damaged*")) == []


def test_forgetting_a_person_says_that_a_damaged_copy_is_not_changed(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damage(file, HEADER)
    with opened(file) as records:
        caplog.clear()
        records.forget("U1")
        [copy] = damaged_copies(file)
    assert [message for message in caplog.messages if f"Delete: {copy}" in message]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_damaged_file_in_a_folder_that_may_not_be_written(file: Path) -> None:
    damage(file, HEADER)
    file.parent.chmod(0o500)
    with pytest.raises(RecordsError, match="Permission denied"):
        opened(file)
    file.parent.chmod(0o700)
