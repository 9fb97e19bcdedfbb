"""Answers recorded in the background by many askers and processes."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from lore.errors import ConfigurationError
from lore.records.recorder import Finished, QueuedRecorder
from lore.records.recorders import Recorders
from lore.records.records import Records

from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer
from tests.records.conftest import unredacted
from tests.records.recorder_setup import AWAY, RECORD_AND_END, FailingRecords, recording


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
