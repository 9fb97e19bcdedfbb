"""Stored passages, which come back exactly, and invalid ones."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from lore.errors import StoreError
from lore.stores.values import chunk_values, to_chunk
from lore.types import Chunk

from tests.contracts.store import make_entry

(CHUNK,) = make_entry("a", ["text"]).chunks


def stored(chunk: Chunk) -> str:
    payload: str = chunk_values(chunk)["payload"]
    return payload


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (None, None),
        (datetime(1, 1, 1, microsecond=1), datetime(1, 1, 1, microsecond=1, tzinfo=UTC)),
        (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),) * 2,
        (
            datetime(2026, 3, 1, 0, 15, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            datetime(2026, 2, 28, 18, 45, tzinfo=UTC),
        ),
        (
            datetime(1900, 1, 1, 12, 0, 0, 7, tzinfo=timezone(timedelta(hours=-3, seconds=9))),
            datetime(1900, 1, 1, 14, 59, 51, 7, tzinfo=UTC),
        ),
    ],
)
def test_a_date_comes_back_in_utc_to_the_microsecond(moment: datetime | None, expected: datetime | None) -> None:
    found = to_chunk(stored(replace(CHUNK, updated_at=moment))).updated_at
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        '"\\/\b\f\n\r\t',
        "\u2028\u2029\x7f\x85",
        "e\u0301 日本語 \U0010ffff",
        "NaN",
        pytest.param("x" * 1_000_000, id="long"),
    ],
)
def test_a_text_comes_back_to_the_letter(text: str) -> None:
    chunk = replace(
        CHUNK,
        text=text,
        title=text,
        url=text,
        headings=(text, text),
        summary=text,
        audiences=(text,),
        strategy="summary_parent",
        end=2**62,
    )
    assert to_chunk(stored(chunk)) == chunk


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert to_chunk(stored(replace(CHUNK, text="a\ud800b\ud83d\ude00"))).text == "a\ufffdb\ufffd\ufffd"


def without(name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(stored(CHUNK)).items() if key != name})


def other(name: str, value: object) -> str:
    return json.dumps(json.loads(stored(CHUNK)) | {name: value})


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "",
        "{",
        "null",
        "[]",
        "{}",
        "not json",
        pytest.param("[" * 100_000, id="deep"),
        stored(CHUNK)[:-9],
        stored(CHUNK) + "x",
        without("headings"),
        other("url", None),
        other("strategy", "of\nits own" * 100),
        other("updated_at", "yesterday"),
        other("text", "\ud800"),
        pytest.param("\ud800" + stored(CHUNK), id="surrogate"),
    ],
    ids=lambda payload: repr(payload)[:12] + repr(payload)[-36:],
)
def test_what_is_no_passage_is_an_error_that_says_what_to_do(payload: Any) -> None:
    with pytest.raises(StoreError, match="lore index build --new") as caught:
        to_chunk(payload)
    assert not caught.value.retryable
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300


def test_a_field_of_later_code_is_passed_over() -> None:
    assert to_chunk(other("later", [1])) == CHUNK
