"""Discussions, through a server that answers GraphQL."""

from __future__ import annotations

import json

import pytest
from lore.errors import SourceError
from lore.sources.http.client import HttpError

from tests.contracts.source import SourceContract, failed, ids, last_cursor
from tests.servers.github import Fault, GitHubServer
from tests.sources.github.issues.issues import documents, issue, source_of, stamp
from tests.sources.github.issues.test_changes import deleted, now


def note(identity: int, body: str, who: str | None = "hubot", **more: object) -> dict[str, object]:
    author = {"login": who, "__typename": "User"} if who else None
    values = {"id": f"DC_{identity}", "databaseId": identity, "body": body, "createdAt": stamp(identity)}
    return values | {"author": author, "replies": {"nodes": []}} | more


def discussion(number: int, updated: float | None = None, **more: object) -> dict[str, object]:
    return {
        "number": number,
        "title": f"Discussion {number}",
        "body": f"Question {number}.",
        "url": f"https://github.com/octo/demo/discussions/{number}",
        "createdAt": stamp(number),
        "updatedAt": stamp(number if updated is None else updated),
        "closed": False,
        "closedAt": None,
        "stateReason": None,
        "author": {"login": "octocat", "__typename": "User"},
        "labels": {"nodes": []},
        "category": {"name": "Q&A", "isAnswerable": True},
        "answer": None,
        "comments": [],
    } | more


@pytest.fixture
def github():
    with GitHubServer([issue(n) for n in range(1, 4)]) as github:
        github.discussions = [discussion(n) for n in range(100, 123)]
        yield github


def all_of(github, **options):
    return source_of(github, include_discussions=True, **options)


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, github):
        return all_of(github)

    @pytest.fixture
    def change(self, github):
        def change():
            github.discussions[4] |= {"title": "Now different", "updatedAt": stamp(500)}
            return "issues:104"

        return change


def test_a_discussion_is_one_page_with_the_answer_first(github):
    github.discussions = [
        discussion(
            7,
            2000,
            answer={"id": "DC_30"},
            labels={"nodes": [{"name": "help"}]},
            comments=[
                note(10, "Have you tried?", replies={"nodes": [note(40, "Yes."), note(41, "")]}),
                note(30, "Do this.", replies={"nodes": [note(35, "Thanks!", who=None)]}),
            ],
        )
    ]
    document = documents(all_of(github))["7"]
    assert document.text == (
        "Discussion #7 · Category: Q&A · State: answered · Labels: help · Opened 2024-01-01 by octocat · "
        "Updated 2024-01-02\n\nQuestion 7.\n\n"
        "# Answer by hubot on 2024-01-01\n\nDo this.\n\n# Reply by ghost on 2024-01-01\n\nThanks!\n\n"
        "# Comment by hubot on 2024-01-01\n\nHave you tried?\n\n# Reply by hubot on 2024-01-01\n\nYes.\n"
    )
    assert (document.url, document.title) == ("https://github.com/octo/demo/discussions/7", "Discussion 7")
    assert document.metadata["kind"] == "discussion"
    assert document.metadata["state"] == "answered"


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "unanswered"),
        ({"category": {"name": "Ideas", "isAnswerable": False}}, "open"),
        ({"category": None}, "open"),
        ({"closed": True, "stateReason": "OUTDATED"}, "closed (outdated)"),
        ({"closed": True}, "closed"),
        ({"closed": True, "stateReason": "RESOLVED", "answer": {"id": "x"}}, "answered"),
    ],
)
def test_the_state_is_in_the_text(github, more, state):
    github.discussions = [discussion(7, **more)]
    assert f"State: {state} · Opened" in documents(all_of(github))["7"].text


def test_an_unchanged_repository_sends_no_discussion_twice(github):
    source = all_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.requests.clear()
    assert list(source.read(cursor)) == []
    assert len(list(source.list_ids())) == 26
    queries = [request.body["query"] for request in github.requests if request.path == "/graphql"]
    assert len(queries) == 1
    assert "body" not in queries[0]


def test_only_what_changed_is_asked_for(github):
    source = all_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.discussions[3] |= {"updatedAt": now(), "answer": {"id": "x"}}
    github.discussions.append(discussion(200, 800))
    assert ids(list(source.read(cursor))) == ["issues:200", "issues:103"]


def test_a_change_in_the_second_in_which_it_was_read_is_not_missed(github):
    github.discussions[3]["updatedAt"] = now()
    source = all_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.discussions[3]["title"] = "Second"  # in the same second
    assert documents(source, cursor)["103"].title == "Second"


def test_a_deletion_is_seen_by_the_count(github):
    source = all_of(github)
    cursor = last_cursor(list(source.read(None)))
    del github.discussions[5]
    batches = list(source.read(cursor))
    assert ids(batches) == []
    assert "issues:105" not in set(source.list_ids())
    assert list(source.read(last_cursor(batches))) == []


def test_a_discussion_that_is_deleted_while_it_is_read_is_gone_and_the_others_are_not(github):
    def delete(count: int) -> None:
        body = github.requests[-1].body
        if body and "d102:" in body["query"]:
            github.discussions[:] = [row for row in github.discussions if row["number"] != 102]

    github.before = delete
    source = all_of(github)
    batches = list(source.read(None))
    assert deleted(batches) == ["issues:102"]
    assert set(ids(batches)) == set(source.list_ids()) == {f"issues:{n}" for n in (1, 2, 3, 100, 101, *range(103, 123))}


def test_many_discussions_and_comments_are_paged(github):
    github.discussions = [discussion(n) for n in range(100, 350)]
    github.discussions[7]["comments"] = [note(n, f"Comment {n}.") for n in range(250)]
    found = documents(all_of(github))
    assert len(found) == 253
    assert found["107"].text.count("# Comment by") == 250


def test_a_read_that_is_cut_goes_on_where_it_was(github):
    source = all_of(github)
    github.faults = [Fault("/graphql", status=403, body=b'{"message": "API rate limit exceeded"}', after=3, times=9)]
    batches = []
    with pytest.raises(SourceError):
        for batch in source.read(None):
            batches.append(batch)  # noqa: PERF402 - what came before the error counts
    github.faults = []
    assert [one for one in ids(batches) if int(one[7:]) >= 100] == [f"issues:{n}" for n in range(100, 110)]
    rest = ids(list(source.read(last_cursor(batches))))
    assert set(rest) >= {f"issues:{n}" for n in range(110, 123)}
    assert "issues:100" not in rest or len(rest) < 30
    assert len(list(source.list_ids())) == 26


def test_the_declaration_chooses_among_discussions_too(github):
    github.discussions = [
        discussion(100, labels={"nodes": [{"name": "bug"}]}),
        discussion(101, labels={"nodes": [{"name": "bug"}, {"name": "spam"}]}),
        discussion(102, author={"login": "ci", "__typename": "Bot"}, labels={"nodes": [{"name": "bug"}]}),
        discussion(103),
        discussion(104, closed=True, labels={"nodes": [{"name": "bug"}]}),
    ]
    source = all_of(github, labels=["bug"], exclude_labels=["spam"], state="open")
    batches = list(source.read(None))
    assert ids(batches) == list(source.list_ids()) == ["issues:100"]


@pytest.mark.parametrize(
    ("status", "body", "remedy"),
    [
        (401, {"message": "This endpoint requires you to be authenticated."}, "LORE_GITHUB_TOKEN"),
        (200, {"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]}, "read access"),
        (200, {"errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a Repository"}]}, "Check the name"),
    ],
)
def test_refusals_name_the_remedy(github, status, body, remedy):
    github.faults = [Fault("/graphql", status=status, body=json.dumps(body).encode(), times=9)]
    with pytest.raises(HttpError) as caught:
        list(all_of(github).read(None))
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("data", [{}, {"repository": None}, {"repository": {"discussions": {"nodes": [None, 5, {}]}}}])
def test_answers_that_lack_things_give_nothing(github, data):
    github.faults = [Fault("/graphql", body=json.dumps({"data": data}).encode(), times=9)]
    batches = list(all_of(github).read(None))
    assert ids(batches) == ["issues:1", "issues:2", "issues:3"]
    assert failed(batches) == []


@pytest.mark.parametrize(
    "odd",
    [{"author": None}, {"title": None}, {"labels": None}, {"updatedAt": None}, {"url": "javascript:x"}, {"body": None}],
)
def test_discussions_may_lack_anything(github, odd):
    github.discussions = [discussion(100, comments=[note(5, "Fine.", author=None, replies=None)]) | odd]
    assert "Fine." in documents(all_of(github))["100"].text
