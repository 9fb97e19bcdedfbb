"""What changes in a Discourse forum between two reads, and during one."""

from __future__ import annotations

import pytest
from lore.errors import SourceError

from tests.contracts.source import failed, ids, last_cursor
from tests.servers.discourse import DiscourseServer, rate_limited
from tests.servers.json_api import Fault
from tests.sources.discourse.forums import NOW, documents, post, source_of, stamp, topic

DAY = 86_400


def deleted(batches):
    return [one for batch in batches for one in batch.deleted_ids]


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
