"""Slack's mrkdwn to Markdown: what Slack shows is what Markdown shows, and nothing more."""

from __future__ import annotations

import time

import pytest
from lore.sources.slack.mrkdwn import SlackNames, to_markdown, to_plain
from markdown_it import MarkdownIt

NAMES = SlackNames({"U1": "Ann Lee", "U2": "*[x](http://evil)*"}, {"C1": "general"})


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("hi <@U1>, <@U9|bob> and <@U8>", "hi @Ann Lee, @bob and @U8"),
        ("<#C1> <#C1|old-name> <#C9|other> <#C8>", "#general #general #other #C8"),
        ("<!channel> <!here|here> <!subteam^S1|@ops> <!subteam^S2>", "@channel here @ops @S2"),
        ("<!date^1392734382^{date}|Feb 18, 2014>", "Feb 18, 2014"),
        ("<https://a.b/c?x=1&amp;y=2|the page>", "[the page](https://a.b/c?x=1&y=2)"),
        ("see <https://a.b/c>.", "see <https://a.b/c>."),
        ("<http://a.b|a.b>", "<http://a.b>"),
        ("<https://a.b/x(1) y|z>", "[z](https://a.b/x%281%29%20y)"),
        ("<https://a.b|a [b] c>", r"[a \[b\] c](https://a.b)"),
        ("<mailto:me@a.b|me@a.b> <javascript:alert(1)|click> <tel:1.5|1.5>", "me@a.b click 1.5"),
        ("*bold* _italic_ ~gone~ `code`", "**bold** _italic_ ~~gone~~ `code`"),
        ("2*3*4, snake_case, a ~ b ~ c, * x *", "2*3*4, snake_case, a ~ b ~ c, * x *"),
        ("(*bold*) *two words*!", "(**bold**) **two words**!"),
        ("`*a* &lt;b&gt; <http://x.y|x.y> <@U1>`", "`*a* <b> x.y @Ann Lee`"),
        ("```\nif a &lt; b &amp;&amp; *c*:\n    <http://x.y>\n```", "```\nif a < b && *c*:\n    http://x.y\n```"),
        ("so:```x = 1```ok", "so:\n```\nx = 1\n```\nok"),
        ("&gt; quoted\nmy reply", "> quoted\n\nmy reply"),
        ("see\n&gt;&gt;&gt; all\nthe rest", "see\n\n> all\n> the rest"),
        ("• one\n    ◦ two\n• three", "- one\n    - two\n- three"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("a &lt; b &amp; c &gt; d", "a < b & c > d"),
        (":tada: :+1:", ":tada: :+1:"),
        ("<https://a.b|`code`>", "[`code`](https://a.b)"),
        ("a\r\nb", "a\nb"),
        ("", ""),
    ],
)
def test_mrkdwn_becomes_markdown(text, markdown):
    assert to_markdown(text, NAMES) == markdown


@pytest.mark.parametrize(
    "typed",
    [
        "# not a heading",
        "text\n---",
        "text\n===",
        "![image](http://evil/x.png)",
        "[link](http://evil)",
        "[ref]: http://evil",
        "[a[b](http://evil)",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&lt;img src=x onerror=alert(1)&gt;",
        "open ``` fence",
        "~~~\nfence",
        "&lt;!-- comment",
        "from <@U2>",
        "<https://ok.example|&lt;b&gt;>",
    ],
)
def test_what_was_typed_does_nothing_in_markdown(typed):
    tokens = MarkdownIt("commonmark").parse(f"{to_markdown(typed, NAMES)}\n\nafter")
    inline = [child for token in tokens for child in token.children or []]
    kinds = {token.type for token in [*tokens, *inline]}
    assert not kinds & {"heading_open", "image", "html_block", "html_inline", "fence", "code_block"}
    targets = [child.attrs["href"] for child in inline if child.type == "link_open"]
    assert targets in ([], ["https://ok.example"])
    assert tokens[-2].content == "after"


def test_no_placeholder_can_be_typed():
    hostile = SlackNames({"U1": "\ue0007\ue001"})
    assert to_markdown("\ue0000\ue001 `a` <@U1>", hostile) == "0 `a` @"


def test_titles_are_one_plain_line():
    text = "*Deploy* of <https://a.b|the\tapp>:\n```make up```\n&gt; ok <@U1> 2*3*4"
    assert to_plain(text, NAMES) == "Deploy of the app: make up > ok @Ann Lee 2*3*4"


@pytest.mark.parametrize("piece", ["[", "*", "`", "```", "<", "~", "&gt;", "* ", "\n\n", "<@U1>", "](", "> "])
def test_hostile_repetition_takes_no_time(piece):
    started = time.process_time()
    to_markdown(piece * 20_000, NAMES)
    to_plain(piece * 20_000, NAMES)
    assert time.process_time() - started < 2
