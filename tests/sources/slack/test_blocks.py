"""Block Kit in messages: what apps say in blocks alone, and what a message's text says already."""

from __future__ import annotations

import pytest
from lore.sources.slack.attachments import attachment_quotes
from lore.sources.slack.blocks import added_blocks
from lore.sources.slack.messages import read_post
from lore.sources.slack.mrkdwn import SlackNames

NAMES = SlackNames({"U1": "Ana"}, {"C1": "ops"})


def section(text: str) -> dict:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def rich(*elements: dict) -> dict:
    return {"type": "rich_text", "elements": list(elements)}


def line(*parts: dict | str) -> dict:
    return {"type": "rich_text_section", "elements": [as_part(part) for part in parts]}


def as_part(part: dict | str) -> dict:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def post(**values):
    return read_post({"type": "message", "ts": "1.1", "user": "U1", **values}, NAMES, ())


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            section("*Disk full* on <https://x.example/db-7|db-7> &amp; more"),
            "**Disk full** on [db-7](https://x.example/db-7) & more",
        ),
        ({"type": "header", "text": {"type": "plain_text", "text": "# Release 4"}}, "\\# Release 4"),
        (
            {"type": "markdown", "text": "## Steps\n\n1. [read](https://x.example)"},
            "## Steps\n\n1. [read](https://x.example)",
        ),
        (
            {
                "type": "context",
                "elements": [{"type": "mrkdwn", "text": "by <@U1>"}, {"type": "image", "alt_text": "a graph"}],
            },
            "by @Ana\na graph",
        ),
        (
            {
                "type": "section",
                "fields": [{"type": "mrkdwn", "text": "*Owner*\nAna"}, {"type": "plain_text", "text": "P1"}],
            },
            "**Owner**\nAna\nP1",
        ),
        (
            {"type": "image", "title": {"type": "plain_text", "text": "Latency"}, "alt_text": "p99 is 3 s"},
            "Latency\np99 is 3 s",
        ),
        ({"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Approve"}}]}, ""),
        (
            rich(
                line(
                    "See ",
                    {"type": "link", "url": "https://x.example/a", "text": "the page"},
                    ", ",
                    {"type": "user", "user_id": "U1"},
                    " in ",
                    {"type": "channel", "channel_id": "C1"},
                )
            ),
            "See [the page](https://x.example/a), @Ana in #ops",
        ),
        (
            rich(
                line(
                    {"type": "text", "text": "never", "style": {"bold": True}},
                    " run ",
                    {"type": "text", "text": "rm *", "style": {"code": True}},
                )
            ),
            "**never** run `rm *`",
        ),
        (
            rich({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "if a < b:\n    go()"}]}),
            "```\nif a < b:\n    go()\n```",
        ),
        (
            rich(
                {"type": "rich_text_list", "style": "ordered", "elements": [line("one"), line("two")]},
                {"type": "rich_text_list", "style": "bullet", "indent": 1, "elements": [line("three")]},
            ),
            "1. one\n2. two\n  - three",
        ),
        (rich({"type": "rich_text_quote", "elements": [as_part("said\nso")]}), "> said\n> so"),
        (
            {
                "type": "table",
                "rows": [
                    [{"type": "raw_text", "text": "Job"}, {"type": "raw_text", "text": "Exit"}],
                    [{"type": "raw_text", "text": "a|b"}, rich(line("137"))],
                ],
            },
            "| Job | Exit |\n| --- | --- |\n| a\\|b | 137 |",
        ),
    ],
)
def test_each_kind_of_block_is_markdown(block: dict, expected: str):
    assert "\n".join(added_blocks([block], "", NAMES)) == expected


@pytest.mark.parametrize(
    "blocks",
    [
        None,
        "x",
        3,
        [None, 7, {}],
        [{"type": "section", "text": None, "fields": 3}],
        [{"type": "rich_text", "elements": [{"elements": "x"}]}],
        [{"type": "table", "rows": [3]}, {"type": "table"}],
    ],
)
def test_blocks_may_lack_anything(blocks: object):
    assert added_blocks(blocks, "", NAMES) == []


def test_nested_blocks_end():
    block: dict = section("deep")
    for _ in range(50):
        block = {"type": "context", "elements": [block]}
    assert added_blocks([block], "", NAMES) == []


def test_a_message_with_text_and_blocks_says_both():
    found = post(text="Deploy finished", blocks=[section("Billing 4.2.1 failed at step migrate, exit code 137")])
    assert found.text == "Deploy finished\n\nBilling 4.2.1 failed at step migrate, exit code 137"
    assert found.plain == "Deploy finished"


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Deploy *finished* for <@U1>.", [section("Deploy finished for <@U1>")]),
        (
            "Hi <@U1> :wave::skin-tone-3: see <https://x.example|x.example>",
            [
                rich(
                    line(
                        "Hi ",
                        {"type": "user", "user_id": "U1"},
                        " ",
                        {"type": "emoji", "name": "wave", "skin_tone": 3},
                        " see ",
                        {"type": "link", "url": "https://x.example"},
                    )
                )
            ],
        ),
        (
            "Freeze until <!date^1^{date}|Monday noon UTC> for all the teams",
            [rich(line("Freeze until ", {"type": "date", "fallback": "Monday 12:00"}, " for all the teams"))],
        ),
    ],
)
def test_what_the_text_says_already_is_not_said_again(text: str, blocks: list[dict]):
    assert post(text=text, blocks=blocks).text == post(text=text).text


def test_blocks_of_attachments_are_read_and_their_placeholder_is_not():
    attachment = {"fallback": "[no preview available]", "blocks": [section("*Disk full* on db-7")]}
    assert list(attachment_quotes({"attachments": [attachment]}, NAMES)) == ["> **Disk full** on db-7"]
    assert post(text="", attachments=[attachment]).plain == "Disk full on db-7"
    assert list(attachment_quotes({"attachments": [{"fallback": "[no preview available]"}]}, NAMES)) == []


def test_blocks_of_a_shared_message_are_read():
    shared = {
        "text": "see this",
        "message_blocks": [{"message": {"blocks": [section("see this"), section("cap is 500")]}}],
    }
    assert list(attachment_quotes({"attachments": [shared]}, NAMES)) == ["> see this\n> cap is 500"]
