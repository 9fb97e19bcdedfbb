"""The page of an evaluation: complete, self-contained, and harmless whatever is in it."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from lore.evaluation.live.changes import changes_between
from lore.evaluation.live.figures import costs_of, figures_of, timings_of
from lore.evaluation.live.report_page import assessment_page, figure_rows, headline
from lore.evaluation.live.results import Assessment, QuestionResult, Setup

from tests.evaluation.live.test_figures import result

HOSTILE = '</pre></details><script>alert(1)</script><img src=x onerror="x"> & \u202e\x1b[31m\0 \ud800'
SETUP = Setup("set.yaml", 3, "local:minilm", "local:r", "openai:x", "openai:judge", 0.5, 100, 8, {"judge": "1"})
FIRST = result(
    key="1", question="How long?", ndcg=1.0, recall=1.0, reciprocal_rank=1.0, rank=1, cited=("a",),
    citation_precision=1.0, citation_recall=1.0, verdict="correct", reason="Equal.", reference="An hour.",
    input_tokens=900, output_tokens=40, cost=0.002, judge_input_tokens=300, judge_output_tokens=20, judge_cost=0.001,
    calls=3, answer="An hour [1].",
)  # fmt: skip
SECOND = result(key="2", id="q2", question="Why?", unanswerable=True, pages=(), found=False)


def assessment(*results: QuestionResult, before: Assessment | None = None, setup: Setup = SETUP) -> Assessment:
    return Assessment(
        "2026-11-30T06:00:00+00:00",
        setup,
        results,
        figures_of(results),
        timings_of(results),
        costs_of(results),
        ("A note.",),
        changes_between(before, setup, results) if before else None,
    )


class Page(HTMLParser):
    """Reads a page, and collects its tags, their attributes and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in ("meta", "line", "rect", "circle", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data + " "


def test_the_page_has_figures_changes_costs_and_every_question() -> None:
    before = assessment(FIRST, SECOND)
    now = assessment(replace(FIRST, verdict="wrong", reason="No.", citation_recall=0.0), SECOND, before=before)
    page = Page(assessment_page(now))
    words = " ".join(page.words.split())
    for text in (
        "2 questions", "version 3 of the index", "judge openai:judge", "A note.", "0 went better and 1 worse",
        "citation recall 1.00 → 0.00; correct → wrong", "900 tokens in and 40 out", "$0.0020 in all",
        "300 tokens in and 20 out", "wrong · How long?", "rightly not answered · Why?", "wrong: No.", "An hour.",
        "An hour [1].", "first token",
    ):  # fmt: skip
        assert text in words, text
    assert page.open == []


def test_the_first_page_has_no_comparison() -> None:
    first = assessment(FIRST)
    assert "There is no earlier run to compare with." in headline(first)
    assert "Since the last run" not in assessment_page(first)
    assert all(row[4:] == ["–", "–"] for row in figure_rows(first))


def test_nothing_in_it_is_markup_or_reaches_the_network() -> None:
    hostile = replace(
        FIRST, id=HOSTILE, question=HOSTILE, pages=(HOSTILE,), answer=HOSTILE, cited=(HOSTILE,), reason=HOSTILE,
        judge_failure=HOSTILE, notes=(HOSTILE,), reference=HOSTILE, found=False,
    )  # fmt: skip
    setup = replace(SETUP, question_set=HOSTILE, embedder=HOSTILE, chat_model=HOSTILE, synced={HOSTILE: "now"})
    before = assessment(replace(hostile, found=True))
    html = assessment_page(replace(assessment(hostile, before=before, setup=setup), notes=(HOSTILE,)))
    page = Page(html)
    assert not {"script", "img", "a", "link", "iframe"} & set(page.tags)
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert page.open == []
    for sign in ("\u202e", "\x1b", "\0", "\ud800"):
        assert sign not in html
    assert "alert(1)" in page.words
    html.encode("utf-8")


class TestSetup:
    def test_what_else_is_not_the_same_is_told(self) -> None:
        now = replace(SETUP, chat_model="", alpha=0.7, prompts={"judge": "2"}, synced={"wiki": "2026"})
        changes = assessment(FIRST, before=assessment(FIRST), setup=now).changes
        assert changes is not None
        assert changes.setup == (
            "language model: openai:x then, none now",
            "alpha: 0.5 then, 0.7 now",
            "the prompt for judge is another one",
            "synced in between: wiki",
        )

    @pytest.mark.parametrize("other", [{"judge_model": "openai:y"}, {"prompts": {"judge": "2"}}])
    def test_verdicts_by_another_judge_are_not_compared(self, other: dict[str, object]) -> None:
        now = replace(SETUP, **other)  # type: ignore[arg-type]
        changes = assessment(replace(FIRST, verdict="wrong"), before=assessment(FIRST), setup=now).changes
        assert changes is not None and changes.worse == ()
        assert "correctness" not in {figure.name for figure in changes.figures}
