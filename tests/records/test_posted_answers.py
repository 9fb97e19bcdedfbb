"""Places: which message leases which answer, in which threads there are answers, and forgetting both."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.records.schema import bring_up_to_date, migrate
from sqlalchemy import text

from tests.records.answers import full_answer, small_answer
from tests.records.conftest import unredacted

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def places(records: Records) -> PostedAnswers:
    return PostedAnswers(records.engine)


def how_many(records: Records) -> int:
    """How many places there are."""
    with records.engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM lore_places")).scalar_one())


def test_a_message_leads_to_its_answer(places: PostedAnswers) -> None:
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a1", asker="slack:T1:U1")
    assert places.answer_at("T1", "C1", "2.0") == "a1"
    assert places.answer_at("T1", "C2", "2.0") is None
    assert places.answer_at("T2", "C1", "2.0") is None
    assert places.answer_at("T1", "C1", "1.0") is None


def test_a_thread_with_an_answer_is_known(places: PostedAnswers) -> None:
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a1", asker="slack:T1:U1")
    assert places.answered_in("T1", "C1", "1.0")
    assert not places.answered_in("T1", "C1", "2.0")
    assert not places.answered_in("T1", "C2", "1.0")
    assert not places.answered_in("T2", "C1", "1.0")


def test_an_answer_may_be_in_several_messages_and_is_kept_once_for_each(
    records: Records, places: PostedAnswers
) -> None:
    for ts in ("2.0", "2.1", "2.0"):
        places.keep("T1", "C1", ts, thread_ts="1.0", answer_id="a1", asker="slack:T1:U1")
    assert places.answer_at("T1", "C1", "2.1") == "a1"
    assert how_many(records) == 2


def test_the_first_answer_in_a_message_stays(places: PostedAnswers) -> None:
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a1", asker="slack:T1:U1")
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a2", asker="slack:T1:U2")
    assert places.answer_at("T1", "C1", "2.0") == "a1"


def test_an_answer_that_grows_is_in_its_thread_and_leads_nowhere_until_it_is_complete(
    records: Records, places: PostedAnswers
) -> None:
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="", asker="slack:T1:U1")
    assert places.answered_in("T1", "C1", "1.0")
    assert places.answer_at("T1", "C1", "2.0") is None
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a1", asker="slack:T1:U1")
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="", asker="slack:T1:U1")
    assert places.answer_at("T1", "C1", "2.0") == "a1"
    assert how_many(records) == 1


def test_who_is_forgotten_by_the_records_has_no_places_left_and_others_have(
    records: Records, places: PostedAnswers
) -> None:
    records.add(full_answer(asker="slack:T1:U1"))
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a" * 32, asker="slack:T1:U1")
    places.keep("T1", "C1", "4.0", thread_ts="3.0", answer_id="a2", asker="slack:T1:U2")
    assert records.forget("slack:T1:U1") == 1
    assert places.answer_at("T1", "C1", "2.0") is None
    assert not places.answered_in("T1", "C1", "1.0")
    assert places.answer_at("T1", "C1", "4.0") == "a2"


def test_places_without_a_recorded_answer_are_forgotten_too(records: Records, places: PostedAnswers) -> None:
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="", asker="slack:T1:U1")
    assert records.forget("slack:T1:U1") == 0
    assert not places.answered_in("T1", "C1", "1.0")


def test_places_are_removed_as_long_after_as_answers_are(url: str) -> None:
    with Records.open(url, unredacted, retention_days=10) as records:
        for days, ts in ((11, "1.0"), (9, "2.0")):
            moment = datetime.now(UTC) - timedelta(days=days)
            records.add(small_answer(f"answer-{ts}"), moment)
            kept = PostedAnswers(records.engine, partial(lambda moment: moment, moment))
            kept.keep("T1", "C1", ts, thread_ts=ts, answer_id=f"answer-{ts}", asker="")
        while records.tidy():
            pass
        places = PostedAnswers(records.engine)
        assert (places.answer_at("T1", "C1", "1.0"), places.answer_at("T1", "C1", "2.0")) == (None, "answer-2.0")


def test_without_retention_places_stay(records: Records) -> None:
    PostedAnswers(records.engine, lambda: NOON - timedelta(days=5_000)).keep(
        "T1", "C1", "1.0", thread_ts="1.0", answer_id="a1", asker=""
    )
    records.tidy()
    assert PostedAnswers(records.engine).answered_in("T1", "C1", "1.0")


@pytest.mark.parametrize("odd", ["x" * 10_000, "NUL \x00", "\ud800", "'; DROP TABLE lore_places; --", ""])
def test_any_text_is_a_place(records: Records, places: PostedAnswers, odd: str) -> None:
    places.keep(odd, odd, odd, thread_ts=odd, answer_id="a1", asker=f"slack:{odd}")
    assert places.answer_at(odd, odd, odd) == "a1"
    assert places.answered_in(odd, odd, odd)
    assert places.answer_at(odd, odd, f"{odd}!") is None
    records.forget(f"slack:{odd}")
    assert how_many(records) == 0


def test_many_threads_may_keep_the_same_place(records: Records, places: PostedAnswers) -> None:
    def keep(number: int) -> None:
        places.keep("T1", "C1", f"{number % 5}", thread_ts="1.0", answer_id=f"a{number % 5}", asker="slack:T1:U1")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep, range(80)))
    assert [places.answer_at("T1", "C1", f"{number}") for number in range(5)] == [f"a{number}" for number in range(5)]
    assert how_many(records) == 5


def test_records_from_before_there_were_places_keep_what_they_have(records: Records) -> None:
    with records.engine.begin() as connection:
        for later in ("lore_places", "lore_opinions", "lore_keys"):
            connection.execute(text(f"DROP TABLE {later}"))
        connection.execute(text("ALTER TABLE lore_answers DROP COLUMN packed"))
        connection.execute(text("UPDATE lore_schema SET version_num = '0001'"))
    bring_up_to_date(records.engine)
    records.add(full_answer())
    places = PostedAnswers(records.engine)
    places.keep("T1", "C1", "2.0", thread_ts="1.0", answer_id="a1", asker="")
    assert places.answered_in("T1", "C1", "1.0")
    assert records.get("aaaa").answer == full_answer()
    with records.engine.begin() as connection:
        migrate(connection, "base")
    bring_up_to_date(records.engine)
    assert not places.answered_in("T1", "C1", "1.0")
