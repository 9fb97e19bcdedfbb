"""Lists of issues and comments that shift, end too late, or refuse."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from lore.errors import SourceError
from lore.sources.http.client import HttpError

from tests.contracts.source import failed, ids, last_cursor
from tests.servers.github import Fault, GitHubServer, rate_limited
from tests.sources.github.issues.issues import comment, documents, issue, source_of, stamp


def test_no_issue_is_lost_while_pages_shift():
    with GitHubServer([issue(n) for n in range(1, 351)]) as github:

        def touch(count: int) -> None:
            """Before every call an issue of the first page changes and so moves to the end, as does one of the last."""
            github.issues[count * 3] |= {"updated_at": stamp(1000 + count), "body": "changed meanwhile"}
            github.issues[340] |= {"updated_at": stamp(2000 + count), "body": "changed meanwhile"}

        github.before = touch
        source = source_of(github)
        batches = list(source.read(None))
        github.before = None
        assert sorted(ids(batches)) == sorted(f"issues:{n}" for n in range(1, 351))
        changed = [issue["number"] for issue in github.issues if issue["body"] == "changed meanwhile"]
        known = {d.id: d.text for batch in batches for d in batch.documents}
        known |= {f"issues:{number}": d.text for number, d in documents(source, last_cursor(batches)).items()}
        assert changed
        assert all("changed meanwhile" in known[f"issues:{number}"] for number in changed)


def test_a_change_that_the_list_shows_late_is_read():
    with GitHubServer([issue(1, 10), issue(2, 20)]) as github:
        source = source_of(github)
        cursor = last_cursor(list(source.read(None)))
        github.issues[0] |= {"updated_at": stamp(19.25), "body": "Changed before."}
        assert "Changed before" in documents(source, cursor)["1"].text


def test_the_cursor_stays_when_the_newest_issue_is_gone():
    with GitHubServer([issue(1), issue(2, 50), issue(3, 50.5)]) as github:
        source = source_of(github)
        cursor = last_cursor(list(source.read(None)))
        github.issues.pop()
        after = last_cursor(list(source.read(cursor)))
        assert json.loads(after)["updated_at"] == json.loads(cursor)["updated_at"]
        assert list(source.list_ids()) == ["issues:1", "issues:2"]


def test_closing_while_listing_hides_no_other_issue():
    with GitHubServer([issue(n) for n in range(1, 351)]) as github:
        github.before = lambda count: github.issues[count].update(state="closed")
        listed = set(source_of(github, state="open").list_ids())
        github.before = None
        assert {f"issues:{row['number']}" for row in github.issues if row["state"] == "open"} <= listed


def test_many_comments_are_taken_from_the_whole_list():
    issues, comments = [issue(n) for n in range(1, 251)], [comment(1 + n % 250, n) for n in range(600)]
    with GitHubServer(issues, comments) as github:
        found = documents(source_of(github))
    assert sum(document.text.count("# Comment by") for document in found.values()) == 600
    assert len(github.requests) == 12  # three pages of issues, six of comments; and three to begin the next read


def test_few_comments_are_taken_issue_by_issue():
    comments = [comment(5, n) for n in range(1, 206)]
    with GitHubServer([issue(n) for n in range(1, 9)], comments) as github:
        assert documents(source_of(github))["5"].text.count("# Comment by") == 205
    assert github.paths()[:4] == ["/repos/octo/demo/issues"] + 3 * ["/repos/octo/demo/issues/5/comments"]


def test_a_comment_that_came_after_the_list_is_not_lost():
    with GitHubServer([issue(n) for n in range(1, 121)], [comment(n, n) for n in range(1, 121)]) as github:

        def arrive(count: int) -> None:
            if count == 4:  # after the first page of issues and both pages of comments
                github.comments.append(comment(120, 9000, "Late but here"))

        github.before = arrive
        assert "Late but here" in documents(source_of(github))["120"].text


def test_a_read_that_the_rate_limit_cuts_goes_on_where_it_was():
    issues, comments = [issue(n) for n in range(1, 90)], [comment(n, n) for n in range(1, 90)]
    faults = [Fault("/issues/comments", body=b"[]"), rate_limited(4_000_000_000, "/issues/60/comments")]
    with GitHubServer(issues, comments, faults=faults) as github:
        batches = []
        with pytest.raises(SourceError, match="wait until 2096-") as caught:
            for batch in source_of(github).read(None):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert caught.value.retryable
        assert len(ids(batches)) == 50
        rest = documents(source_of(github), last_cursor(batches))
    assert {int(number) for number in rest} >= set(range(50, 90))
    assert 1 not in {int(number) for number in rest}


def test_an_issue_that_vanishes_fails_alone():
    faults = [Fault("/issues/2/comments", status=410, body=b'{"message": "This issue was deleted"}')]
    with GitHubServer([issue(1), issue(2), issue(3)], [comment(2, 1), comment(3, 2)], faults=faults) as github:
        batches = list(source_of(github).read(None))
    assert ids(batches) == ["issues:1", "issues:3"]
    assert failed(batches) == ["issues:2"]
    assert "This issue was deleted" in batches[0].failures[0].reason


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "LORE_GITHUB_TOKEN"), (404, "octo/demo"), (410, "turned off"), (403, "read access")]
)
def test_refusals_name_the_remedy(status, remedy):
    for call in (lambda source: list(source.read(None)), lambda source: list(source.list_ids())):
        with GitHubServer(faults=[Fault(status=status, body=b"{}")]) as github, pytest.raises(HttpError) as caught:
            call(source_of(github, token="tok-123"))
        assert remedy in caught.value.remedy
        assert "tok-123" not in str(caught.value)


def test_a_link_to_another_server_is_not_followed_and_gets_no_token():
    with GitHubServer() as other:
        link = {"Link": f'<{other.base_url}/repos/octo/demo/issues?page=2>; rel="next"'}
        fault = Fault(headers=link, body=json.dumps([{"number": 1}]).encode())
        with GitHubServer(faults=[fault]) as github, pytest.raises(SourceError, match="another server"):
            list(source_of(github, token="tok-123").read(None))
        assert not other.requests


@pytest.mark.parametrize("body", [b"{}", b'"text"', b"null", b"7"])
def test_an_answer_that_is_no_list_is_an_error(body):
    with GitHubServer(faults=[Fault(body=body)]) as github, pytest.raises(SourceError, match="didn't return a list"):
        list(source_of(github).read(None))


def test_a_list_that_runs_in_a_circle_ends():
    with GitHubServer() as github:
        link = {"Link": f'<{github.base_url}/repos/octo/demo/issues?page=1>; rel="next"'}
        body = json.dumps([issue(1)]).encode()
        github.faults.append(Fault(headers=link, body=body, times=99))
        with pytest.raises(SourceError, match="circle"):
            list(source_of(github).list_ids())


@pytest.mark.parametrize("rows", [[issue(1)], []])
def test_pages_that_bring_nothing_new_end(rows):
    with GitHubServer() as github:

        def another_page(count: int) -> None:
            link = {"Link": f'<{github.base_url}/repos/octo/demo/issues?page={count}>; rel="next"'}
            github.faults = [Fault(headers=link, body=json.dumps(rows).encode())]

        github.before = another_page
        with pytest.raises(SourceError, match="has no end"):
            list(source_of(github).list_ids())
    assert len(github.requests) < 30


def test_comments_that_have_no_end_end():
    with GitHubServer([issue(1)], [comment(1, 7)]) as github:

        def another_page(count: int) -> None:
            link = {"Link": f'<{github.base_url}/repos/octo/demo/issues/1/comments?page={count}>; rel="next"'}
            github.faults = [Fault("/1/comments", headers=link, body=json.dumps([comment(1, 7, "Once.")]).encode())]

        github.before = another_page
        assert documents(source_of(github))["1"].text.count("Once.") == 1
    assert len(github.requests) < 10


def test_a_server_that_does_not_sort_is_read_to_its_end_and_from_its_start():
    newest_first = [issue(n, 500 - n) for n in range(1, 251)]
    with GitHubServer() as github:

        def page(count: int) -> None:
            query = github.requests[-1].query
            number = int(query.get("page", 1))
            link = {"Link": f'<{github.base_url}/repos/octo/demo/issues?page={number + 1}>; rel="next"'}
            rows = newest_first[(number - 1) * 100 : number * 100]
            answer = Fault(headers=link if number < 3 else {}, body=json.dumps(rows).encode())
            github.faults = [] if query.get("per_page") == "1" else [answer]

        github.before = page
        batches = list(source_of(github).read(None))
    assert len(ids(batches)) == 250
    assert json.loads(last_cursor(batches))["updated_at"] is None


def test_a_time_in_the_future_does_not_move_the_cursor_past_what_is_to_come():
    with GitHubServer([issue(1), issue(2) | {"updated_at": "9999-12-31T23:59:59Z"}]) as github:
        source = source_of(github)
        cursor = last_cursor(list(source.read(None)))
        github.issues[0]["updated_at"] = f"{datetime.now(UTC) + timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"
        assert "1" in documents(source, cursor)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0999-01-01T00:00:00Z"])
def test_a_time_that_is_out_of_range_is_none(time):
    body = json.dumps([issue(1) | {"updated_at": time, "created_at": time}, issue(2, 5)]).encode()
    with GitHubServer(faults=[Fault(body=body)]) as github:
        batches = list(source_of(github).read(None))
    assert ids(batches) == ["issues:1", "issues:2"]
    assert batches[0].documents[0].updated_at is None
    assert json.loads(last_cursor(batches))["updated_at"] == stamp(5)


@pytest.mark.parametrize("cursor", ["", "x", "{}", "[]", '{"updated_at": "never"}', '{"updated_at": 5}'])
def test_a_cursor_that_is_none_is_an_error_or_a_full_read(cursor):
    with GitHubServer([issue(1)]) as github:
        if not cursor:
            assert ids(list(source_of(github).read(cursor))) == ["issues:1"]
            return
        with pytest.raises(SourceError, match="cursor"):
            list(source_of(github).read(cursor))


def test_headers_are_what_github_asks_for():
    with GitHubServer(token="tok-123") as github:
        list(source_of(github, token="tok-123").read(None))
    headers = github.requests[0].headers
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["x-github-api-version"]
    assert headers["user-agent"]


def test_the_shared_payloads_ingest(shared_data):
    folder = shared_data / "sources" / "github"
    payloads = json.loads((folder / "pygithub_issues.json").read_text())
    notes = json.loads((folder / "pygithub_comments.json").read_text())
    # They come from several repositories, so numbers repeat: each gets its own here, and its GitHub address stays.
    issues = [payload | {"number": number} for number, payload in enumerate(payloads, 1)]
    # The shared comments stand on commits; here they stand on issues.
    comments = [note | {"issue_number": 1 + n % 150} for n, note in enumerate(notes)]
    with GitHubServer(issues, comments, repository="octo/demo") as github:
        source = source_of(github)
        batches = list(source.read(None))
        found = {document.id: document for batch in batches for document in batch.documents}
        assert not failed(batches)
        assert len(found) == 150
        assert set(source.list_ids()) == set(found)
        assert list(source.read(last_cursor(batches))) == []
    kinds = [document.metadata["kind"] for document in found.values()]
    assert kinds.count("pull request") == sum(bool((p.get("pull_request") or {}).get("html_url")) for p in payloads)
    texts = "\n".join(document.text for document in found.values())
    assert texts.count("# Comment by") >= sum(bool(note["body"].strip()) for note in notes)
    assert "probably a noob question: does this completion refer to autocompletion" in texts
    assert all(document.url.startswith("https://github.com/") for document in found.values())
    assert all(document.updated_at and document.title for document in found.values())
