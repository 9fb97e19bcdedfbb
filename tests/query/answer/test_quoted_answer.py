"""Answers without a language model: the lines that answer, numbered as they appear, harmless, no more than needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lore.errors import ModelError
from lore.query.answer.quoted_answer import QuotedAnswer, quote_passages

from tests.fakes import FakeEmbedder
from tests.query.fakes import make_hit

SITES = "# Sites\n\n| Site | Owner | Timeout |\n| --- | --- | --- |\n" + "\n".join(
    f"| site-{number} | team {number % 7} | {number * 3} s |" for number in range(300)
)
KEYS = """# Keys

An API key belongs to an installation. Every call to the API carries one. Give each service its own, so that you can
revoke it without touching the others.

## Rotation

Rotate a key with the following command:

```sh
tide keys rotate NAME
```

The old key works for one more hour.

## Limits

`MAX_KEYS`

How many keys an installation may have.

Default: `50`
"""
THREAD = """**Ana**: Which pool mode should PgBouncer use for the workers?

**Ben**: Session mode. Notifications do not pass through it in transaction mode.

**Ana**: Thanks, that works.
"""


def quoted(question: str, *texts: str, titles: Sequence[str] = ()) -> QuotedAnswer:
    hits = [
        make_hit(f"d{number}", text, title=titles[number] if titles else f"Page {number}")
        for number, text in enumerate(texts)
    ]
    return quote_passages(question, hits, FakeEmbedder())


def test_a_row_comes_with_the_names_of_its_columns_and_no_other_rows() -> None:
    answer = quoted("What is the timeout of site-247?", SITES)
    assert "> | Site | Owner | Timeout |\n> | --- | --- | --- |\n> | site-247 | team 2 | 741 s |" in answer.text
    assert answer.text.count("| site-") == 1
    assert answer.quotes[1] == "| site-247 | team 2 | 741 s |"


def test_instructions_come_with_their_command_and_what_follows() -> None:
    answer = quoted("How do I rotate a key?", KEYS)
    assert "> Rotate a key with the following command:\n>\n> ```sh\n> tide keys rotate NAME\n> ```" in answer.text
    assert "> The old key works for one more hour." in answer.text
    assert "revoke" not in answer.text
    assert "— *Page 0 › Keys › Rotation* [1]" in answer.text


def test_a_definition_comes_with_its_term_and_default() -> None:
    answer = quoted("How many keys may an installation have by default?", KEYS)
    assert "> `MAX_KEYS`\n>\n> How many keys an installation may have.\n>\n> Default: `50`" in answer.text


def test_the_answer_to_a_question_in_a_thread_is_quoted_rather_than_the_question() -> None:
    answer = quoted("Which pool mode should PgBouncer use?", THREAD)
    assert "Session mode" in answer.text
    assert answer.quotes[1].startswith("**Ben**: Session mode.")


MESSAGES = """**Pavo** (2026-01-14 09:12 UTC):

After the update our workers start runs late. We are behind PgBouncer. Is that expected?

**Tobiah** (2026-01-14 09:15 UTC):

In which pool mode is PgBouncer?

**Pavo** (2026-01-14 09:16 UTC):

transaction

**Tobiah** (2026-01-14 09:22 UTC):

That is it. Notifications do not pass through PgBouncer in that mode, so workers start late. Set this:

```
poll = "timer"
```

**Pavo** (2026-01-14 10:40 UTC):

Thank you, that helps.
"""


def test_a_thread_is_quoted_where_it_answers_and_not_where_somebody_asks_the_same() -> None:
    answer = quoted("Our workers are behind PgBouncer and start runs late. What should we set?", MESSAGES)
    assert '> ```\n> poll = "timer"\n> ```' in answer.text
    assert "— *Page 0 › Tobiah (2026-01-14 09:22 UTC)* [1]" in answer.text
    assert "expected?" not in answer.text
    assert "Thank you" not in answer.text


def test_the_reply_to_a_question_is_no_question_in_return() -> None:
    answer = quoted("Is it expected after the update to start runs late?", MESSAGES.replace("start late", "are slow"))
    assert "That is it." in answer.text
    assert "pool mode" not in answer.text


def test_a_sentence_comes_with_the_labelled_code_that_it_introduces() -> None:
    tabs = "**Bash**\n\n```\nexport APP_KEY=x\n```\n\n**Fish**\n\n```\nset -x\n```\n"
    page = f"# Keys\n\nSet the key prefix in the shell:\n\n{tabs}"
    answer = quoted("Which prefix do keys in the shell have?", page)
    assert "> **Bash**\n>\n> ```\n> export APP_KEY=x\n> ```" in answer.text
    assert "Fish" not in answer.text


def test_a_short_list_is_whole_with_the_sentence_that_introduces_it() -> None:
    items = "- `SkipTask` marks it as skipped.\n- `FailTask` marks it as failed."
    text = f"Two exceptions end a task:\n\n{items}\n\nNothing else does."
    answer = quoted("Which exception marks a task as skipped?", text)
    assert "> Two exceptions end a task:\n>\n> - `SkipTask` marks it as skipped.\n> - `FailTask`" in answer.text
    assert "Nothing else" not in answer.text


def test_a_second_excerpt_answers_the_other_half_of_the_question() -> None:
    port = "The gateway listens on port 7443."
    owner = "The gateway is owned by the platform team, who answer on weekdays."
    answer = quoted("Which port does the gateway use, and which team owns it?", port, owner, "Bananas are yellow.")
    assert "7443" in answer.text and "platform team" in answer.text
    assert "Bananas" not in answer.text
    assert sorted(answer.quotes) == [1, 2]


def test_sources_are_numbered_as_they_appear_and_each_page_once() -> None:
    answer = quoted("How do I rotate a key?", "Bananas are yellow.", "Apples are red.", KEYS)
    assert answer.order[0] == 2
    assert "[1]" in answer.text and "[3]" not in answer.text
    hits = [make_hit("same", "Rotate a key in the console."), make_hit("same", "Revoke a key with the tool.")]
    both = quote_passages("How do I rotate and how do I revoke a key?", hits, FakeEmbedder())
    assert both.text.count("[1]") == 2 and set(both.quotes) == {1}


def test_passages_keep_their_numbers_where_a_text_cites_them_already() -> None:
    hits = [make_hit("a", "Bananas are yellow."), make_hit("b", "Rotate the key with the tool.")]
    answer = quote_passages("Rotate the key", hits, FakeEmbedder(), keep_order=True)
    assert answer.order == (0, 1)
    assert "[2]" in answer.text and set(answer.quotes) == {2}


def test_a_quotation_is_harmless_markdown() -> None:
    hits = [make_hit("a", "Rotate <script>x</script> [5] [here](javascript:x).", title="A *b* [9]")]
    answer = quote_passages("rotate", hits, FakeEmbedder())
    assert answer.text == "> Rotate x \\[5\\] here.\n\n— *A b \\[9\\]* [1]"


def test_code_that_was_cut_is_opened_and_closed() -> None:
    assert "> ```\n> retry = 3\n> ```" in quoted("retry", "retry = 3\n```").text
    long = "```sh\n" + "tide key rotate --now\n" * 200 + "```"
    text = quoted("rotate", long).text
    assert len(text) < 1_800
    assert "> …\n> ```\n" in text


@pytest.mark.parametrize("text", ["x" * 5_000, "word " * 1_000, "\n" * 3_000 + "word", "。" * 3_000, "```" * 1_000])
def test_odd_texts_stay_within_bounds(text: str) -> None:
    assert len(quoted("word", text).text) <= 2_100


def test_without_vectors_words_decide() -> None:
    class Failing(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
            raise ModelError("It is away.")

    hits = [make_hit("a", "Bananas are yellow.\n\nRotate the key with the tool.")]
    assert "Rotate the key" in quote_passages("rotate the key", hits, Failing()).text
