"""What changes on a Stack Exchange site between two reads, and during one."""

from __future__ import annotations

import pytest
from lore.errors import SourceError

from tests.contracts.source import ids, last_cursor
from tests.servers.stackexchange import StackExchangeServer, throttled
from tests.sources.stackoverflow.questions import DAY, NOW, START, answer, documents, question, source_of


def test_an_unchanged_site_gives_nothing_and_asks_for_no_answers():
    with StackExchangeServer([question(n) for n in range(1, 301)], quota=10_000) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.requests.clear()
        batches = list(source.read(cursor))
        assert ids(batches) == []
        assert last_cursor(batches) == cursor
        assert server.paths() == ["/questions"]
        server.questions[2] |= {"last_activity_date": START + 301_000, "score": 9}
        server.requests.clear()
        assert list(documents(source, cursor)) == ["3"]
        assert server.paths() == ["/questions", "/questions/3/answers"]


def test_a_change_that_the_list_shows_late_is_read():
    with StackExchangeServer([question(1), question(2)]) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.questions[0] |= {"last_activity_date": START + 1950, "title": "Late"}
        assert documents(source, cursor)["1"].title == "Late"


def test_votes_are_seen_when_all_is_read_again():
    with StackExchangeServer([question(n) for n in range(1, 4)]) as server:
        cursor = last_cursor(list(source_of(server).read(None)))
        server.questions[0]["score"] = 99
        assert documents(source_of(server, now=NOW + 29 * DAY), cursor) == {}
        assert documents(source_of(server, now=NOW + 31 * DAY, refresh_days=0), cursor) == {}
        again = list(source_of(server, now=NOW + 31 * DAY).read(cursor))
        assert len(ids(again)) == 3
        assert "Score 99" in again[0].documents[0].text
        assert documents(source_of(server, now=NOW + 32 * DAY), last_cursor(again)) == {}


@pytest.mark.parametrize("other", [{"min_score": -5}, {"tagged": ["docker"]}, {"audiences": ["staff"]}])
def test_a_declaration_that_chooses_otherwise_reads_from_the_start(other):
    with StackExchangeServer([question(n, tags=["airflow", "docker"]) for n in range(1, 6)]) as server:
        cursor = last_cursor(list(source_of(server).read(None)))
        assert len(documents(source_of(server, title="Another"), cursor)) == 0
        assert len(documents(source_of(server, **other), cursor)) == 5


def test_no_question_is_lost_while_the_list_shifts():
    with StackExchangeServer([question(n) for n in range(1, 351)], quota=10_000) as server:

        def touch(count: int) -> None:
            """Before every call questions of the first page, the middle and the end become the newest."""
            for place in (0, count, 150 + count, 349 - count):
                newest = max(row["last_activity_date"] for row in server.questions)
                server.questions[place] |= {"last_activity_date": newest + 500, "title": "Changed meanwhile"}

        server.before = touch
        source = source_of(server)
        batches = list(source.read(None))
        server.before = None
        known = {d.id: d for batch in batches for d in batch.documents}
        assert len(known) == 350
        known |= {f"so:{key}": d for key, d in documents(source, last_cursor(batches)).items()}
        changed = [row["question_id"] for row in server.questions if row["title"] == "Changed meanwhile"]
        assert changed
        assert all(known[f"so:{number}"].title == "Changed meanwhile" for number in changed)


def test_a_question_deleted_while_the_list_is_read_hides_no_other():
    with StackExchangeServer([question(n) for n in range(1, 351)], quota=10_000) as server:
        server.before = lambda count: server.questions.pop(0) and None
        listed = set(source_of(server).list_ids())
        server.before = None
        assert {f"so:{row['question_id']}" for row in server.questions} <= listed


@pytest.mark.parametrize("exclusive", [False, True])
def test_whatever_min_means_every_question_is_read_once(exclusive):
    same = [question(n, START + 5000) for n in range(100, 320)]
    rows = [*(question(n) for n in range(1, 4)), *same, *(question(n) for n in range(320, 330))]
    with StackExchangeServer(rows, exclusive=exclusive, quota=10_000) as server:
        assert sorted(source_of(server).list_ids()) == sorted(f"so:{row['question_id']}" for row in rows)


def test_many_answers_are_read_to_the_last():
    answers = [answer(n, 1, creation_date=START + n // 150) for n in range(1000, 1330)]
    with StackExchangeServer([question(1)], answers) as server:
        (document,) = documents(source_of(server)).values()
    assert document.text.count("# Answer") == 330


def test_a_question_deleted_since_it_was_listed_goes_with_the_next_list():
    with StackExchangeServer([question(1), question(2)], [answer(5, 1)]) as server:
        server.before = lambda count: count == 3 and server.answers.clear()
        source = source_of(server)
        assert "1" in documents(source)
        server.questions.pop(0)
        assert list(source.list_ids()) == ["so:2"]


def test_a_read_that_is_cut_goes_on_where_it_was():
    questions = [question(n) for n in range(1, 251)]
    fault = throttled(90_000, "min=")
    fault.after = 1
    with StackExchangeServer(questions, faults=[fault], quota=10_000) as server:
        batches = []
        with pytest.raises(SourceError, match="wait until 2025-0") as caught:
            for batch in source_of(server).read(None):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert caught.value.retryable
        assert len(ids(batches)) in (100, 199, 200)
        server.requests.clear()
        rest = list(source_of(server).read(last_cursor(batches)))
        assert set(ids(batches)) | set(ids(rest)) == {f"so:{n}" for n in range(1, 251)}
        assert len(ids(rest)) <= 151
