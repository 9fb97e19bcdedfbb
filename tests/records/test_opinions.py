"""What people say of answers in a chat: the last word counts, once, however often and in whatever order it comes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from lore.records.opinions import Opinion, Opinions, PostedNotice, Vote
from lore.records.records import Records

from tests.records.answers import full_answer


@pytest.fixture
def opinions(records: Records) -> Opinions:
    records.add(full_answer("aaaa"))
    return records.opinions()


def feedback(records: Records) -> list[tuple[str, bool, str]]:
    return [(one.asker, one.helpful, one.reason) for one in records.get("aaaa").feedback]


def test_a_changed_mind_is_one_opinion(opinions: Opinions, records: Records) -> None:
    assert opinions.vote("aaaa", "U1", Vote("button", True, 1.0)) == Opinion(True, "", is_new=True)
    assert opinions.vote("aaaa", "U1", Vote("button", False, 2.0)) == Opinion(False, "", is_new=True)
    assert opinions.vote("aaaa", "U2", Vote("+1", True, 3.0)) == Opinion(True, "", is_new=True)
    assert sorted(feedback(records)) == [("U1", False, ""), ("U2", True, "")]


def test_an_answer_that_is_not_written_yet_is_told(opinions: Opinions, records: Records) -> None:
    assert opinions.vote("bbbb", "U1", Vote("button", True, 1.0)) is None
    assert opinions.vote("aaa", "U1", Vote("button", True, 1.0)) is None  # no beginnings of ids
    records.add(full_answer("bbbb"))
    assert opinions.vote("bbbb", "U1", Vote("button", True, 1.0))


def test_the_order_in_which_words_come_changes_nothing(records: Records) -> None:
    words = [
        Vote("+1", True, 1.0),
        Vote("+1", None, 2.0),
        Vote("button", False, 3.0),
        Vote("button", False, 3.0, reason="It is old."),
    ]
    for number, order in enumerate(permutations(words)):
        name = f"answer-{number:02}"
        records.add(full_answer(name))
        for word in (*order, *order):
            records.opinions().vote(name, "U1", word)
        [opinion] = records.get(name).feedback
        assert (opinion.helpful, opinion.reason) == (False, "It is old.")


def test_what_is_taken_back_is_only_what_that_source_said(opinions: Opinions, records: Records) -> None:
    opinions.vote("aaaa", "U1", Vote("-1", False, 1.0))
    opinions.vote("aaaa", "U1", Vote("button", True, 2.0))
    assert opinions.vote("aaaa", "U1", Vote("-1", None, 3.0)) == Opinion(True, "", is_new=False)
    opinions.vote("aaaa", "U1", Vote("-1::skin-tone-2", False, 4.0))
    assert opinions.vote("aaaa", "U1", Vote("-1::skin-tone-2", None, 5.0)) == Opinion(True, "", is_new=True)
    assert opinions.vote("aaaa", "U2", Vote("+1", True, 1.0)) == Opinion(True, "", is_new=True)
    assert opinions.vote("aaaa", "U2", Vote("+1", None, 2.0)) == Opinion(None, "", is_new=True)
    assert opinions.vote("aaaa", "U2", Vote("+1", True, 1.0)) == Opinion(None, "", is_new=False)  # came once more
    assert feedback(records) == [("U1", True, "")]


def test_a_reason_stays_until_the_mind_changes(opinions: Opinions, records: Records) -> None:
    opinions.vote("aaaa", "U1", Vote("button", False, 1.0, reason="It is old."))
    assert opinions.vote("aaaa", "U1", Vote("button", False, 2.0)) == Opinion(False, "It is old.", is_new=False)
    assert opinions.vote("aaaa", "U1", Vote("button", True, 3.0)) == Opinion(True, "", is_new=True)
    assert opinions.vote("aaaa", "U1", Vote("button", False, 2.0, reason="Late.")) == Opinion(True, "", is_new=False)
    assert feedback(records) == [("U1", True, "")]


def test_reasons_are_redacted(url: str) -> None:
    with Records.open(url, lambda text: text.replace("hunter2", "[REDACTED]")) as records:
        records.add(full_answer("aaaa"))
        standing = records.opinions().vote("aaaa", "U1", Vote("button", False, 1.0, reason="hunter2 is no password"))
        assert standing == Opinion(False, "[REDACTED] is no password", is_new=True)
        assert feedback(records) == [("U1", False, "[REDACTED] is no password")]


def test_one_alone_tells_others_of_it(opinions: Opinions) -> None:
    assert not opinions.begin_notice("aaaa", "U1", 60)  # nothing was said
    opinions.vote("aaaa", "U1", Vote("button", False, 1.0))
    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(lambda _: opinions.begin_notice("aaaa", "U1", 60), range(8)))
    assert begun.count(True) == 1
    opinions.vote("aaaa", "U1", Vote("button", False, 1.0, reason="It is old."))  # while the message is posted
    told = PostedNotice("C9", "5.0")
    assert opinions.end_notice("aaaa", "U1", told) == Opinion(False, "It is old.", notice=told)
    assert not opinions.begin_notice("aaaa", "U1", 60)
    assert opinions.vote("aaaa", "U1", Vote("button", True, 2.0)) == Opinion(True, "", is_new=True, notice=told)


def test_somebody_else_tells_when_the_first_did_not_in_time(records: Records) -> None:
    records.add(full_answer("aaaa"))
    moments = [datetime(2026, 3, 1, tzinfo=UTC)]
    opinions = Opinions(records.engine, str, now=lambda: moments[-1])
    opinions.vote("aaaa", "U1", Vote("button", False, 1.0))
    assert opinions.begin_notice("aaaa", "U1", 60)
    moments.append(moments[0] + timedelta(seconds=59))
    assert not opinions.begin_notice("aaaa", "U1", 60)
    moments.append(moments[0] + timedelta(seconds=61))
    assert opinions.begin_notice("aaaa", "U1", 60)


def test_a_person_is_forgotten_with_what_they_said(opinions: Opinions, records: Records) -> None:
    told = PostedNotice("C9", "5.0", "C1", "4.0")
    for asker in ("U8", "U9"):
        opinions.vote("aaaa", asker, Vote("button", False, 1.0, reason=f"says {asker}"))
    assert opinions.begin_notice("aaaa", "U8", 60)
    assert not opinions.begin_notice("aaaa", "U9", 60), "of all people's opinions one message tells"
    opinions.end_notice("aaaa", "U8", told)
    assert [one.reason for one in opinions.about("aaaa")] == ["says U8", "says U9"]
    assert opinions.withdraw("U8") == (1, {"aaaa": (told,)})
    assert [one.reason for one in opinions.about("aaaa")] == ["says U9"]
    assert opinions.withdraw("U8") == (0, {})
    opinions.hand_on("aaaa", told)
    assert opinions.vote("aaaa", "U9", Vote("button", True, 2.0)) == Opinion(True, "", is_new=True, notice=told)
    assert opinions.withdraw("U1") == (0, {"aaaa": (told,)})  # who asked: what was said of the answer goes
    assert opinions.about("aaaa") == ()
    records.forget("U1")


def test_a_message_that_is_posted_while_its_person_is_forgotten_belongs_to_nobody(opinions: Opinions) -> None:
    opinions.vote("aaaa", "U8", Vote("button", False, 1.0))
    assert opinions.begin_notice("aaaa", "U8", 60)
    assert opinions.withdraw("U8") == (1, {})
    assert opinions.end_notice("aaaa", "U8", PostedNotice("C9", "5.0")) is None


def test_two_words_at_once_are_both_heard(opinions: Opinions, records: Records) -> None:
    words = [Vote(f"source-{number}", number % 2 == 0, float(number)) for number in range(1, 41)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda word: opinions.vote("aaaa", "U1", word), words))
    assert feedback(records) == [("U1", True, "")]
    assert opinions.vote("aaaa", "U1", Vote("source-40", None, 50.0)) == Opinion(False, "", is_new=True)
