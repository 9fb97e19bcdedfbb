"""Topics of a Discourse forum as documents, read from a local server."""

from __future__ import annotations

import json

import pytest
from lore.errors import SourceError

from tests.contracts.source import SourceContract, failed, ids
from tests.servers.discourse import DiscourseServer
from tests.servers.json_api import Fault
from tests.sources.discourse.forums import documents, post, source_of, stamp, topic


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
