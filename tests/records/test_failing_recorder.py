"""Recording while the database fails, hangs, or comes back."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lore.errors import RecordsError
from lore.records.recorder import QueuedRecorder
from lore.records.records import Records

from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer
from tests.records.conftest import unredacted
from tests.records.recorder_setup import AWAY, RECORD_AND_FORK, SHOW_AND_DIE, FailingRecords, recording


@pytest.fixture
def failing(records: Records) -> FailingRecords:
    return FailingRecords(records)


def test_an_answer_that_the_database_never_takes_is_dropped_in_the_end(
    records: Records, failing: FailingRecords, caplog: pytest.LogCaptureFixture
) -> None:
    failing.poison, failing.refusal = "poison", RecordsError("It takes too long.", retryable=True)
    with recording(lambda: failing) as recorder:
        recorder.record(small_answer("poison"))
        for number in range(200):
            recorder.record(small_answer(f"id-{number:03}"))
            assert failing.failed.wait(10)  # it has been tried, and waits behind the others from now on
            if recorder.dropped:
                break
            while f"id-{number:03}" not in {one.id for one in records.latest(1000)}:
                time.sleep(0.001)
        assert recorder.flush(timeout=30)
    assert recorder.dropped == 1
    assert not [one for one in records.latest(1000) if one.id == "poison"]
    assert "An answer was not written to the records: It takes too long." in caplog.messages


def test_a_process_that_was_forked_writes_its_own(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", RECORD_AND_FORK, url], cwd=ROOT, timeout=60)
    assert done.returncode == 0
    with Records.open(url, unredacted) as records:
        assert {one.id for one in records.latest(9)} == {"parent-1", "parent-2", "child"}


def test_an_answer_is_written_before_it_is_shown(url: str) -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW_AND_DIE, url], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert (shown.returncode, shown.stdout) == (-signal.SIGKILL, "shown\n")
    with Records.open(url, unredacted) as records:
        assert [one.id for one in records.latest(9)] == ["shown"]


def test_a_place_that_hangs_delays_one_answer_and_a_place_that_fails_none(failing: FailingRecords) -> None:
    failing.gate.clear()
    with recording(lambda: failing, first_pause=0.01, wait=0.5) as recorder:
        took = [seconds_to_record(recorder, f"hangs-{number}") for number in range(3)]
        assert took[0] >= 0.5 > 0.25 > max(took[1:])
        failing.gate.set()
        assert recorder.flush(30)
        failing.gate.clear()
        assert seconds_to_record(recorder, "hangs-again") >= 0.5
        failing.gate.set()
        assert recorder.flush(30)
    failing.error = AWAY
    with recording(lambda: failing, first_pause=3600, wait=60) as recorder:
        assert seconds_to_record(recorder, "away") < 30


def seconds_to_record(recorder: QueuedRecorder, answer_id: str) -> float:
    started = time.monotonic()
    recorder.record(small_answer(answer_id))
    return time.monotonic() - started


def test_one_answer_that_cannot_be_stored_does_not_hold_up_the_others(
    records: Records, failing: FailingRecords, caplog: pytest.LogCaptureFixture
) -> None:
    failing.poison = "id-1"
    with recording(lambda: failing) as recorder:
        for number in range(3):
            recorder.record(small_answer(f"id-{number}"))
        assert recorder.flush(timeout=30)
    assert sorted(one.id for one in records.latest(9)) == ["id-0", "id-2"]
    assert recorder.dropped == 1
    assert "An answer was not written to the records: ValueError was raised." in caplog.messages


def test_a_database_that_is_away_at_the_end_is_not_waited_for(
    failing: FailingRecords, caplog: pytest.LogCaptureFixture
) -> None:
    failing.error = AWAY
    with recording(lambda: failing, first_pause=3600) as recorder:
        for number in range(5):
            recorder.record(small_answer(f"id-{number}"))
        assert failing.failed.wait(10)
    assert recorder.dropped == 5
    assert "No more answers are written to the records; lost by now: 5. The server is away." in caplog.messages


def test_a_database_that_hangs_at_the_end_is_left(failing: FailingRecords, caplog: pytest.LogCaptureFixture) -> None:
    failing.gate.clear()
    recorder = QueuedRecorder(lambda: failing, "the records")  # type: ignore[arg-type, return-value]
    recorder.record(small_answer("one"))
    recorder.close(timeout=0.05)
    assert recorder.dropped == 1
    assert "The process ended before all was written to the records; answers lost: 1." in caplog.messages
    failing.gate.set()
    recorder.record(small_answer("two"))
    assert recorder.dropped == 2


def test_what_is_no_answer_is_logged_and_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    with recording(lambda: pytest.fail("opened")) as recorder:
        recorder.record(None)  # type: ignore[arg-type]
    assert "An answer could not be given to the records." in caplog.messages


def test_what_is_too_old_is_removed(url: str) -> None:
    now = datetime.now(UTC)
    with Records.open(url, unredacted) as records:
        for number in range(450):
            records.add(small_answer(f"old-{number}"), now - timedelta(days=40))
        records.add(small_answer("newer"), now - timedelta(days=20))
        with recording(lambda: Records.open(url, unredacted, retention_days=30)) as recorder:
            recorder.record(small_answer("newest"))
            until = time.monotonic() + 30
            while len(records.latest(9)) > 2 and time.monotonic() < until:
                time.sleep(0.01)
        assert sorted(one.id for one in records.latest(9)) == ["newer", "newest"]


def test_without_retention_nothing_is_removed(url: str) -> None:
    with Records.open(url, unredacted) as records:
        records.add(small_answer("ancient"), datetime(1990, 1, 1, tzinfo=UTC))
        assert not records.tidy()
        assert records.get("ancient")


def test_a_tidying_that_fails_holds_nothing_up(
    records: Records, failing: FailingRecords, caplog: pytest.LogCaptureFixture
) -> None:
    failing.untidy = RecordsError("Old ones cannot be removed.")
    with recording(lambda: failing) as recorder:
        recorder.record(small_answer("one"))
        assert recorder.flush(timeout=30)
    assert records.get("one")
    assert "What is too old was not removed from the records: Old ones cannot be removed." in caplog.messages


def test_a_server_that_ends_and_comes_back(tmp_path: Path) -> None:
    """A real PostgreSQL, stopped between two answers."""
    from tests.servers import postgres

    with postgres.running() as server:
        if not isinstance(server, postgres.Process):
            pytest.skip("this stops the server, which needs one of our own")
        url = server.database()
        with recording(lambda: Records.open(url, unredacted)) as recorder:
            recorder.record(full_answer("before"))
            assert recorder.flush(timeout=30)
            server.stop()
            recorder.record(full_answer("between"))
            assert not recorder.flush(timeout=0.2)
            server.start()
            assert recorder.flush(timeout=30)
        with Records.open(url, unredacted) as records:
            assert {one.id for one in records.latest(9)} == {"before", "between"}
