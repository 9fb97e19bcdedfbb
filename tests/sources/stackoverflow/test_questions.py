"""Questions of Stack Exchange as documents, read from a local server."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest

from tests.contracts.source import SourceContract, failed, ids
from tests.servers.json_api import Fault
from tests.servers.stackexchange import StackExchangeServer
from tests.sources.stackoverflow.questions import DAY, START, answer, documents, question, source_of


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
