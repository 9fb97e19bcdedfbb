"""Progress in a task's log: a line every ten seconds, with what is done, the rate and the rest."""

from __future__ import annotations

import logging

import pytest
from lore.ingest.report import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.xdist_group("airflow")
def test_progress_is_said_every_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    from lore.orchestration.progress import LoggedProgress

    caplog.set_level(logging.INFO)
    clock = Clock()
    progress = LoggedProgress(logging.getLogger("task"), clock=clock)
    progress(Progress("wait", 0))
    for second in range(31):
        clock.now = second
        progress(Progress("index", second * 2, 100, second * 6))
    clock.now = 100
    for second in range(0, 25, 4):
        clock.now = 100 + second
        progress.counts("questions asked")(second, 40)
    assert caplog.messages == [
        "Waiting for another sync of this source",
        "20 of 100 documents indexed, 60 chunks, 2.0 a second, about 40 s left",
        "40 of 100 documents indexed, 120 chunks, 2.0 a second, about 30 s left",
        "60 of 100 documents indexed, 180 chunks, 2.0 a second, about 20 s left",
        "12 of 40 questions asked, 1.0 a second, about 28 s left",
        "24 of 40 questions asked, 1.0 a second, about 16 s left",
    ]
