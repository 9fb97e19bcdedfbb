"""What a person sees of an answer, and where a long one is cut."""

from __future__ import annotations

import pytest
from lore.slackbot.render import StreamRenderer, notice, phrases, render, unfinished
from lore.slackbot.render.characters import JOINER, mrkdwn, pieces, shorten

from tests.slackbot.render.block_rules import message_problems
from tests.slackbot.render.reading import answer, cited, code_of, markdown_of, mentions, misread

MOST = 400
"""Bytes of a message in tests that look at where it is cut."""


def shown(text: str) -> str:
    """The Markdown of an answer that is one message."""
    (message,) = render(answer(text))
    return markdown_of(message)


def cut(text: str, most: int = MOST) -> list[str]:
    texts = [markdown_of(message) for message in render(answer(text), most=most)]
    assert all(len(part.encode()) <= most for part in texts)
    assert [problem for part in texts for problem in misread(part)] == []
    return texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!channel> <@U1>", "&lt;!channel> &lt;@U1>"),
        ("a < b & c > d", "a &lt; b & c > d"),
        ("@here, x@here, @hello", f"@{JOINER}here, x@here, @hello"),
        ("＠channel @ｅveryone @HERE", f"＠{JOINER}channel @{JOINER}ｅveryone @{JOINER}HERE"),
        ("_@here_ mail@here.example", f"_@{JOINER}here_ mail@here.example"),
        ("@**here** &#64;here \\@here", f"@{JOINER}**here** @{JOINER}here @{JOINER}here"),
        ("`<!here> @here <b> a`", "`‹!here> @here <b> a`"),
        ("[a](javascript:x) [b](data:x) [c](/d) [e](#f)", "a b c e"),
        ("[a|b](https://x.example/?p=1&q=(2))", "[a|b](https://x.example/?p=1&q=%282%29)"),
        (
            '[a](https://x.example "Title") ![p](https://y.example/i.png)',
            "[a](https://x.example) [p](https://y.example/i.png)",
        ),
        ("[https://bank.example](https://evil.example)", "https://bank.example"),
        ("<https://x.example/a> <b@c.example>", "https://x.example/a &lt;b@c.example>"),
        ("[1]: x [2](y z) [3][4]", "[1]\\: x [2]\\(y z) [3][4]"),
        ("a ` b `` c", "a \\` b \\`\\` c"),
        ("```not a fence``` x", "`not a fence` x"),
        ("&lt;b&gt; &copy; &#42;x&#42; &nosuch;", "&lt;b&gt; © \\*x\\* &nosuch;"),
        ("a\u202eb\u200bc\x00d\u2066e", "abcde"),
        ("Title\n---\ntext", "Title\n\n---\ntext"),
        ("text\n\n    indented", "text\n\nindented"),
        ("# A\n\n\n\ntext", "# A\n\ntext"),
        ("- a\n    - b\n1) c", "- a\n    - b\n1) c"),
        ("~~~py x\na\n~~~", "```py\na\n```"),
        ("- ```\n  a\n  ```\n- b", "-\n```\na\n```\n- b"),
        ("2. Then\n   - ```\n     x\n     ```", "2. Then\n\n   -\n```\nx\n```"),
        ("Title\n===\na\n-", "Title\n\\===\na\n\\-"),
        ("```\n a ``` b\n", "```\n a ‵‵‵ b\n```"),
        ("> ```\n> a\nb", "> ```\n> a\n> ```\nb"),
        ("**bold** (?) [1]", "**bold** (?) [1]"),
        ("a `code\nspan` and [a\nlink](https://x.example)", "a `code span` and [a link](https://x.example)"),
        ("> # T\n> - a\n>   - b\n\nc", "> # T\n> - a\n>   - b\n\nc"),
        (">" * 200 + " deep", "> > > > > deep"),
    ],
)
def test_markdown_is_brought_into_a_form_that_is_read_in_one_way(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_a_mention_in_pieces_is_no_mention() -> None:
    text = "ask @here or <!channel> or ＠everyone and `<@U012>` &#64;channel now. The end"
    stream = StreamRenderer()

    pieces = [stream.feed(letter) for letter in text]
    pieces.append(stream.finish(answer(text)).piece)

    assert "".join(pieces) == shown(text)
    assert not any(mentions(notice(piece)) or "<!" in piece or "<@" in piece for piece in pieces if piece.strip())


@pytest.mark.parametrize("text", ["a `b\nc` d | e\n", "a [b\nc](https://x.example) | d", "a *b\nc* d\n| e\n|-|\n"])
def test_a_line_that_becomes_a_row_takes_nothing_back(text: str) -> None:
    stream = StreamRenderer()

    streamed = "".join(stream.feed(letter) for letter in text) + stream.finish(answer(text)).piece

    assert streamed == shown(text)


def test_a_stream_shows_words_as_they_come() -> None:
    stream = StreamRenderer()

    assert stream.feed("A sentence of some wor") == "A sentence of some"
    assert stream.feed("ds, and `code ") == " words, and"
    assert stream.feed("here`. More") == " `code here`."


def test_an_answer_has_its_sources_below_and_links_them() -> None:
    sources = [
        cited(1, "Scheduler", heading="Parsing"),
        cited(2, "A|B> [c] `d`\n<!here> *e*"),
        cited(3, "None", "ftp://x"),
    ]

    (message,) = render(answer("It is so [1][2].", sources))

    (text,) = [element["text"] for element in message.blocks[1]["elements"]]
    assert text.replace(JOINER, "").split("\n") == [
        "*Sources*",
        "[1] <https://docs.example/a|Scheduler › Parsing>",
        "[2] <https://docs.example/a|A∣B&gt; [c] 'd' &lt;!here&gt; *e*>",
        "[3] None",
    ]
    assert message_problems(message.blocks, message.text) == []


def test_many_sources_are_ten_and_how_many_more() -> None:
    (message,) = render(answer("So [1].", [cited(n, "word " * 40, f"https://x.example/{n}") for n in range(1, 15)]))

    lines = message.blocks[1]["elements"][0]["text"].split("\n")
    assert len(lines) == 12
    assert lines[-1] == "and 4 more"


def test_an_answer_that_was_not_found_names_the_nearest_pages() -> None:
    (message,) = render(answer("Nothing answers this.", nearest=[cited(1, "Close")]))

    assert message.blocks[1]["elements"][0]["text"] == "*Closest pages*\n• <https://docs.example/a|Close>"


def test_a_long_answer_is_cut_before_a_section() -> None:
    section = "## Part\n\n" + "Some words of it. " * 9
    texts = cut(f"{section}\n\n{section}\n\n{section}\n\nLast.")

    assert [text.count("## Part") for text in texts] == [2, 1] or all(text.startswith("## Part") for text in texts)


def test_the_parts_of_an_answer_say_that_it_goes_on_and_sources_come_last() -> None:
    messages = render(answer("Some words of it. " * 60, [cited()]), most=MOST)

    assert all(message.blocks[1]["elements"][0]["text"] == phrases.CONTINUES for message in messages[:-1])
    assert messages[-1].blocks[1]["elements"][0]["text"].startswith("*Sources*")


def test_code_that_is_cut_is_closed_and_opened_again_with_its_language() -> None:
    lines = [f"line({number})" for number in range(90)]
    texts = cut("Look:\n\n```python\n" + "\n".join(lines) + "\n```\nend")

    assert len(texts) > 2
    assert all(text.startswith("```python\n") for text in texts[1:])
    assert "".join("".join(code_of(text)) for text in texts).split() == lines


def test_a_table_that_is_cut_repeats_its_header() -> None:
    head = "| n | text |\n| --- | --- |"
    texts = cut(f"{head}\n" + "\n".join(f"| {number} | row |" for number in range(60)))

    assert all(text.startswith(head) for text in texts)
    assert [line for text in texts for line in text.split("\n")[2:]] == [f"| {number} | row |" for number in range(60)]


def test_a_table_has_no_more_rows_than_slack_draws() -> None:
    texts = cut("| n |\n|---|\n" + "| 1 |\n" * 250, most=10_000)

    assert [len(text.split("\n")) for text in texts] == [100, 100, 56]


def test_no_message_begins_or_ends_within_a_link_or_code() -> None:
    texts = cut("".join(f"[page {n}](https://docs.example/{n}) and `code span {n}` " for n in range(40)))

    assert all(text.count("[") == text.count("](https") == text.count(")") for text in texts)
    assert all(text.count("`") % 2 == 0 for text in texts)


def test_bold_words_that_are_cut_are_bold_on_both_sides() -> None:
    texts = cut("**" + "word " * 200 + "end**")

    assert all(text.startswith("**word") and text.endswith("**") for text in texts)


def test_nested_items_that_begin_a_message_are_no_code() -> None:
    texts = cut("- top\n" + "".join(f"    - nested {number} words\n" for number in range(60)))

    assert texts[1].startswith("- nested")


def test_a_list_stays_with_the_line_that_introduces_it() -> None:
    texts = cut("Words of a paragraph. " * 10 + "\n\nNow do this:\n\n" + "- an item of a list\n" * 12)

    assert not any(text.endswith(":") for text in texts)


def test_graphemes_stay_whole() -> None:
    family = "👩‍👩‍👧‍👦"

    assert all(len(text) % len(family) == 0 for text in cut(family * 60, most=1_500))
    assert list(pieces(family * 3, 20)) == [family, family, family] or all(p == family for p in pieces(family * 3, 13))
    assert shorten(family * 9, 20) == family * 2 + "…"


def test_a_word_at_the_start_of_a_message_is_no_mark() -> None:
    texts = cut("word - " * 300)

    assert not any(text.startswith("- ") for text in texts)


def test_an_unfinished_code_block_is_closed_for_now() -> None:
    assert markdown_of(unfinished("So:\n\n```py\nx = 1\ny =")) == "So:\n\n```py\nx = 1\n```"
    assert markdown_of(unfinished("Some **bold")) == "Some"
    assert markdown_of(unfinished("")) == f"_{phrases.WRITING}_"


def test_the_text_beside_the_blocks_is_plain_and_calls_nobody() -> None:
    (message,) = render(answer("# Title\n\n**Bold** [page](https://x.example) `@here` <!here> & more\n\n```py\nx\n```"))

    assert message.text == f"Title\n\nBold page @{JOINER}here &lt;!here&gt; &amp; more\n\nx"


def test_an_answer_without_text_says_so() -> None:
    assert shown(" \n ") == phrases.EMPTY


def test_outside_text_in_mrkdwn_is_shown_as_it_stands() -> None:
    assert mrkdwn("<!here> & @channel") == f"&lt;!here&gt; &amp; @{JOINER}channel"
