"""Reviews of pull requests and comments on their code."""

from __future__ import annotations

import json

import pytest

from tests.contracts.source import SourceContract, ids, last_cursor
from tests.servers.github import Fault, GitHubServer
from tests.sources.github.issues.issues import comment, documents, issue, source_of, stamp
from tests.sources.github.issues.test_changes import now

PULL = {"pull_request": {"url": "x"}}


def review(pull: int, identity: int, state: str, body: str | None, who: str = "hubot", **more: object):
    values = {"id": identity, "pull_number": pull, "state": state, "body": body, "submitted_at": stamp(identity)}
    return values | {"user": {"login": who}} | more


def code_comment(pull: int, identity: int, body: str, **more: object) -> dict[str, object]:
    moment = stamp(identity)
    values = {"id": identity, "pull_number": pull, "body": body, "created_at": moment, "updated_at": moment}
    return values | {"user": {"login": "hubot"}, "path": "src/a.py", "line": 7} | more


@pytest.fixture
def github():
    with GitHubServer([issue(1), issue(2, **PULL)], [comment(2, 20, "A comment.")]) as github:
        github.reviews = [
            review(2, 15, "CHANGES_REQUESTED", "Please rename it."),
            review(2, 30, "APPROVED", "", who="hubot"),
            review(2, 31, "APPROVED", None, who="octocat"),
            review(2, 32, "COMMENTED", "", who="monalisa"),
        ]
        github.code_comments = [
            code_comment(2, 16, "This name?", diff_hunk="@@ -1,5 +1,6 @@ def f\n a\n b\n c\n d\n+e"),
            code_comment(2, 40, "Renamed.", in_reply_to_id=16, diff_hunk="@@ -1,5 +1,6 @@\n+e"),
            code_comment(2, 18, "And `here`?", path="src/`b`.py", line=None, original_line=3),
        ]
        yield github


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, github):
        github.issues += [issue(n, **(PULL if n % 2 else {})) for n in range(3, 60)]
        return source_of(github, include_reviews=True)

    @pytest.fixture
    def change(self, github):
        def change():
            github.code_comments[0] |= {"body": "Corrected.", "updated_at": now()}
            return "issues:2"

        return change


def test_reviews_and_comments_on_code_are_part_of_the_page(github):
    text = documents(source_of(github, include_reviews=True))["2"].text
    assert text == (
        "Pull request #2 · State: open · Approved by hubot, octocat · Opened 2024-01-01 by octocat · "
        "Updated 2024-01-01\n\nBody of 2.\n\n"
        "# Review by hubot on 2024-01-01: changes requested\n\nPlease rename it.\n\n"
        "# Comment by hubot on 2024-01-01 about `src/a.py` line 7\n\n```diff\n b\n c\n d\n+e\n```\n\nThis name?\n\n"
        "# Comment by hubot on 2024-01-01 about `src/a.py` line 7\n\nRenamed.\n\n"
        "# Comment by hubot on 2024-01-01 about `src/b.py` line 3\n\nAnd `here`?\n\n"
        "# Comment by hubot on 2024-01-01\n\nA comment.\n"
    )


def test_without_being_asked_for_they_cost_no_call(github):
    assert "rename" not in documents(source_of(github))["2"].text
    assert not any("/pulls/" in path for path in github.paths())


def test_the_last_word_of_a_reviewer_counts(github):
    github.reviews += [review(2, 50, "DISMISSED", "", who="octocat"), review(2, 51, "CHANGES_REQUESTED", "", who="kim")]
    text = documents(source_of(github, include_reviews=True))["2"].text
    assert "Approved by hubot · Changes requested by kim · " in text


def test_an_edited_comment_on_code_is_read(github):
    source = source_of(github, include_reviews=True)
    cursor = last_cursor(list(source.read(None)))
    github.code_comments[1] |= {"body": "Renamed to `g`.", "updated_at": now()}
    batches = list(source.read(cursor))
    assert ids(batches) == ["issues:2"]
    assert "Renamed to `g`." in batches[0].documents[0].text


def test_an_unchanged_repository_sends_no_body_twice(github):
    source = source_of(github, include_reviews=True)
    cursor = last_cursor(list(source.read(None)))
    github.requests.clear()
    assert list(source.read(cursor)) == []
    assert [request.status for request in github.requests] == [304, 304, 304, 200]


def test_many_comments_on_code_are_taken_from_the_whole_list(github):
    github.issues = [issue(n, **PULL) for n in range(1, 61)]
    github.code_comments = [code_comment(1 + n % 60, n, f"Comment {n}.") for n in range(150)]
    found = documents(source_of(github, include_reviews=True))
    assert sum(document.text.count("about `src/a.py`") for document in found.values()) == 150
    assert not any("/pulls/" in path and path.endswith("/comments") and path.count("/") == 6 for path in github.paths())


@pytest.mark.parametrize("odd", [{"user": None}, {"state": None}, {"submitted_at": None}, {"id": None}, {"body": 7}])
def test_reviews_may_lack_anything(github, odd):
    github.reviews = [review(2, 15, "APPROVED", "Fine.") | odd]
    github.code_comments = [code_comment(2, 16, "Look.", path=None, line="x", diff_hunk=None)]
    text = documents(source_of(github, include_reviews=True))["2"].text
    assert ("Fine." in text) == ("body" not in odd)
    assert "Look." in text


def test_reviews_of_a_pull_request_that_vanished_are_no_failure(github):
    github.faults = [Fault("/pulls/2/reviews", status=404, body=b"{}")]

    def delete(count: int) -> None:
        if github.requests[-1].path.endswith("/reviews"):
            del github.issues[1]

    github.before = delete
    batches = list(source_of(github, include_reviews=True).read(None))
    assert ids(batches) == ["issues:1"]
    assert not any(batch.failures for batch in batches)


def test_the_shared_pull_requests_ingest(shared_data):
    pulls = json.loads((shared_data / "sources" / "github" / "pygithub_pulls.json").read_text())
    notes = json.loads((shared_data / "sources" / "github" / "pygithub_comments.json").read_text())
    # As a list of issues gives them; they come from one repository whose numbers may repeat over its forks.
    issues = [
        pull | {"number": n, "pull_request": {"url": pull["url"], "merged_at": pull["merged_at"]}}
        for n, pull in enumerate(pulls, 1)
    ]
    with GitHubServer(issues) as github:
        github.code_comments = [note | {"pull_number": 1 + n % len(pulls)} for n, note in enumerate(notes)]
        source = source_of(github, include_reviews=True, include_bots=True)
        found = documents(source)
        cursor = last_cursor(list(source.read(None)))
        assert len(found) == len(pulls)
        assert list(source.read(cursor)) == []
    texts = "\n".join(document.text for document in found.values())
    assert "probably a noob question: does this completion refer to autocompletion" in texts
    merged = sum(bool(pull["merged_at"]) for pull in pulls)
    assert sum(document.metadata["state"] == "merged" for document in found.values()) == merged > 0
