"""LeaseStore: of all who want an event, one gets it, until its lease ends or it is finished."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from lore.records.leases import LeaseStore
from lore.records.records import Records

from tests.conftest import ROOT

CLAIM_ALL = """
import sys
from concurrent.futures import ThreadPoolExecutor
from lore.records.leases import LeaseStore
from lore.records.records import Records
url, owner = sys.argv[1:]
with Records.open(url, str) as records, ThreadPoolExecutor(8) as pool:
    claims = LeaseStore(records.engine)
    keys = [f"event-{number}" for number in range(100) for _ in range(3)]
    sys.stdin.readline()  # both begin at once
    for key, got in zip(keys, pool.map(lambda key: claims.take(key, owner, 60), keys)):
        if got:
            print(key)
"""


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def claims(records: Records, clock: Clock) -> LeaseStore:
    return LeaseStore(records.engine, clock)


def test_one_gets_it(claims: LeaseStore) -> None:
    assert claims.take("event", "a", 60)
    assert not claims.take("event", "b", 60)
    assert not claims.take("event", "a", 60)  # delivered to the same process again
    assert claims.take("another", "b", 60)


def test_after_the_lease_another_takes_it_over(claims: LeaseStore, clock: Clock) -> None:
    assert claims.take("event", "a", 60, {"channel": "C1"})
    clock.forward(59)
    assert claims.expired() == []
    assert not claims.take("event", "b", 60)
    clock.forward(1)
    [claim] = claims.expired()
    assert (claim.key, claim.owner, claim.attempts, claim.data) == ("event", "a", 1, {"channel": "C1"})
    assert claims.take("event", "b", 60)
    assert not claims.take("event", "c", 60)
    assert claims.expired() == []
    assert not claims.extend("event", "a", 60)
    assert not claims.finish("event", "a")
    assert claims.finish("event", "b")


def test_what_is_left_for_the_next_stays(claims: LeaseStore, clock: Clock) -> None:
    claims.take("event", "a", 60, {"channel": "C1"})
    clock.forward(61)
    claims.take("event", "b", 60, {"channel": "C2"})
    clock.forward(61)
    [claim] = claims.expired()
    assert (claim.owner, claim.attempts, claim.data) == ("b", 2, {"channel": "C1"})


def test_whoever_takes_it_over_gets_what_was_noted_last(claims: LeaseStore, clock: Clock) -> None:
    first = claims.take("event", "a", 60, {"channel": "C1", "state": "taken"})
    assert first and (first.owner, first.attempts, first.data) == ("a", 1, {"channel": "C1", "state": "taken"})
    assert claims.take("event", "b", 60) is None
    assert claims.note("event", "a", {"state": "started", "ts": "2.0"})
    clock.forward(61)
    second = claims.take("event", "b", 60, {"channel": "C9"})
    assert second and (second.owner, second.attempts) == ("b", 2)
    assert second.data == {"channel": "C1", "state": "started", "ts": "2.0"}


def test_only_the_owner_can_note_something(claims: LeaseStore, clock: Clock) -> None:
    claims.take("event", "a", 60, {"state": "taken"})
    assert not claims.note("event", "b", {"state": "started"})
    assert not claims.note("unknown", "a", {"state": "started"})
    clock.forward(61)
    assert claims.note("event", "a", {"more": 1})  # nobody has taken it over yet
    claims.take("event", "b", 60)
    assert not claims.note("event", "a", {"state": "started"})
    assert claims.finish("event", "b")
    assert not claims.note("event", "b", {"state": "started"})
    assert [claim.data for claim in claims.noted("state", "taken")] == [{"state": "taken", "more": 1}]


def test_events_are_found_by_what_was_noted(claims: LeaseStore) -> None:
    for key, ts in (("a", "1.0"), ("b", "2.0"), ("c", "1.0")):
        claims.take(key, "x", 60, {"ts": ts})
    claims.finish("c", "x")
    assert [claim.key for claim in claims.noted("ts", "1.0")] == ["a", "c"]
    assert claims.noted("ts", "3.0") == []
    assert claims.noted("nothing", "1.0") == []


def test_notes_of_several_threads_are_all_kept(claims: LeaseStore) -> None:
    claims.take("event", "a", 60)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda number: claims.note("event", "a", {f"n{number}": number}), range(40)))
    [claim] = claims.noted("n0", "0")
    assert claim.data == {f"n{number}": number for number in range(40)}


def test_only_what_is_unknown_is_taken_first(claims: LeaseStore, clock: Clock) -> None:
    assert claims.add("event", "a", 60, {"channel": "C1"})
    assert not claims.add("event", "a", 60)
    clock.forward(61)
    assert not claims.add("event", "b", 60)  # that is for whoever takes it over
    assert claims.take("event", "b", 60) is not None
    claims.finish("event", "b")
    assert not claims.add("event", "c", 60)


def test_many_leases_are_extended_at_once(claims: LeaseStore, clock: Clock) -> None:
    for key in ("mine", "lost", "finished", "x" * 1_000):
        claims.take(key, "a", 60)
    claims.take("theirs", "b", 600)
    claims.finish("finished", "a")
    clock.forward(50)
    keys = ["mine", "theirs", "finished", "unknown", "x" * 1_000]
    assert claims.extend_all(keys, "a", 60) == {"mine", "x" * 1_000}
    assert claims.extend_all([], "a", 60) == frozenset()
    clock.forward(50)
    assert [claim.key for claim in claims.expired()] == ["lost"]


def test_a_lease_can_be_extended(claims: LeaseStore, clock: Clock) -> None:
    claims.take("event", "a", 60)
    clock.forward(50)
    assert claims.extend("event", "a", 60)
    clock.forward(50)
    assert not claims.take("event", "b", 60)


def test_what_is_finished_is_never_given_again(claims: LeaseStore, clock: Clock) -> None:
    claims.take("event", "a", 60)
    assert claims.finish("event", "a")
    assert not claims.finish("event", "a")
    clock.forward(3600)
    assert claims.expired() == []
    assert not claims.take("event", "b", 60)


def test_what_is_released_can_be_claimed_at_once(claims: LeaseStore) -> None:
    claims.take("event", "a", 60)
    assert claims.release("event", "a")
    assert [claim.key for claim in claims.expired()] == ["event"]
    assert claims.take("event", "b", 60)
    assert not claims.release("event", "a")


def test_the_longest_expired_come_first(claims: LeaseStore, clock: Clock) -> None:
    for seconds in (30, 10, 20):
        claims.take(f"event-{seconds}", "a", seconds)
    clock.forward(60)
    assert [claim.key for claim in claims.expired(limit=2)] == ["event-10", "event-20"]


def test_old_events_are_forgotten(claims: LeaseStore, clock: Clock) -> None:
    claims.take("finished", "a", 60)
    claims.finish("finished", "a")
    clock.forward(8 * 24 * 3600)
    claims.take("new", "a", 60)
    assert claims.prune() == 1
    assert not claims.take("new", "b", 60)
    assert claims.take("finished", "b", 60)


@pytest.mark.parametrize("key", ["x" * 10_000, "NUL \x00", "\ud800", "'; DROP TABLE lore_claims; --", ""])
def test_any_text_is_a_key(claims: LeaseStore, key: str) -> None:
    assert claims.take(key, key, 60)
    assert not claims.take(key, "b", 60)
    assert claims.take(f"{key}!", "b", 60)
    assert claims.finish(key, key)


def test_of_eight_threads_one_gets_each(claims: LeaseStore) -> None:
    keys = [f"event-{number}" for number in range(50)]
    with ThreadPoolExecutor(8) as pool:
        got = pool.map(
            lambda job: (job[0], claims.take(job[0], job[1], 60)), [(key, f"{n}") for key in keys for n in range(8)]
        )
        assert Counter(key for key, success in got if success) == Counter(keys)


def test_of_eight_threads_one_takes_over_each(claims: LeaseStore, clock: Clock) -> None:
    keys = [f"event-{number}" for number in range(50)]
    for key in keys:
        claims.take(key, "dead", 60)
    clock.forward(61)
    with ThreadPoolExecutor(8) as pool:
        got = pool.map(
            lambda job: (job[0], claims.take(job[0], job[1], 60)), [(key, f"{n}") for key in keys for n in range(8)]
        )
        assert Counter(key for key, success in got if success) == Counter(keys)


@pytest.mark.slow
def test_of_two_processes_one_gets_each(url: str) -> None:
    Records.open(url, str).close()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM_ALL, url, owner],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for owner in ("a", "b")
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    claimed = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert Counter(claimed[0] + claimed[1]) == Counter(f"event-{number}" for number in range(100))
