"""Blocks of a passage: where each begins and ends, and what belongs to it."""

from __future__ import annotations

import pytest
from lore.query.answer.blocks import blocks, sentences

PAGE = """# Pools

Tasks use the default pool. It has 128 slots. Set it so:

```ini
slots = 64
```

`MAX_AGE`

How long a session lasts.

- one
- two
  - inner

| Site | Timeout |
| --- | --- |
| a | 3 s |
| b | 5 s |
"""


def test_blocks_are_verbatim_pieces_in_order() -> None:
    found = [(block.kind, PAGE[block.start : block.end]) for block in blocks(PAGE)]
    assert found == [
        ("paragraph", "Tasks use the default pool. It has 128 slots. Set it so:"),
        ("code", "```ini\nslots = 64\n```"),
        ("paragraph", "How long a session lasts."),
        ("item", "- one"),
        ("item", "- two"),
        ("item", "  - inner"),
        ("row", "| a | 3 s |"),
        ("row", "| b | 5 s |"),
    ]


def test_a_block_knows_its_headings_its_lead_and_its_group() -> None:
    by_text = {PAGE[block.start : block.end]: block for block in blocks(PAGE)}
    code, row, item = by_text["```ini\nslots = 64\n```"], by_text["| b | 5 s |"], by_text["- two"]
    assert code.headings == ("Pools",)
    assert code.lead and PAGE[slice(*code.lead)] == "Set it so:"
    assert row.lead and PAGE[slice(*row.lead)] == "| Site | Timeout |\n| --- | --- |"
    assert PAGE[slice(*item.group)] == "- one\n- two\n  - inner"
    assert by_text["How long a session lasts."].headings == ("Pools", "`MAX_AGE`"), "a name alone heads what follows"
    section = by_text["How long a session lasts."].section
    assert PAGE[slice(*section)].startswith("`MAX_AGE`")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "```", "| a |", "- ", "> ", "#", "x" * 9_000, "\r\n# a\r\n\r\n- b\r\n", "* * *"]
)
def test_odd_texts_have_blocks_within_bounds(text: str) -> None:
    last = 0
    for block in blocks(text):
        assert last <= block.start < block.end <= len(text)
        last = block.end


def test_sentences_end_at_full_stops_but_not_at_abbreviations() -> None:
    text = "Use e.g. a pool. Is it set? Then do this: run it"
    assert [text[slice(*span)] for span in sentences(text, 0, len(text))] == [
        "Use e.g. a pool.",
        "Is it set?",
        "Then do this: run it",
    ]
