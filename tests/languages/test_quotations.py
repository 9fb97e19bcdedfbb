"""Quotations from passages without spaces, and with an embedder that gives all texts high cosines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lore.query.answer.evidence import find_evidence
from lore.query.answer.excerpts import QuotablePassage
from lore.query.answer.quotes import cite

from tests.models.hits import make_hit

SENTENCES = ("鍵は年に一度更新します。", "古い鍵は24時間使えます。", "報告書は2営業日以内に書きます。")


def test_a_citation_quotes_the_sentence_that_shares_most() -> None:
    citation = cite(1, make_hit("keys", "".join(SENTENCES)), "古い鍵は何時間使えますか？")
    assert citation.quote == SENTENCES[1]


def test_high_cosines_of_all_lines_add_no_second_quotation() -> None:
    passages = [QuotablePassage(f"Die Regel Nummer {number} gilt hier.\n\nSie ist neu.") for number in range(5)]
    passages.insert(1, QuotablePassage("A token is valid for 90 days."))

    def embed(texts: Sequence[str]) -> np.ndarray:
        cosines = np.array([1.0, *(0.85 if "token" in text else 0.75 for text in texts[1:])])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)

    found = find_evidence("トークンの期限は？", passages, embed)
    assert [excerpt.source for excerpt in found] == [1]
