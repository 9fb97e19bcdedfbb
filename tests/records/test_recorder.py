"""The recorder: nothing that happens to the database breaks an answer or delays many, and what can be kept is."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lore.errors import ConfigurationError, RecordsError
from lore.records.recorder import Finished, QueuedRecorder
from lore.records.recorders import Recorders
from lore.records.records import Records

from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer
from tests.records.conftest import unredacted

RECORD_AND_END = """
import sys
from functools import partial
from lore.records.recorder import QueuedRecorder
from lore.records.records import Records
from tests.records.answers import full_answer
recorder = QueuedRecorder(partial(Records.open, sys.argv[1], str), "the records")
for number in range(20):
    recorder.record(full_answer(f"id-{number}"))
if len(sys.argv) > 2:
    raise SystemExit(3)
"""

RECORD_AND_FORK = """
import os, sys
from functools import partial
from lore.records.recorder import QueuedRecorder
from lore.records.records import Records
from tests.records.answers import full_answer
recorder = QueuedRecorder(partial(Records.open, sys.argv[1], str), "the records")
recorder.record(full_answer("parent-1"))
assert recorder.flush(30)
if child := os.fork():
    recorder.record(full_answer("parent-2"))
    _, status = os.waitpid(child, 0)
    raise SystemExit(status)
recorder.record(full_answer("child"))
recorder.close(30)
os._exit(recorder.dropped)
"""

SHOW_AND_DIE = """
import os, signal, sys
from lore.settings import load_settings
from lore.wiring.records import make_recorder
from tests.records.answers import small_answer
make_recorder(load_settings({"LORE_RECORDS_URL": sys.argv[1]})).record(small_answer("shown"))
print("shown", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class FailingRecords:
    """The records of a database that may be away, for all or for one answer, or slow."""

    def __init__(self, records: Records) -> None:
        self.error: Exception | None = None
        self.untidy: Exception | None = None
        self.poison = ""
        self.refusal: Exception = ValueError("poison")
        self.gate = threading.Event()
        self.gate.set()
        self.failures = 0
        self.failed = threading.Event()
        self._records = records

    def add_all(self, answers: Sequence[Finished]) -> list[str]:
        self.gate.wait()
        error = self.error or (self.refusal if self.poison in [one.answer.id for one in answers] else None)
        if error:
            self.failures += 1
            self.failed.set()
            raise error
        return self._records.add_all(answers)

    def tidy(self) -> bool:
        if self.untidy:
            raise self.untidy
        return self._records.tidy()

    def close(self) -> None:
        pass


AWAY = RecordsError("The server is away.", retryable=True)


@contextmanager
def recording(open_records: Callable[[], object], **options: float) -> Iterator[QueuedRecorder]:
    recorder = QueuedRecorder(open_records, "the records", **({"first_pause": 0.01} | options))  # type: ignore[arg-type]
    yield recorder
    recorder.close()


@pytest.fixture
def failing(records: Records) -> FailingRecords:
    return FailingRecords(records)


@pytest.mark.slow
def test_fifty_askers_at_once(url: str) -> None:
    with (
        Recorders([QueuedRecorder(lambda: Records.open(url, unredacted), "the records")]) as recorders,
        ThreadPoolExecutor(50) as pool,
    ):
        list(pool.map(lambda n: recorders.record(full_answer(f"id-{n:03}", asker=f"U{n % 50}")), range(250)))
    with Records.open(url, unredacted) as records:
        for number in range(250):
            name = f"id-{number:03}"
            assert records.get(name).answer == full_answer(name, asker=f"U{number % 50}")
        assert len(records.latest(1000)) == 250
        assert len(records.latest(1000, asker="U7")) == 5


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["fail"]])
def test_what_a_process_recorded_last_is_kept(url: str, arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", RECORD_AND_END, url, *arguments], cwd=ROOT, timeout=60)
    assert done.returncode == (3 if arguments else 0)
    with Records.open(url, unredacted) as records:
        assert len(records.latest(100)) == 20


def test_nothing_is_opened_before_the_first_answer() -> None:
    with recording(lambda: pytest.fail("opened")):
        pass


def test_a_slow_database_holds_nobody_up(records: Records, failing: FailingRecords) -> None:
    failing.gate.clear()
    with recording(lambda: failing) as recorder:
        for number in range(100):
            recorder.record(small_answer(f"id-{number}"))
        assert not recorder.flush(timeout=0)
        failing.gate.set()
        assert recorder.flush(timeout=30)
    assert len(records.latest(200)) == 100


def test_a_full_queue_drops_counts_and_says_so(
    records: Records, failing: FailingRecords, caplog: pytest.LogCaptureFixture
) -> None:
    failing.gate.clear()
    with recording(lambda: failing, capacity=10) as recorder:
        for number in range(110):
            recorder.record(small_answer(f"id-{number:03}"))
        assert recorder.dropped == 100
        failing.gate.set()
        assert recorder.flush(timeout=30)
        recorder.record(small_answer("one-more"))
    assert sorted(one.id for one in records.latest(200)) == [*(f"id-{number:03}" for number in range(10)), "one-more"]
    said = [record.message for record in caplog.records if "full" in record.message]
    assert said == [f"The queue for the records is full; answers lost: {n}." for n in (1, 2, 4, 8, 16, 32, 64)]
    assert "Answers are written to the records again; answers lost meanwhile: 100." in caplog.messages


def test_a_database_that_is_away_is_tried_again(
    records: Records, failing: FailingRecords, caplog: pytest.LogCaptureFixture
) -> None:
    failing.error = AWAY
    with recording(lambda: failing) as recorder:
        for number in range(5):
            recorder.record(small_answer(f"id-{number}"))
        while failing.failures < 3:
            failing.failed.clear()
            assert failing.failed.wait(10)
        failing.error = None
        assert recorder.flush(timeout=30)
    assert len(records.latest(9)) == 5
    assert recorder.dropped == 0
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "Answers wait until the records can be written: The server is away.",
        "Answers are written to the records again.",
    ]


def test_a_database_that_cannot_be_opened_at_first(url: str) -> None:
    tries: list[int] = []

    def open_later() -> Records:
        tries.append(1)
        if len(tries) < 3:
            raise AWAY
        return Records.open(url, unredacted)

    with recording(open_later) as recorder:
        recorder.record(full_answer())
        assert recorder.flush(timeout=30)
    with Records.open(url, unredacted) as records:
        assert records.get("aaaa").answer == full_answer()


@pytest.mark.parametrize("error", [ConfigurationError("Newer Lore."), RuntimeError("A bug.")])
def test_records_that_never_open_are_given_up(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> Records:
        raise error

    with recording(refuse) as recorder:
        recorder.record(small_answer("one"))
        assert recorder.flush(timeout=30)
        for _ in range(10):
            recorder.record(small_answer("more"))
    assert recorder.dropped == 11
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


@pytest.mark.parametrize("tries", [1, 3])
def test_a_database_that_is_away_for_a_moment_at_the_end_gets_all(
    records: Records, failing: FailingRecords, tries: int
) -> None:
    class Away(FailingRecords):
        def add_all(self, answers: Sequence[Finished]) -> list[str]:
            self.error = AWAY if self.failures < tries else None
            return super().add_all(answers)

    away = Away(records)
    away.gate.clear()
    recorder = QueuedRecorder(lambda: away, "the records")  # type: ignore[arg-type, return-value]
    for number in range(5):
        recorder.record(small_answer(f"id-{number}"))
    closing = threading.Thread(target=recorder.close)
    closing.start()
    while recorder._closing is False:
        pass
    away.gate.set()
    closing.join(30)
    assert recorder.dropped == 0
    assert len(records.latest(9)) == 5


def test_the_end_lasts_as_long_as_answers_are_written() -> None:
    written: list[str] = []

    class Slow:
        def add_all(self, answers: Sequence[Finished]) -> None:
            threading.Event().wait(0.1)
            written.extend(one.answer.id for one in answers)

        def tidy(self) -> bool:
            return False

        def close(self) -> None:
            pass

    recorder = QueuedRecorder(Slow, "the records")
    for number in range(200):
        recorder.record(small_answer(f"id-{number:03}"))
    recorder.close(timeout=0.8)
    assert recorder.dropped == 0
    assert len(written) == 200


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
