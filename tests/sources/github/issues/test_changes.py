"""What changes in a repository's issues between two reads and while they go on, and what each read costs."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import pytest
from lore.errors import SourceError

from tests.contracts.source import ids, last_cursor
from tests.servers.github import Fault, GitHubServer, rate_limited
from tests.sources.github.issues.issues import comment, documents, issue, source_of, stamp


def now(seconds: float = 0) -> str:
    return f"{datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def deleted(batches) -> list[str]:
    return [one for batch in batches for one in batch.deleted_ids]


@pytest.fixture
def github():
    with GitHubServer([issue(n) for n in range(1, 31)], [comment(n, n) for n in range(1, 31, 3)]) as github:
        yield github


def test_an_unchanged_repository_sends_no_body_twice(github):
    cursor = last_cursor(list(source_of(github).read(None)))
    for _ in range(2):
        github.requests.clear()
        source = source_of(github)
        assert list(source.read(cursor)) == []
        assert len(list(source.list_ids())) == 30
        assert [(request.method, request.status) for request in github.requests] == [
            ("GET", 304),
            ("GET", 304),
            ("HEAD", 200),
        ]
        assert github.calls_used == 1


def test_what_etags_do_not_save_is_not_read_again(github):
    cursor = json.loads(last_cursor(list(source_of(github).read(None))))
    for feed in ("issues", "comments"):
        cursor[feed]["etag"] = 'W/"of another token"'
    github.requests.clear()
    batches = list(source_of(github).read(json.dumps(cursor)))
    assert ids(batches) == []
    assert len(github.requests) == 3


def test_an_edited_comment_is_read_though_its_issue_did_not_change(github):
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.comments[2] |= {"body": "Corrected.", "updated_at": now()}
    github.requests.clear()
    batches = list(source.read(cursor))
    assert ids(batches) == ["issues:7"]
    assert "Corrected." in batches[0].documents[0].text
    paths = [path.removeprefix("/repos/octo/demo/") for path in github.paths()]
    assert paths[:4] == ["issues", "issues/comments", "issues/7", "issues/7/comments"]


def test_a_comment_that_was_read_with_its_issue_is_not_read_for_itself(github):
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.comments.append(comment(5, 900, "New.") | {"updated_at": now(), "created_at": now()})
    github.issues[4]["updated_at"] = now()
    assert ids(list(source.read(cursor))) == ["issues:5"]
    assert [path for path in github.paths() if path.endswith("/issues/5")] == []


def test_a_comment_that_is_edited_while_its_issue_is_read_is_not_missed(github):
    def edit(count: int) -> None:
        if github.requests[-1].path.endswith("/issues/comments") and "sort" in github.requests[-1].query:
            return
        if github.requests[-1].path.endswith("/issues/28/comments"):  # the comments of issue 1 were read before
            github.comments[0] |= {"body": "Edited meanwhile.", "updated_at": now()}

    github.before = edit
    found = {}
    for batch in source_of(github).read(None):
        found |= {document.id: document.text for document in batch.documents}
    assert "Edited meanwhile." in found["issues:1"]


def test_a_change_in_the_second_in_which_an_issue_was_read_is_not_missed(github):
    moment = now()
    github.issues[3] |= {"updated_at": moment, "title": "First"}
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.issues[3] |= {"title": "Second"}  # in the same second
    assert documents(source, cursor)["4"].title == "Second"


def test_a_comment_below_what_is_not_wanted_costs_no_call(github):
    github.issues[6]["pull_request"] = {"url": "x"}
    source = source_of(github, include_pull_requests=False)
    cursor = last_cursor(list(source.read(None)))
    github.comments[2] |= {"body": "Corrected.", "updated_at": now()}
    github.requests.clear()
    assert ids(list(source.read(cursor))) == []
    assert not any("/issues/7" in path for path in github.paths())


def test_a_deletion_is_seen_by_counting_and_then_listed(github):
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    del github.issues[9]
    batches = list(source.read(cursor))
    assert ids(batches) == []
    assert set(source.list_ids()) == {f"issues:{n}" for n in range(1, 31) if n != 10}
    github.requests.clear()
    assert list(source.read(last_cursor(batches))) == []
    assert len(github.requests) == 3


def test_where_lists_do_not_tell_their_length_it_is_asked_for_with_a_token(github):
    github.tells_last_page = False
    source = source_of(github, token="tok-123")
    cursor = last_cursor(list(source.read(None)))
    github.requests.clear()
    assert list(source.read(cursor)) == []
    assert [request.status for request in github.requests] == [304, 304, 200]
    del github.issues[9]
    list(source.read(cursor))
    assert "issues:10" not in set(source.list_ids())


def test_where_graphql_does_not_tell_the_list_is_asked(github):
    github.faults = [Fault("/graphql", status=403, body=b"{}", times=9)]
    source = source_of(github, token="tok-123")
    cursor = last_cursor(list(source.read(None)))
    del github.issues[9]
    list(source.read(cursor))
    assert "issues:10" not in set(source.list_ids())


@pytest.mark.parametrize("options", [{}, {"state": "open"}])
def test_where_it_cannot_be_asked_for_all_are_listed_once_a_day(github, options):
    github.tells_last_page = False
    source = source_of(github, **options)
    cursor = last_cursor(list(source.read(None)))
    del github.issues[9]
    assert list(source.read(cursor)) == []
    assert "issues:10" in set(source.list_ids())
    yesterday = json.dumps(json.loads(cursor) | {"listed": now(-86_400)})
    batches = list(source.read(yesterday))
    assert "issues:10" not in set(source.list_ids())
    assert list(source.read(last_cursor(batches))) == []


def test_the_way_to_many_comments_is_the_shorter_one_though_lists_do_not_tell_their_length():
    issues, comments = [issue(n) for n in range(1, 251)], [comment(1 + n % 250, n) for n in range(600)]
    with GitHubServer(issues, comments) as github:
        github.tells_last_page = False
        assert sum(text.text.count("# Comment by") for text in documents(source_of(github)).values()) == 600
        assert sum(path.endswith("/comments") for path in github.paths()) == 7


def test_an_issue_that_is_deleted_while_it_is_read_is_gone_and_no_failure(github):
    def delete(count: int) -> None:
        if github.requests[-1].path.endswith("/issues/7/comments"):
            github.issues[:] = [row for row in github.issues if row["number"] != 7]

    github.before = delete
    source = source_of(github)
    batches = list(source.read(None))
    assert deleted(batches) == ["issues:7"]
    assert not any(batch.failures for batch in batches)
    assert "issues:7" not in set(ids(batches)) | set(source.list_ids())


@pytest.mark.parametrize("number", [3, 7])
def test_an_issue_that_was_transferred_is_gone(github, number):
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.comments[2] |= {"body": "Corrected.", "updated_at": now()}
    github.moved[7] = f"{github.base_url}/repos/octo/elsewhere/issues/{number}"
    del github.issues[6]
    batches = list(source.read(cursor))
    assert ids(batches) == []
    assert deleted(batches) == ["issues:7"]
    assert "issues:7" not in set(source.list_ids())


def test_an_issue_that_was_transferred_to_here_is_read_whatever_its_date(github):
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.issues.append(issue(99, 2, title="From elsewhere"))
    assert documents(source, cursor)["99"].title == "From elsewhere"


def test_what_was_closed_or_labelled_leaves(github):
    options = {"state": "open", "exclude_labels": ["spam"]}
    source = source_of(github, **options)
    cursor = last_cursor(list(source.read(None)))
    github.issues[0] |= {"state": "closed", "updated_at": now()}
    github.issues[1] |= {"labels": [{"name": "spam"}], "updated_at": now()}
    assert ids(list(source.read(cursor))) == []
    assert set(source.list_ids()) == {f"issues:{n}" for n in range(3, 31)}


def test_what_became_too_old_leaves():
    old, young = (f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}" for days in (40, 5))
    issues = [issue(1) | {"updated_at": old}, issue(2) | {"updated_at": young}, issue(3) | {"updated_at": young}]
    with GitHubServer(issues) as github:
        assert list(documents(source_of(github, max_age_days=30))) == ["2", "3"]
        assert list(documents(source_of(github, max_age_days=60))) == ["1", "2", "3"]
        source = source_of(github, max_age_days=60, since=date.today() - timedelta(days=10))
        batches = list(source.read(None))
        assert ids(batches) == ["issues:2", "issues:3"]
        github.requests.clear()
        assert list(source.read(last_cursor(batches))) == []
        assert list(source.list_ids()) == ["issues:2", "issues:3"]
        assert github.calls_used == 0  # the whole list is asked for once a day
        aged = json.loads(last_cursor(batches)) | {"listed": now(-86_400)}
        github.issues[1]["updated_at"] = old
        list(source.read(json.dumps(aged)))
        assert list(source.list_ids()) == ["issues:3"]


BOTS = [{"login": "dependabot[bot]", "type": "Bot"}, {"login": "renovate[bot]"}, {"login": "ci", "type": "Bot"}]


@pytest.mark.parametrize("bot", BOTS)
def test_bots_are_left_out_unless_they_are_asked_for(bot):
    issues = [issue(1), issue(2, user=bot), issue(3)]
    comments = [comment(3, 10, "By a person."), comment(3, 11, "By a bot.", user=bot)]
    with GitHubServer(issues, comments) as github:
        source = source_of(github)
        batches = list(source.read(None))
        assert ids(batches) == list(source.list_ids()) == ["issues:1", "issues:3"]
        assert "By a bot" not in batches[0].documents[1].text
        github.comments[1] |= {"body": "By a bot, again.", "updated_at": now()}
        assert ids(list(source.read(last_cursor(batches)))) == []
        everything = documents(source_of(github, include_bots=True))
        assert set(everything) == {"1", "2", "3"}
        assert "By a bot, again." in everything["3"].text


def test_a_read_that_was_cut_keeps_from_when_on_comments_are_followed(github):
    github.issues = [issue(n) for n in range(1, 90)]
    source = source_of(github)
    batches = []
    github.faults = [rate_limited(4_000_000_000, "/issues/comments")]  # the list of edited comments, after all issues
    with pytest.raises(SourceError):
        for batch in source.read(None):
            batches.append(batch)  # noqa: PERF402 - what came before the error counts
    assert len(ids(batches)) == 89
    github.comments[0] |= {"body": "Edited between the two reads.", "updated_at": now()}
    rest = documents(source, last_cursor(batches))
    assert "Edited between the two reads." in rest["1"].text
    assert len(list(source.list_ids())) == 89


@pytest.mark.parametrize("key", ["issues", "comments", "numbers", "discussions"])
@pytest.mark.parametrize("value", [None, 5, "x", [], {"recent": 3, "reached": "never", "etag": 7}])
def test_a_part_of_the_cursor_that_cannot_be_read_costs_no_change(github, key, value):
    source = source_of(github)
    cursor = json.loads(last_cursor(list(source.read(None)))) | {key: value}
    github.issues[3] |= {"updated_at": stamp(900), "title": "Now different"}
    try:
        found = documents(source, json.dumps(cursor))
    except SourceError as error:
        assert "cursor" in error.message
        return
    assert found["4"].title == "Now different"


@pytest.mark.parametrize("wrong_by", [-7200, 7200])
def test_clocks_that_differ_lose_no_change(github, wrong_by):
    github.clock = wrong_by
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.issues[3] |= {"updated_at": now(wrong_by), "title": "Now different"}
    github.comments[2] |= {"body": "Corrected.", "updated_at": now(wrong_by)}
    found = documents(source, cursor)
    assert found["4"].title == "Now different"
    assert "Corrected." in found["7"].text


def test_a_time_in_the_future_of_the_server_hides_nothing_though_it_is_past_by_our_clock(github):
    github.clock = -7200
    github.issues[0]["updated_at"] = now(-3600)
    source = source_of(github)
    cursor = last_cursor(list(source.read(None)))
    github.issues[3] |= {"updated_at": now(-7190), "title": "Now different"}
    assert documents(source, cursor)["4"].title == "Now different"
