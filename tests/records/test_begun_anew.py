"""Questions that a bot holds while its records are damaged and begun anew: each still ends once."""

from __future__ import annotations

from typing import Any

import pytest
from lore.errors import RecordsError
from lore.records.records import Records
from sqlalchemy import text

from tests.slackbot.queue.test_recovery import World, is_apology, is_whole
from tests.slackbot.queues import make_question


class Moment:
    """Calls on to what it stands for; at the n-th call all claims are gone, and it fails where it is to."""

    def __init__(self, real: Any, records: Records, moment: int, *, fails: bool) -> None:
        self._real, self._records, self._moment, self._fails = real, records, moment, fails
        self.came = False

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self._moment -= 1
            if self._moment == 0:
                self.came = True
                with self._records.engine.begin() as connection:
                    connection.execute(text("DELETE FROM lore_claims"))
                if self._fails:
                    raise RecordsError("The records could not be written: they are malformed.", retryable=True)
            return getattr(self._real, name)(*arguments, **options)

        return call


@pytest.mark.parametrize("fails", [False, True], ids=["found by another", "found by itself"])
def test_whenever_the_records_are_begun_anew_a_question_ends_once(records: Records, fails: bool) -> None:
    moment = 1  # the first call claims the question, which Slack delivers again where that fails
    while True:
        moment += 1
        world = World(records)
        world.slack.start += 1_000 * moment
        question = make_question(world.slack)
        process = world.process("a")
        process.leases.store = damaged = Moment(world.claims, records, moment, fails=fails)  # type: ignore[assignment]
        process.answer(question)
        if not damaged.came:
            break
        world.clock.forward(31)
        world.recover()
        assert is_whole(world.shown) != is_apology(world.shown), f"{moment} calls after it began"
        assert fails or is_whole(world.shown)
        world.assert_finished(question)
        assert not world.claims.add(question.key, "b", 30), "it would be answered again"
    assert moment > 3


def test_what_waits_is_held_on(records: Records) -> None:
    world = World(records)
    leases = world.process("a").leases
    lease = leases.acquire(make_question(world.slack))
    assert lease is not None
    with records.engine.begin() as connection:
        connection.execute(text("DELETE FROM lore_claims"))
    leases.extend()
    assert not lease.closed
    assert not world.claims.add(lease.question.key, "b", 30)
    world.claims.finish(lease.question.key, "a")
    leases.extend()
    assert lease.closed
