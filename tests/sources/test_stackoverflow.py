"""Stack Exchange's API, read from a local server that speaks its wire format, and Posts.xml of a data dump."""

from __future__ import annotations

import json
import logging
from datetime import UTC, date, datetime
from html import escape
from xml.sax.saxutils import quoteattr

import pytest
from lore.declarations import StackOverflowDeclaration
from lore.errors import ConfigurationError, SourceError
from lore.settings import load_settings
from lore.sources.http.retries import RetryPolicy
from lore.sources.stackoverflow.api import StackExchangeAccess
from lore.sources.stackoverflow.dump import StackOverflowDumpSource
from lore.sources.stackoverflow.source import StackOverflowSource
from lore.wiring.sources import make_source

from tests.contracts.source import SourceContract, failed, ids, last_cursor
from tests.servers.json_api import Fault
from tests.servers.stackexchange import StackExchangeServer, refused, throttled

DAY = 86_400
START = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
NOW = START + 400 * DAY


def question(number: int, active: int | None = None, **more: object) -> dict[str, object]:
    return {
        "question_id": number,
        "title": f"Question {number}?",
        "body": f"<p>Body of {number}.</p>",
        "score": 1,
        "tags": ["airflow"],
        "owner": {"display_name": "Ada &amp; Co"},
        "is_answered": True,
        "creation_date": START + number,
        "last_activity_date": START + 1000 * number if active is None else active,
        "link": f"https://stackoverflow.com/questions/{number}/question",
        "content_license": "CC BY-SA 4.0",
    } | more


def answer(number: int, parent: int, score: int = 1, **more: object) -> dict[str, object]:
    return {
        "answer_id": number,
        "question_id": parent,
        "body": f"<p>Answer {number}.</p>",
        "score": score,
        "is_accepted": False,
        "owner": {"display_name": "Bo"},
        "creation_date": START + number,
    } | more


def declared(**options: object) -> StackOverflowDeclaration:
    return StackOverflowDeclaration(**({"id": "so", "tagged": ["airflow"]} | options))


def source_of(server, key=None, max_retries=1, waits=None, now=NOW, timeout=5.0, **options) -> StackOverflowSource:
    retries = RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append, now=lambda: float(now))
    access = StackExchangeAccess(server.base_url, key=key, timeout=timeout, retries=retries)
    return StackOverflowSource(declared(**options), access=access)


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}


class TestContract(SourceContract):
    @pytest.fixture
    def server(self):
        same = START + 50_000_000  # 130 questions in one second
        questions = [question(n) for n in range(1, 131)] + [question(n, same) for n in range(131, 261)]
        with StackExchangeServer(questions, [answer(1000 + n, n) for n in range(1, 261, 7)], quota=10_000) as server:
            yield server

    @pytest.fixture
    def source(self, server):
        return source_of(server, now=START + 60_000_000)

    @pytest.fixture
    def change(self, server):
        def change():
            server.questions[4] |= {"last_activity_date": START + 50_000_500, "title": "Now different"}
            return "so:5"

        return change


def test_a_question_is_one_page_with_the_accepted_answer_first():
    asked = question(
        7,
        START + 10 * DAY,
        title="Why isn&#39;t <code>xcom</code> pushed?",
        body='<p>It is not:</p>\n<pre class="lang-py prettyprint-override"><code>def f():\n    return 1\n</code></pre>',
        score=12,
        tags=["airflow", "python-3.x"],
        accepted_answer_id=71,
        closed_date=START + 9 * DAY,
        closed_reason="Duplicate",
    )
    answers = [
        answer(70, 7, 30, body="<h2>More</h2><p>Popular.</p>"),
        answer(71, 7, -1, body='<p>See <a href="/q/5">this</a>.</p>'),
        answer(72, 7, -2, body="<p>Wrong.</p>"),
        answer(73, 7, 30, body="<p>As popular.</p>", owner={"user_type": "does_not_exist"}),
    ]
    with StackExchangeServer([asked], answers) as server:
        (document,) = documents(source_of(server, audiences=["staff"])).values()
    assert document.text == (
        "Question · State: answered, one answer accepted; closed as duplicate on 2024-01-10 · Score 12 · "
        "Tags: airflow, python-3.x · Asked 2024-01-01 · By Ada & Co · Active 2024-01-11\n\n"
        "It is not:\n\n```py\ndef f():\n    return 1\n```\n\n"
        "# Accepted answer by Bo on 2024-01-01, score -1\n\nSee [this](https://stackoverflow.com/q/5).\n\n"
        "# Answer by Bo on 2024-01-01, score 30\n\n### More\n\nPopular.\n\n"
        "# Answer on 2024-01-01, score 30\n\nAs popular.\n"
    )
    assert document.title == "Why isn't <code>xcom</code> pushed?"
    assert document.url == "https://stackoverflow.com/questions/7/question"
    assert (document.format, document.audiences) == ("markdown", ("staff",))
    assert document.updated_at == datetime(2024, 1, 11, tzinfo=UTC)
    assert json.loads(json.dumps(document.metadata))["license"] == "CC BY-SA 4.0"


@pytest.mark.parametrize(
    "odd",
    [
        {"title": None},
        {"title": "\ud800 half"},
        {"body": None},
        {"body": "<div><p>open <pre><code>never closed"},
        {"owner": None},
        {"tags": "airflow"},
        {"score": "many"},
        {"link": "javascript:alert(1)"},
        {"closed_date": "yesterday"},
        {"creation_date": -5},
        {"accepted_answer_id": True},
    ],
)
def test_payloads_may_lack_anything(odd):
    body = json.dumps({"items": [question(1, **odd)], "has_more": False, "quota_remaining": 9}).encode()
    with StackExchangeServer([question(1)], [answer(5, 1)], faults=[Fault("withbody", body=body)]) as server:
        (document,) = documents(source_of(server)).values()
    assert document.url.startswith("https://stackoverflow.com/questions/1")
    assert document.text.startswith("Question · State: answered")
    assert document.title.encode()


def test_rows_that_are_no_questions_are_passed_over():
    items = [None, 7, {}, {"question_id": "1"}, {"question_id": True}, question(5)]
    body = json.dumps({"items": items, "has_more": False}).encode()
    with StackExchangeServer(faults=[Fault("withbody", body=body)]) as server:
        assert list(documents(source_of(server))) == ["5"]


def test_a_post_that_cannot_be_read_fails_alone():
    deep = question(2, body="<div>" * 5000 + "x")
    with StackExchangeServer([question(1), deep, question(3)]) as server:
        batches = list(source_of(server).read(None))
    assert ids(batches) == ["so:1", "so:3"]
    assert failed(batches) == ["so:2"]
    assert "too deeply" in batches[0].failures[0].reason


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"1", "2", "3"}),
        ({"min_score": 5}, {"2"}),
        ({"include_unanswered": True}, {"1", "2", "3", "4"}),
        ({"since": date(2024, 1, 10)}, {"3"}),
        ({"tagged": ["docker"]}, {"2", "5"}),
        ({"tagged": ["airflow docker"]}, {"2"}),
        ({"tagged": ["airflow", "docker"]}, {"1", "2", "3", "5"}),
    ],
)
def test_the_declaration_chooses(options, expected):
    questions = [
        question(1, START),
        question(2, START, score=5, tags=["airflow", "docker"]),
        question(3, START + 9 * DAY),
        question(4, START, is_answered=False),
        question(5, START, tags=["docker"]),
    ]
    with StackExchangeServer(questions) as server:
        source = source_of(server, **options)
        batches = list(source.read(None))
        assert sorted(ids(batches)) == sorted(f"so:{number}" for number in expected)
        assert sorted(source.list_ids()) == sorted(ids(batches))


def test_answers_below_the_score_are_left_out_unless_accepted():
    answers = [answer(10, 1, 0), answer(11, 1, 4), answer(12, 1, 5)]
    with StackExchangeServer([question(1, accepted_answer_id=10)], answers) as server:
        (document,) = documents(source_of(server, min_answer_score=5)).values()
    assert "Answer 10." in document.text
    assert "Answer 11." not in document.text
    assert "Answer 12." in document.text


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


def test_the_pause_that_an_answer_asks_for_is_kept():
    waits: list[float] = []
    with StackExchangeServer([question(1)], [answer(5, 1)], backoff={2: 17}) as server:
        documents(source_of(server, waits=waits))
    assert waits == [17.0]


def test_a_pause_that_is_too_long_ends_the_run():
    with StackExchangeServer([question(1)], backoff={2: 700}) as server:
        with pytest.raises(SourceError, match="wait until 2025-02-04 00:11:40") as caught:
            documents(source_of(server))
        assert caught.value.retryable
        assert len(server.requests) == 2


def test_throttling_is_waited_for_as_long_as_it_says():
    waits: list[float] = []
    faults = [throttled(41), refused(502, "throttle_violation", "simply too many"), refused(503, "down", "Wait.")]
    with StackExchangeServer([question(1)], faults=faults) as server:
        assert list(documents(source_of(server, waits=waits, max_retries=3))) == ["1"]
    assert waits[:2] == [41.0, 30.0]
    assert waits[2] < 10


def test_a_quota_that_is_used_up_ends_the_run_and_names_the_key():
    with StackExchangeServer([question(n) for n in range(1, 801)], quota=4) as server:
        batches = []
        with pytest.raises(SourceError, match="used up for today") as caught:
            for batch in source_of(server).read(None):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert caught.value.retryable
        assert "LORE_STACKEXCHANGE_KEY" in caught.value.remedy
        assert len(server.requests) == 4  # and not one to be refused
        assert last_cursor(batches) is None or ids(batches)


def test_more_questions_than_declared_are_refused_with_one_call():
    with StackExchangeServer([question(n) for n in range(1, 50)]) as server:
        for call in (lambda source: list(source.read(None)), lambda source: list(source.list_ids())):
            with pytest.raises(SourceError, match="selects 49 questions") as caught:
                call(source_of(server, max_questions=48))
            assert "max_questions" in caught.value.remedy
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault("withbody", status=500),
        Fault("withbody", status=503, headers={"Retry-After": "7"}),
        Fault("withbody", status=429, headers={"Retry-After": "7"}),
        Fault("withbody", cut=True),
        Fault("withbody", length=100_000),
        Fault("withbody", length=20),
        Fault("withbody", body=b"<html>down"),
        Fault("withbody", body=b'{"items": ['),
        Fault("withbody", headers={"Content-Encoding": "gzip"}, body=b"no gzip"),
    ],
    ids=lambda fault: f"{fault.status or ''}{fault.cut or ''}{fault.length or ''}{(fault.body or b'')[:9]!r}",
)
def test_what_fails_for_the_moment_is_asked_for_again(fault):
    waits: list[float] = []
    with StackExchangeServer([question(1)], [answer(5, 1)], faults=[fault]) as server:
        (document,) = documents(source_of(server, waits=waits)).values()
    assert "Answer 5." in document.text
    assert waits == [7.0] if fault.headers.get("Retry-After") else len(waits) == 1


def test_a_body_that_comes_too_slowly_is_given_up():
    fault = Fault("withbody", drip=0.02, times=9, body=b" " * 500)
    with StackExchangeServer([question(1)], faults=[fault]) as server:
        with pytest.raises(SourceError, match=r"no complete response within 0\.1 seconds") as caught:
            documents(source_of(server, timeout=0.1))
        assert caught.value.retryable


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"null", b'{"items": 5}'])
def test_an_answer_that_is_no_list_is_an_error(body):
    faults = [Fault("withbody", body=body)]
    with StackExchangeServer(faults=faults) as server, pytest.raises(SourceError, match="didn't return a list"):
        documents(source_of(server))


@pytest.mark.parametrize("rows", [[question(1)], []])
def test_a_list_that_has_no_end_ends(rows):
    body = json.dumps({"items": rows, "has_more": True}).encode()
    with StackExchangeServer(faults=[Fault("/questions", body=body, times=99)]) as server:
        with pytest.raises(SourceError, match="has no end"):
            list(source_of(server).list_ids())
        assert len(server.requests) < 20


def test_a_list_that_is_not_in_order_is_read_to_its_end_without_a_cursor():
    with StackExchangeServer() as server:

        def page(count: int) -> None:
            rows = [question(n, START + 900 - n) for n in range(100 * count, 100 * count + 100)]
            body = {"items": rows, "has_more": count < 4}
            server.faults = [Fault("filter=withbody", body=json.dumps(body).encode())] if count > 1 else []
            server.faults += [Fault("/answers", body=b'{"items": []}', times=4)]

        server.before = page
        batches = list(source_of(server).read(None))
    assert last_cursor(batches) is None
    assert ids(batches)


def test_a_clock_that_is_ahead_does_not_hide_what_is_to_come():
    with StackExchangeServer([question(1), question(2, NOW + 900 * DAY)]) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.questions.append(question(3, NOW + 5))
        assert list(documents(source, cursor)) == ["3"]


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"whole": 1, "reached": [], "recent": {}, "selection": ""}'])
def test_a_cursor_that_is_none_is_an_error(cursor):
    with StackExchangeServer([question(1)]) as server, pytest.raises(SourceError, match="cursor"):
        documents(source_of(server), cursor)


def test_the_key_reaches_the_server_and_nothing_else(caplog):
    caplog.set_level(logging.DEBUG)
    with StackExchangeServer([question(1)], key="k-secret-123") as server:
        assert documents(source_of(server, key="k-secret-123"))
        assert all(request.query["key"] == "k-secret-123" for request in server.requests)
        with pytest.raises(SourceError) as caught:
            documents(source_of(server, key="wrong-987"))
    assert "matches" not in str(caught.value)
    assert "`key` … doesn't match" in str(caught.value)
    assert "LORE_STACKEXCHANGE_KEY" in caught.value.remedy
    assert "k-secret-123" not in caplog.text
    assert "wrong-987" not in caplog.text + str(caught.value)
    assert "k-secret-123" not in repr(StackExchangeAccess(key="k-secret-123"))


def test_settings_give_the_key_and_the_declaration_the_address():
    settings = load_settings({"LORE_STACKEXCHANGE_KEY": "k-123", "LORE_MAX_RETRIES": "0"})
    with StackExchangeServer([question(1)], key="k-123") as server:
        source = make_source(declared(base_url=server.base_url), settings)
        assert isinstance(source, StackOverflowSource)
        assert list(documents(source)) == ["1"]


def test_a_key_that_can_be_none_is_refused_unsent():
    with StackExchangeServer() as server, pytest.raises(ConfigurationError) as caught:
        documents(source_of(server, key="two\nlines"))
    assert "two" not in str(caught.value)


def test_a_redirect_to_another_server_gets_nothing():
    with StackExchangeServer() as other:
        fault = Fault(status=302, headers={"Location": f"{other.base_url}/questions"})
        with StackExchangeServer(faults=[fault]) as server, pytest.raises(SourceError, match="another server"):
            documents(source_of(server, key="k-secret-123"))
        assert not other.requests


# ----------------------------------------------------------------------------------------------------------- dump


def dump(path, questions, answers):
    """A Posts.xml with these posts, as the dumps have it: answers by number among the questions, and tag wikis."""
    rows = []
    for one in questions:
        row = {
            "Id": one["question_id"],
            "PostTypeId": 1,
            "AcceptedAnswerId": one.get("accepted_answer_id"),
            "CreationDate": iso(one["creation_date"]),
            "LastActivityDate": iso(one["last_activity_date"]),
            "Score": one["score"],
            "Title": one["title"],
            "Body": one["body"],
            "Tags": "".join(f"<{tag}>" for tag in one["tags"]),
            "ContentLicense": "CC BY-SA 4.0",
        }
        rows.append(row)
    for one in answers:
        row = {"Id": one["answer_id"], "PostTypeId": 2, "ParentId": one["question_id"], "Score": one["score"]}
        rows.append(row | {"CreationDate": iso(one["creation_date"]), "Body": one["body"]})
    rows += [{"Id": 9_000_001, "PostTypeId": 5, "Body": "A tag wiki"}, {"Id": 9_000_002, "PostTypeId": 2}]
    rows.sort(key=lambda row: row["Id"])
    lines = [
        f"  <row {' '.join(f'{key}={quoteattr(str(value))}' for key, value in row.items() if value is not None)} />"
        for row in rows
    ]
    text = "\n".join(['<?xml version="1.0" encoding="utf-8"?>', "<posts>", *lines, "</posts>"])
    path.write_text(text, encoding="utf-8")


def iso(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.000}"


class TestDumpContract(SourceContract):
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "Posts.xml"
        dump(path, self.questions(), [answer(1000 + n, n) for n in range(1, 251)])
        return path

    @pytest.fixture
    def source(self, path):
        return StackOverflowDumpSource(declared(dump=path))

    @pytest.fixture
    def change(self, path):
        def change():
            rows = self.questions()
            rows[4]["title"] = "Now different"
            dump(path, rows, [answer(1000 + n, n) for n in range(1, 251)])
            return "so:5"

        return change

    def questions(self):
        return [question(n) for n in range(1, 251)]


def test_the_dump_gives_the_pages_that_the_api_gives(tmp_path):
    questions = [
        question(1, tags=["airflow", "docker"], accepted_answer_id=11, title="A & B < C?", owner=None),
        question(2, tags=["docker"]),
        question(3, score=-3, owner=None),
        question(4, owner=None),
    ]
    answers = [answer(11, 1, -1, owner=None), answer(12, 1, 5, owner=None), answer(41, 4, 0), answer(2000, 99)]
    path = tmp_path / "Posts.xml"
    dump(path, questions, answers)
    served = [{**one, "title": escape(str(one["title"])), "is_answered": one["question_id"] == 1} for one in questions]
    for row in served:
        row["link"] = f"https://stackoverflow.com/questions/{row['question_id']}"
    with StackExchangeServer(served, answers) as server:
        expected = documents(source_of(server))
    found = documents(StackOverflowDumpSource(declared(dump=path)))
    assert list(found) == ["1"]
    assert found == expected


def test_an_unchanged_dump_gives_nothing(tmp_path):
    path = tmp_path / "Posts.xml"
    dump(path, [question(1)], [answer(5, 1)])
    source = make_source(declared(dump=path), load_settings({}))
    cursor = last_cursor(list(source.read(None)))
    assert ids(list(source.read(cursor))) == []
    assert list(source.list_ids()) == ["so:1"]


def test_tags_of_new_dumps(tmp_path):
    path = tmp_path / "Posts.xml"
    dump(path, [question(1, tags=["airflow", "c++"])], [answer(5, 1)])
    path.write_text(path.read_text().replace("&lt;airflow&gt;&lt;c++&gt;", "|airflow|c++|"))
    (document,) = documents(StackOverflowDumpSource(declared(tagged=["c++ airflow"], dump=path))).values()
    assert document.metadata["tags"] == ["airflow", "c++"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no XML",
        "<posts><row Id='1'",
        "<html><body/></html>",
        "<posts><row><row/></row></posts>",
        '<!DOCTYPE posts [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><posts><row Body="&b;"/></posts>',
        '<!DOCTYPE posts SYSTEM "file:///etc/passwd"><posts/>',
    ],
)
def test_what_is_no_dump_is_an_error_and_not_an_empty_site(tmp_path, text):
    path = tmp_path / "Posts.xml"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"not a Posts\.xml"):
        list(StackOverflowDumpSource(declared(dump=path)).list_ids())


def test_a_row_without_end_is_not_taken_into_memory(tmp_path):
    path = tmp_path / "Posts.xml"
    with path.open("w") as stream:
        stream.write('<posts><row Id="1" Body="')
        for _ in range(40):
            stream.write("x" * 1_000_000)
    with pytest.raises(SourceError, match="is endless"):
        list(StackOverflowDumpSource(declared(dump=path)).list_ids())


def test_a_dump_that_is_not_there_is_named(tmp_path):
    source = StackOverflowDumpSource(declared(dump=tmp_path / "Posts.xml"))
    for call in (lambda: list(source.read(None)), lambda: list(source.list_ids())):
        with pytest.raises(SourceError, match="can't be read") as caught:
            call()
        assert "dump" in caught.value.remedy


def test_a_dump_of_more_questions_than_declared_is_refused(tmp_path):
    path = tmp_path / "Posts.xml"
    dump(path, [question(n) for n in range(1, 12)], [])
    with pytest.raises(SourceError, match="max_questions"):
        list(StackOverflowDumpSource(declared(max_questions=10, dump=path)).read(None))


# --------------------------------------------------------------------------------------------------- real material


def test_the_shared_threads_ingest(shared_data, tmp_path):
    folder = shared_data / "retrieval" / "airflow_so"
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    told = {row["_id"]: row for row in map(json.loads, (folder / "corpus.jsonl").read_text().splitlines())}
    pairs = [line.split("\t") for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]]
    threads = {row["_id"]: int(row["_id"][1:]) for row in asked}

    def html(text: str) -> str:
        return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n"))

    questions = [
        question(
            threads[row["_id"]],
            title=escape(row["text"]),
            body=html((row.get("metadata") or {}).get("body", "")),
            last_activity_date=START + number,
        )
        for number, row in enumerate(asked)
    ]
    answers = [
        answer(10**9 + number, threads[query], body=html(told[document]["text"]))
        for number, (query, document, _) in enumerate(pairs)
        if query in threads and document in told
    ]
    with StackExchangeServer(questions, answers, quota=10_000) as server:
        source = source_of(server)
        found = documents(source)
        assert set(source.list_ids()) == {f"so:{number}" for number in found}
        assert documents(source, last_cursor(list(source.read(None)))) == {}
    assert len(found) == len(asked)
    assert sum(document.text.count("\n# Answer by") for document in found.values()) == len(answers)
    path = tmp_path / "Posts.xml"
    dump(path, questions, answers)
    dumped = documents(StackOverflowDumpSource(declared(dump=path)))
    assert dumped.keys() == {key for key, one in found.items() if one.metadata["answers"]}
