"""Markdown read by a parser: code blocks with their places, and inline tokens that can be written again."""

from __future__ import annotations

import pytest
from lore.markdown import code_blocks, inline_tokens, write_code_span


@pytest.mark.parametrize(
    ("text", "blocks", "closed"),
    [
        ("a\n```py\nx\n```\nb", ["```py\nx\n```"], [True]),
        ("```\nx\n```\n~~~\n```\n~~~", ["```\nx\n```", "~~~\n```\n~~~"], [True, True]),
        ("````\n```\n````", ["````\n```\n````"], [True]),
        ("- a\n\n      ```\n      x\n      ```\n- b", ["      ```\n      x\n      ```"], [True]),
        ("> ```\n> x\n> ```\nb", ["> ```\n> x\n> ```"], [True]),
        ("> ```\n> x\nb", ["> ```\n> x"], [False]),
        ("a\r\n```\r\nx\r\n```\r\nb", ["```\r\nx\r\n```"], [True]),
        ("a\n```\nx", ["```\nx"], [False]),
        ("x\n```", ["```"], [False]),
        ("```a`b\nc", [], []),
        ("no code", [], []),
    ],
)
def test_code_blocks_have_their_places(text: str, blocks: list[str], closed: list[bool]) -> None:
    found = list(code_blocks(text))
    assert [text[block.start : block.end] for block in found] == blocks
    assert [block.closed for block in found] == closed


@pytest.mark.parametrize("source", ["`a`", "`` a`b ``", "`` `a` ``", "`  a  `", "` `", "`   `", "```a``b```"])
def test_a_code_span_is_written_as_it_is_read(source: str) -> None:
    (token,) = inline_tokens(source)
    (again,) = inline_tokens(write_code_span(token.content, token.markup))
    assert again.content == token.content


def test_addresses_stay_as_written_and_none_is_refused() -> None:
    opening, _, _ = inline_tokens("[x](javascript:a%20b'ü)")
    assert opening.attrs == {"href": "javascript:a%20b'ü"}


def test_escapes_and_references_keep_their_source() -> None:
    assert [(token.markup, token.content) for token in inline_tokens(r"\[&#93;")] == [("\\[", "["), ("&#93;", "]")]
