"""Records that fail, and processes that record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from lore.errors import RecordsError
from lore.records.recorder import Finished, QueuedRecorder
from lore.records.records import Records

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
