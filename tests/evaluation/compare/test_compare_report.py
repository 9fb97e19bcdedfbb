"""The page of a comparison: complete, self-contained, and harmless whatever is in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from lore.evaluation.compare.report_page import comparison_page, index_row, pair_row
from lore.evaluation.compare.results import (
    AnswerFigures,
    AnswerOutcome,
    Comparison,
    IndexBuild,
    PairScore,
    QuestionOutcome,
    SearchOutcome,
)
from lore.evaluation.report.svg import Point, bars, points

HOSTILE = '</pre></details><script>alert(1)</script><img src=x onerror="x"> & \u202e\x1b[31m\0 \ud800'
BUILD = IndexBuild("basic", "markdown-3:1024", "", 30, 0, 97, 702.2, 20_474, 0, 0, 0, 0, 0.0, 1.0, 2.5)
FIGURES = AnswerFigures(3, 1.0, 0.5, None, 812.4, None, 0.0021, 1.25)


def comparison(**changes: object) -> Comparison:
    first = PairScore("basic", "hybrid", 0.8, 0.9, 0.7, 1700.0, 0.012, 0.02, answers=FIGURES)
    second = replace(first, index="summary", ndcg_at_10=0.7, context_tokens=2000.0)
    second = replace(second, difference=-0.1, lower=-0.2, upper=-0.01, answers=None)
    found = SearchOutcome(0.63, 1.0, 0.5, 2, 1700, 0.012)
    answer = AnswerOutcome("An answer [1].", True, True, None, 812, None, 0.002, 1.2, ("The reranker failed.",))
    outcome = QuestionOutcome(
        "q1", "How long?", ("handbook:a.md",), {"basic · hybrid": found}, {"basic · hybrid": answer}
    )
    values: dict[str, object] = {
        "corpus": "handbook",
        "question_set": "questions.yaml",
        "made_at": "2026-11-30T05:00:00+00:00",
        "documents": 30,
        "failed": 1,
        "questions": 9,
        "left_out": 2,
        "embedder": "local:minilm",
        "reranker": "local:r",
        "chat_model": "openai:x",
        "alpha": 0.5,
        "retrieve_limit": 100,
        "rerank_limit": 8,
        "indexes": (BUILD, replace(BUILD, name="summary", cost=None, summaries=4, summary_input_tokens=None, failed=3)),
        "pairs": (PairScore("", "none", answers=replace(FIGURES, cites_page=None)), first, second),
        "outcomes": (outcome,),
        "notes": ("A note.",),
    }
    return Comparison(**(values | changes))  # type: ignore[arg-type]


class Reader(HTMLParser):
    """The tags and attributes of a page, and its text; void and unclosed tags are noticed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "rect", "line", "circle", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_every_figure_and_every_question() -> None:
    read = Reader(comparison_page(comparison()))
    assert read.open == []
    for expected in (
        "Strategies compared on handbook",
        "The best mean nDCG@10 is 0.800: hybrid over basic",
        "Beyond chance worse than basic searched the same way: summary (hybrid).",
        "2 questions left out",
        "1 document could not be read",
        "3 documents not in summary, because a model failed.",
        "-0.100 (-0.200 … -0.010)",
        "20,474",
        "How long?",
        "handbook:a.md",
        "An answer [1].",
        "The reranker failed.",
        "A note.",
        "$0.0021",
    ):
        assert expected in read.text, expected
    assert read.tags.count("svg") > 5 and "figure" in read.tags


def test_the_page_needs_nothing_from_outside() -> None:
    page = comparison_page(comparison())
    read = Reader(page)
    assert not {"script", "link", "img", "iframe", "form", "object", "base"} & set(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert "default-src 'none'" in page and "url(" not in page and "@import" not in page


def test_hostile_text_stays_text() -> None:
    found = SearchOutcome(0.0, 0.0, 0.0, None, 0, 0.0)
    answer = AnswerOutcome(HOSTILE, True, None, None, None, None, None, 0.0, (HOSTILE,))
    pair = PairScore(HOSTILE, "hybrid", 0.5, 0.5, 0.5, 10.0, 0.1, 0.1, answers=FIGURES)
    page = comparison_page(
        comparison(
            corpus=HOSTILE,
            question_set=HOSTILE,
            chat_model=HOSTILE,
            indexes=(replace(BUILD, name=HOSTILE),),
            pairs=(pair,),
            outcomes=(QuestionOutcome(HOSTILE, HOSTILE, (HOSTILE,), {HOSTILE: found}, {HOSTILE: answer}),),
            notes=(HOSTILE,),
        )
    )
    read = Reader(page)
    assert read.open == [] and not {"script", "img"} & set(read.tags)
    assert not re.search("[\x00\x1b\u202e\ud800]", page)
    page.encode()


def test_a_comparison_without_searches_or_answers_is_a_page_too() -> None:
    page = comparison_page(comparison(pairs=(), outcomes=(), indexes=(BUILD,), notes=(), failed=0, left_out=0))
    assert Reader(page).open == []


def test_what_is_not_known_is_a_dash_and_not_zero() -> None:
    row = index_row(replace(BUILD, cost=None, summary_input_tokens=None))
    assert (row[6], row[8]) == ("–", "–") and index_row(BUILD)[8] == "$0"
    assert pair_row(PairScore("", "none"))[1:4] == ["–", "–", ""]


def test_the_comparison_is_json() -> None:
    values = json.loads(json.dumps(comparison().to_json()))
    assert values["pairs"][1]["answers"]["questions"] == 3
    assert values["outcomes"][0]["searches"]["basic · hybrid"]["rank"] == 2


def drawing(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.partition("<p")[0])


def test_bars_are_as_high_as_their_values() -> None:
    svg = bars({"a": {"x": 1.0, "y": 0.5}, "<b>": {"x": 0.0}}, y_label="nDCG@10", label="A & B")
    heights = [float(bar.get("height", "")) for bar in drawing(svg).iter("rect")]
    assert heights[1] == pytest.approx(heights[0] / 2, abs=0.2) and heights[2] == 0
    texts = ["".join(text.itertext()) for text in drawing(svg).iter("text")]
    assert {"nDCG@10", "a", "<b>", "1.00", "0.50", "0.00"} <= set(texts)


@pytest.mark.parametrize("values", [[], [0.0], [5.0, 5.0], [1e9, 1.0], [1e-9], [0.123, 0.124]])
def test_any_values_can_be_drawn(values: list[float]) -> None:
    svg = bars({str(number): {"x": value} for number, value in enumerate(values)}, y_label="y", label="l")
    places = [Point(value, value, "s", f"kind {number}", "l") for number, value in enumerate(values)]
    for plot in (svg, points(places, x_label="x", y_label="y", label="l")):
        picture = drawing(plot)
        height = float(picture.get("viewBox", "").split()[3])
        for line in picture.iter("line"):
            assert 0 <= float(line.get("y1", "")) <= height
        for shape in picture.iter("rect"):
            assert float(shape.get("height", "")) >= 0


def test_points_lie_where_their_values_are() -> None:
    places = [Point(0, 0.5, "a", "k", "low"), Point(100, 1.0, "b", "k", "high")]
    circles = list(drawing(points(places, x_label="x", y_label="y", label="l")).iter("circle"))
    assert float(circles[0].get("cx", "")) < float(circles[1].get("cx", ""))
    assert float(circles[0].get("cy", "")) > float(circles[1].get("cy", ""))
