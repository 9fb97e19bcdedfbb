"""GitHub issues and pull requests as documents, read from a local server."""

from __future__ import annotations

import json
from datetime import date

import pytest

from tests.contracts.source import SourceContract, last_cursor
from tests.servers.github import Fault, GitHubServer
from tests.sources.github.issues.issues import comment, documents, issue, source_of, stamp


class TestContract(SourceContract):
    @pytest.fixture
    def github(self):
        issues = [issue(n) for n in range(1, 31)] + [issue(n, 200) for n in range(31, 141)]  # 110 in one second
        with GitHubServer(issues, [comment(n, n) for n in range(1, 141, 9)]) as github:
            yield github

    @pytest.fixture
    def source(self, github):
        return source_of(github)

    @pytest.fixture
    def change(self, github):
        def change():
            github.issues[4] |= {"updated_at": stamp(500), "title": "Now different"}
            return "issues:5"

        return change


def test_an_issue_is_one_page_with_its_facts_and_comments():
    shown = issue(
        7,
        4000,
        title="  It\n breaks ",
        state="closed",
        state_reason="not_planned",
        labels=[{"name": "bug"}, {"name": "good first issue"}, "plain", None, {"name": None}],
        body="It does.\r\n\r\n```\r\ntrace",
        closed_at=stamp(3000),
    )
    with GitHubServer([shown], [comment(7, 20, "Second"), comment(7, 10, "First"), comment(7, 30, None)]) as github:
        (document,) = documents(source_of(github, audiences=["staff"])).values()
    assert document.text == (
        "Issue #7 · State: closed (not planned) · Labels: bug, good first issue, plain · "
        "Opened 2024-01-01 by octocat · Updated 2024-01-03 · Closed 2024-01-03\n\n"
        "It does.\n\n```\ntrace\n```\n\n"
        "# Comment by hubot on 2024-01-01\n\nFirst\n\n# Comment by hubot on 2024-01-01\n\nSecond\n"
    )
    assert (document.title, document.url) == ("It breaks", "https://github.com/octo/demo/issues/7")
    assert (document.format, document.audiences) == ("markdown", ("staff",))
    assert document.metadata["labels"] == ["bug", "good first issue", "plain"]
    assert json.loads(json.dumps(document.metadata))["state"] == "closed (not planned)"


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ({"pull_request": {"url": "x", "merged_at": stamp(9)}, "state": "closed"}, "Pull request #1 · State: merged"),
        ({"pull_request": {"url": "x", "merged_at": None}, "state": "closed"}, "Pull request #1 · State: closed"),
        ({"pull_request": {"url": "x"}, "draft": True}, "Pull request #1 · State: open (draft)"),
        ({"pull_request": {"url": None, "html_url": None}}, "Issue #1 · State: open"),
        ({"state": "open", "state_reason": "reopened"}, "Issue #1 · State: open (reopened)"),
    ],
)
def test_the_state_is_in_the_text(more, facts):
    with GitHubServer([issue(1, **more)]) as github:
        assert documents(source_of(github))["1"].text.startswith(f"{facts} · ")


@pytest.mark.parametrize(
    "odd",
    [
        {"body": None},
        {"user": None},
        {"user": {}},
        {"labels": None},
        {"labels": "bug"},
        {"title": None},
        {"html_url": "javascript:alert(1)"},
        {"html_url": None},
        {"created_at": "yesterday", "closed_at": 7},
        {"pull_request": True, "state": None},
        {"body": "<!-- never closed"},
        {"body": "~~~ open\n```"},
        {"body": "\ud800 half a character"},
    ],
)
def test_payloads_may_lack_anything(odd):
    with GitHubServer([issue(1, **odd)], [comment(1, 5, user=None)]) as github:
        (document,) = documents(source_of(github)).values()
    assert document.url in ("", "https://github.com/octo/demo/issues/1")
    assert document.text.endswith("# Comment by ghost on 2024-01-01\n\nA comment.\n")
    assert document.title


def test_rows_that_are_no_issues_are_passed_over():
    body = json.dumps(
        [None, 7, {}, {"number": "1"}, {"number": True}, {"number": 5, "labels": 5}, {"number": -1}]
    ).encode()
    with GitHubServer(faults=[Fault(body=body)]) as github:
        assert list(documents(source_of(github))) == ["5"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"1", "2", "3", "4"}),
        ({"state": "open"}, {"1", "3", "4"}),
        ({"state": "closed"}, {"2"}),
        ({"labels": ["bug", "ui"]}, {"3"}),
        ({"since": date(2024, 1, 2)}, {"4"}),
        ({"include_pull_requests": False}, {"2", "3", "4"}),
    ],
)
def test_the_declaration_chooses(options, expected):
    labels = [{"name": "ui"}, {"name": "bug"}]
    issues = [
        issue(1, pull_request={"url": "x"}),
        issue(2, state="closed"),
        issue(3, labels=labels),
        issue(4, 3000, labels=labels[:1]),
    ]
    with GitHubServer(issues) as github:
        source = source_of(github, **options)
        assert set(documents(source)) == expected
        assert set(source.list_ids()) == {f"issues:{number}" for number in expected}


def test_only_what_changed_is_read_again():
    with GitHubServer([issue(n, n * 10) for n in range(1, 301)], [comment(300, 5)]) as github:
        source = source_of(github)
        cursor = last_cursor(list(source.read(None)))
        assert json.loads(cursor)["updated_at"] == stamp(3000)
        github.issues[2] |= {"updated_at": stamp(3001), "state": "closed"}
        github.requests.clear()
        assert list(documents(source, cursor)) == ["3"]
        assert [
            (request.method, request.path.rpartition("demo/")[2], request.status) for request in github.requests
        ] == [
            ("GET", "issues", 200),
            ("GET", "issues", 200),  # what the next read begins with
            ("GET", "issues/comments", 304),
            ("HEAD", "issues", 200),
        ]


@pytest.mark.parametrize("wider", [{"state": "all"}, {"labels": []}, {"since": None}, {"audiences": ["staff"]}])
def test_a_declaration_that_chooses_otherwise_reads_from_the_start(wider):
    narrow = {"state": "open", "labels": ["bug"], "since": date(2024, 1, 2)}
    issues = [issue(n, 2000 + n * 10, labels=[{"name": "bug"}]) for n in range(1, 6)]
    with GitHubServer(issues) as github:
        cursor = last_cursor(list(source_of(github, **narrow).read(None)))
        assert len(documents(source_of(github, **narrow), cursor)) == 0
        assert len(documents(source_of(github, **(narrow | wider)), cursor)) == 5
