"""Topics of a Discourse forum, read from a local server that speaks its wire format."""

from __future__ import annotations

import json
import logging

import pytest
from lore.declarations import DiscourseDeclaration
from lore.errors import SourceError
from lore.settings import load_settings
from lore.sources.discourse.source import DiscourseSource
from lore.sources.http.json_client import Secrets
from lore.sources.http.retries import RetryPolicy
from lore.wiring.sources import make_source

from tests.contracts.source import SourceContract, failed, ids, last_cursor
from tests.servers.discourse import DiscourseServer, rate_limited
from tests.servers.json_api import Fault

NOW = 1_800_000_000.0
DAY = 86_400


def stamp(minute: float) -> str:
    return f"2024-01-{1 + int(minute) // 1440:02}T{int(minute) // 60 % 24:02}:{int(minute) % 60:02}:00.000Z"


def post(identity: int, number: int, cooked: str | None = None, **more: object) -> dict[str, object]:
    return {
        "id": identity,
        "post_number": number,
        "post_type": 1,
        "user_id": 3,
        "username": "ada",
        "created_at": stamp(number),
        "cooked": f"<p>Post {identity}.</p>" if cooked is None else cooked,
    } | more


def topic(number: int, posts: list[dict[str, object]] | None = None, **more: object) -> dict[str, object]:
    return {
        "id": number,
        "title": f"Topic {number}",
        "slug": f"topic-{number}",
        "created_at": stamp(number),
        "last_posted_at": stamp(number),
        "bumped_at": stamp(number),
        "category_id": 5,
        "tags": [],
        "pinned": False,
        "closed": False,
        "archived": False,
        "posts": [post(number * 1000, 1)] if posts is None else posts,
    } | more


def source_of(server, key=None, max_retries=1, waits=None, now=NOW, timeout=5.0, **options) -> DiscourseSource:
    return DiscourseSource(
        DiscourseDeclaration(id="forum", url=server.base_url, **options),
        secrets=Secrets(headers={"Api-Key": key, "Api-Username": "lore"}) if key else None,
        timeout=timeout,
        retries=RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append, now=lambda: now),
    )


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}


def deleted(batches):
    return [one for batch in batches for one in batch.deleted_ids]


class TestContract(SourceContract):
    @pytest.fixture
    def server(self):
        topics = [topic(n, category_id=5 + n % 3, pinned=n == 4) for n in range(1, 76)]
        with DiscourseServer(topics, faults=[Fault("/t/9.json", 404, times=999)]) as server:
            yield server

    @pytest.fixture
    def source(self, server):
        return source_of(server)

    @pytest.fixture
    def change(self, server):
        def change():
            server.topics[4] |= {"title": "Now different", "bumped_at": stamp(500)}
            return "forum:5"

        return change


def test_a_topic_is_one_page_with_the_solution_first():
    question = (
        '<p>It <img src="/images/emoji/cry.png" title=":cry:" class="emoji" alt=":cry:"> fails &amp; stops:</p>'
        '<pre data-code-wrap="python"><code class="lang-python">def f():\n    return 1\n</code></pre>'
        '<div class="lightbox-wrapper"><a class="lightbox" href="/uploads/a.png"><img src="/uploads/a.png" alt="shot">'
        '<div class="meta"><svg></svg><span class="filename">a.png</span><span>690×400 20 KB</span></div></a></div>'
    )
    posts = [
        post(1, 1, question),
        post(2, 2, '<p>Me too:</p><pre><code class="lang-auto">a\n b</code></pre>', username="bo"),
        post(3, 3, "", post_type=3, action_code="pinned.enabled", username="staff"),
        post(4, 4, "<p>Automatic.</p>", user_id=-1, username="system"),
        post(5, 5, "<p>Only for staff.</p>", post_type=4),
        post(6, 6, "<p>Moved here.</p>", post_type=2),
        post(7, 7, "<p>Spam.</p>", hidden=True),
        post(8, 8, "<p>Gone.</p>", user_deleted=True),
        post(
            9,
            9,
            '<h2><a name="p-9-fix" class="anchor" href="#p-9-fix"></a>Fix</h2><p>See <a href="/t/7">this</a>.</p>',
            username="cy",
            accepted_answer=True,
            staff=True,
        ),
    ]
    asked = topic(7, posts, title="XCom & <b>", closed=True, archived=True, pinned=True, tags=["xcom", {"name": "ui"}])
    with DiscourseServer([asked]) as server:
        (document,) = documents(source_of(server, audiences=["staff"])).values()
        base = server.base_url
    assert document.text == (
        "Forum topic · State: solved, closed, archived · Pinned · Category: Support · Tags: xcom, ui · "
        "Opened by ada on 2024-01-01 · Last post 2024-01-01\n\n"
        "It :cry: fails & stops:\n\n```python\ndef f():\n    return 1\n```\n\n"
        f"[![shot]({base}/uploads/a.png)]({base}/uploads/a.png)\n\n"
        f"# Accepted solution by cy on 2024-01-01\n\n### Fix\n\nSee [this]({base}/t/7).\n\n"
        "# Reply by bo on 2024-01-01\n\nMe too:\n\n```\na\n b\n```\n"
    )
    assert (document.title, document.url) == ("XCom & <b>", f"{base}/t/topic-7/7")
    assert document.audiences == ("staff",)
    assert json.loads(json.dumps(document.metadata)) == {
        "topic": 7,
        "state": "solved, closed, archived",
        "category": "Support",
        "tags": ["xcom", "ui"],
        "author": "ada",
        "posts": 3,
    }


@pytest.mark.parametrize(
    "odd",
    [
        {"title": None},
        {"title": "\ud800 half"},
        {"slug": None},
        {"slug": "ü b"},
        {"tags": "xcom"},
        {"last_posted_at": "yesterday"},
        {"posts": []},
        {"posts": [post(1, 1, cooked="<div><p>open <pre>never closed")]},
        {"posts": [{"id": 1}]},
        {"posts": [post(1, 1, created_at=None, username=None, user_id=None)]},
        {"posts": [post(2, 2)]},
    ],
)
def test_payloads_may_lack_anything(odd):
    with DiscourseServer([topic(1, **odd)]) as server:
        (document,) = documents(source_of(server)).values()
    assert document.text.startswith("Forum topic · State: no accepted solution · Category: Support")
    assert document.url.isascii()
    assert document.title.encode()


def test_a_reply_does_not_become_the_question_when_that_is_gone():
    with DiscourseServer([topic(1, [post(2, 2, username="bo")])]) as server:
        (document,) = documents(source_of(server)).values()
    assert "# Reply by bo" in document.text


def test_a_long_topic_is_read_to_its_end_and_its_limit():
    long = topic(1, [post(n, n) for n in range(1, 131)])
    long["posts"][119]["accepted_answer"] = True
    with DiscourseServer([long]) as server:
        (whole,) = documents(source_of(server)).values()
        (cut,) = documents(source_of(server, max_posts=50)).values()
    assert whole.text.count("# Reply") == 128
    assert whole.text.index("Post 120.") < whole.text.index("Post 2.")
    assert cut.text.count("# Reply") == 49
    assert cut.text.index("# Accepted solution") < cut.text.index("Post 2.")
    assert "Post 120." in cut.text
    assert cut.text.endswith("*80 more posts are not shown here.*\n")


def test_a_post_that_cannot_be_read_fails_its_topic_alone():
    deep = topic(2, [post(1, 1, "<div>" * 5000 + "x")])
    with DiscourseServer([topic(1), deep, topic(3)]) as server:
        source = source_of(server)
        batches = list(source.read(None))
        assert ids(batches) == ["forum:1", "forum:3"]
        assert failed(batches) == ["forum:2"]
        assert sorted(source.list_ids()) == ["forum:1", "forum:2", "forum:3"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {1, 2, 3, 5}),
        ({"categories": ["support"]}, {1, 2, 5}),
        ({"categories": ["Deep support"]}, {2}),
        ({"categories": [7, "deep"]}, {2, 3}),
        ({"categories": ["support", "deep"]}, {1, 2, 5}),
        ({"solved_only": True}, {5}),
    ],
)
def test_the_declaration_chooses(options, expected):
    topics = [
        topic(1),
        topic(2, category_id=6),
        topic(3, category_id=7),
        topic(4, category_id=8),
        topic(5, [post(1, 1), post(2, 2, accepted_answer=True)]),
        topic(6, visible=False),
        topic(7, archetype="banner"),
    ]
    with DiscourseServer(topics) as server:
        source = source_of(server, **options)
        assert set(documents(source)) == {str(number) for number in expected}
        assert set(source_of(server, **options).list_ids()) == {f"forum:{number}" for number in expected}


def test_a_category_that_is_not_there_is_named_with_the_nearest():
    with DiscourseServer([topic(1)]) as server:
        with pytest.raises(SourceError, match="no category 'suport'") as caught:
            documents(source_of(server, categories=["suport"]))
        assert "'support'" in caught.value.remedy
        with pytest.raises(SourceError) as caught:
            documents(source_of(server, categories=[99_999]))
        assert "LORE_API_HEADERS" in caught.value.remedy


def test_a_private_category_is_read_only_by_name_and_for_named_audiences():
    with DiscourseServer([topic(1), topic(2, category_id=8)], key="k-secret") as server:
        assert set(documents(source_of(server, key="k-secret"))) == {"1"}
        with pytest.raises(SourceError, match="is private") as caught:
            documents(source_of(server, key="k-secret", categories=["staff"]))
        assert "audiences" in caught.value.remedy
        found = documents(source_of(server, key="k-secret", categories=["staff"], audiences=["staff"]))
        assert set(found) == {"2"}


def test_an_unchanged_forum_gives_nothing_and_no_topic_is_asked_for():
    with DiscourseServer([topic(n) for n in range(1, 21)]) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        list(source.list_ids())
        server.requests.clear()
        batches = list(source.read(cursor))
        assert sorted(source.list_ids()) == sorted(f"forum:{n}" for n in range(1, 21))
        assert (ids(batches), deleted(batches), last_cursor(batches)) == ([], [], cursor)
        assert server.paths() == ["/categories.json", "/categories.json", "/latest.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"closed": True},
        {"archived": True},
        {"pinned": True},
        {"tags": ["new"]},
        {"category_id": 7},
        {"bumped_at": stamp(900)},
        {"posts": [post(1, 1), post(2, 2)]},
        {"posts": [post(1, 1, accepted_answer=True)]},
    ],
)
def test_what_a_list_shows_of_a_change_is_enough(change):
    with DiscourseServer([topic(1), topic(2), topic(3)]) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.topics[1] |= change
        assert list(documents(source, cursor)) == ["2"]


def test_what_lists_do_not_show_is_seen_when_all_is_read_again():
    with DiscourseServer([topic(1), topic(2)]) as server:
        cursor = last_cursor(list(source_of(server).read(None)))
        server.topics[0]["posts"][0]["cooked"] = "<p>Edited.</p>"
        assert documents(source_of(server, now=NOW + 29 * DAY), cursor) == {}
        assert documents(source_of(server, now=NOW + 31 * DAY, refresh_days=0), cursor) == {}
        again = documents(source_of(server, now=NOW + 31 * DAY), cursor)
        assert set(again) == {"1", "2"}
        assert "Edited." in again["1"].text


def test_deleted_topics_are_seen():
    with DiscourseServer([topic(n) for n in range(1, 6)]) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        del server.topics[1:3]
        batches = list(source.read(cursor))
        assert deleted(batches) == ["forum:2", "forum:3"]
        assert ids(batches) == []
        assert sorted(source.list_ids()) == ["forum:1", "forum:4", "forum:5"]
        assert deleted(list(source.read(last_cursor(batches)))) == []


def test_a_topic_that_goes_between_list_and_read_is_no_failure():
    with DiscourseServer([topic(1), topic(2), topic(3)]) as server:
        server.before = lambda count: count == 4 and server.topics.pop(1) and None
        source = source_of(server)
        batches = list(source.read(None))
        assert (ids(batches), failed(batches)) == (["forum:1", "forum:3"], [])
        assert sorted(source.list_ids()) == ["forum:1", "forum:3"]


def test_a_topic_that_may_not_be_read_is_a_failure_and_not_taken_for_deleted():
    with DiscourseServer([topic(1), topic(2)], faults=[Fault("/t/2.json", 403, body=b"{}")]) as server:
        source = source_of(server)
        batches = list(source.read(None))
        assert (ids(batches), failed(batches)) == (["forum:1"], ["forum:2"])
        assert sorted(source.list_ids()) == ["forum:1", "forum:2"]
        assert list(documents(source, last_cursor(batches))) == ["2"]


def test_no_topic_is_lost_while_pages_shift():
    with DiscourseServer([topic(n) for n in range(1, 201)]) as server:

        def shift(count: int) -> None:
            """While the lists are read, topics of the last pages are bumped and some of the first are deleted."""
            if server.requests[-1].path == "/latest.json":
                server.topics[count] |= {"bumped_at": stamp(5000 + count)}
                if count % 3 == 0:
                    newest = max(server.topics, key=lambda one: one["bumped_at"])
                    server.topics.remove(newest)

        server.before = shift
        listed = set(source_of(server).list_ids())
        server.before = None
        assert {f"forum:{one['id']}" for one in server.topics} <= listed


def test_a_read_that_is_cut_goes_on_where_it_was():
    fault = rate_limited(700, "/t/")
    fault.after = 47
    with DiscourseServer([topic(n) for n in range(1, 91)], faults=[fault]) as server:
        batches = []
        with pytest.raises(SourceError, match="wait until 2027-01-15 08:11:40") as caught:
            for batch in source_of(server).read(None):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert caught.value.retryable
        assert len(ids(batches)) == 40
        rest = list(source_of(server).read(last_cursor(batches)))
        assert sorted([*ids(batches), *ids(rest)]) == sorted(f"forum:{n}" for n in range(1, 91))


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (rate_limited(14, "/t/1.json"), 14.0),
        (Fault("/t/1.json", 429, {"Retry-After": "9"}, b"{}"), 9.0),
        (Fault("/t/1.json", 429, {}, b"slow down"), 60.0),
        (Fault("/t/1.json", 503, {"Retry-After": "3"}), 3.0),
        (Fault("/t/1.json", 502), None),
        (Fault("/t/1.json", cut=True), None),
        (Fault("/t/1.json", length=100_000), None),
        (Fault("/t/1.json", length=15), None),
        (Fault("/t/1.json", body=b"<!DOCTYPE html>"), None),
    ],
)
def test_what_fails_for_the_moment_is_asked_for_again(fault, wait):
    waits: list[float] = []
    with DiscourseServer([topic(1)], faults=[fault]) as server:
        assert list(documents(source_of(server, waits=waits))) == ["1"]
    assert len(waits) == 1
    assert wait is None or waits == [wait]


def test_a_body_that_comes_too_slowly_is_given_up():
    fault = Fault("/t/1.json", drip=0.02, times=9, body=b" " * 500)
    with DiscourseServer([topic(1)], faults=[fault]) as server:
        with pytest.raises(SourceError, match="no complete response") as caught:
            documents(source_of(server, timeout=0.1))
        assert caught.value.retryable


def test_a_list_that_has_no_end_ends():
    body = json.dumps({"topic_list": {"topics": [topic(1)], "more_topics_url": "/latest?page=1"}}).encode()
    with DiscourseServer(faults=[Fault("/latest.json", body=body, times=99)]) as server:
        with pytest.raises(SourceError, match="has no end"):
            list(source_of(server).list_ids())
        assert len(server.requests) < 20


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"{}", b'{"topic_list": []}'])
def test_what_is_no_forum_is_an_error_and_not_an_empty_one(body):
    faults = [Fault("/latest.json", body=body)]
    with DiscourseServer(faults=faults) as server, pytest.raises(SourceError, match="didn't return a list"):
        documents(source_of(server))


def test_more_topics_than_declared_are_refused_before_any_is_read():
    with DiscourseServer([topic(n) for n in range(1, 12)]) as server:
        with pytest.raises(SourceError, match="more than 10 topics"):
            documents(source_of(server, max_topics=10))
        assert not any(path.startswith("/t/") for path in server.paths())


def test_a_closed_forum_names_the_setting():
    with DiscourseServer([topic(1)], closed=True) as server, pytest.raises(SourceError) as caught:
        documents(source_of(server))
    assert "logged in" in caught.value.message
    assert "LORE_API_HEADERS" in caught.value.remedy


def test_the_key_reaches_the_forum_and_nothing_else(caplog):
    caplog.set_level(logging.DEBUG)
    with DiscourseServer([topic(1)], key="k-secret-123", closed=True) as server:
        assert documents(source_of(server, key="k-secret-123"))
        assert {request.headers["api-username"] for request in server.requests} == {"lore"}
        with pytest.raises(SourceError, match="not permitted to view …") as caught:
            documents(source_of(server, key="wrong-987"))
    assert "wrong-987" not in str(caught.value) + caplog.text
    assert "k-secret-123" not in caplog.text


def test_settings_give_the_key_for_this_forum():
    with DiscourseServer([topic(1)], key="k-123", closed=True) as server:
        headers = {server.base_url: {"Api-Key": "k-123", "Api-Username": "lore"}, "https://other": {"Api-Key": "k-9"}}
        settings = load_settings({"LORE_API_HEADERS": json.dumps(headers), "LORE_MAX_RETRIES": "0"})
        source = make_source(DiscourseDeclaration(id="forum", url=server.base_url), settings)
        assert list(documents(source)) == ["1"]


def test_a_redirect_to_another_server_gets_nothing():
    with DiscourseServer() as other:
        fault = Fault("/latest.json", 301, {"Location": f"{other.base_url}/latest.json"})
        forum = DiscourseServer(faults=[fault], key="k-secret-123")
        with forum as server, pytest.raises(SourceError, match="another server"):
            documents(source_of(server, key="k-secret-123"))
        assert not other.requests


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"marks": [], "whole": 1, "selection": ""}'])
def test_a_cursor_that_is_none_is_an_error(cursor):
    with DiscourseServer([topic(1)]) as server, pytest.raises(SourceError, match="cursor"):
        documents(source_of(server), cursor)


@pytest.mark.parametrize("other", [{"categories": ["support"]}, {"max_posts": 3}, {"audiences": ["staff"]}])
def test_a_declaration_that_chooses_otherwise_reads_from_the_start(other):
    with DiscourseServer([topic(1), topic(2)]) as server:
        cursor = last_cursor(list(source_of(server).read(None)))
        assert len(documents(source_of(server, title="Another"), cursor)) == 0
        assert len(documents(source_of(server, **other), cursor)) == 2
