"""A verdict in words, for a terminal and as Markdown in which a question is only text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lore.evaluation.gate.report_text import headline, report_lines, report_markdown
from lore.evaluation.gate.verdict import Figures, LeftOut, Outcome, Verdict
from markdown_it import MarkdownIt

VERDICT = Verdict(
    decision="undecided",
    question_set="questions.yaml",
    margin=0.02,
    difference=-0.0625,
    lower=-0.1875,
    upper=0.0625,
    confidence=0.95,
    resamples=10_000,
    kept=0.875,
    live=Figures(0.6, 0.55, 0.9, 42.4, 12.34),
    candidate=Figures(0.5375, 0.5, 0.8, 40.0, 9.0),
    outcomes=(
        Outcome("q1", "Where is the key?", ("docs:keys.md", "docs:b"), 1.0, 0.5, 1, 3, 0.9),
        Outcome("q2", "Who is on call?", ("docs:call.md",), 0.5, 0.0, 3, None, 0.8),
        Outcome("q3", "What is new?", ("docs:news.md",), 0.0, 0.75, None, 2, 0.8),
        Outcome("q4", "Same as before?", ("docs:same.md",), 0.9, 0.9, 1, 1, 1.0),
    ),
    questions_needed=1_234,
    left_out=(LeftOut("q5", "Gone?", ("docs:gone.md",)),),
)
HOSTILE = "`[a](https://evil.example) <img src=x onerror=y> | www.evil.example `` **b** \x1b[31mred‮\n# h {{ 1 }} @all"


def test_lines_in_full() -> None:
    assert report_lines(VERDICT) == [
        "Undecided: 4 questions cannot tell whether the candidate is worse by more than 0.02 nDCG@10. "
        "About 1,234 would be needed, if the others are like these.",
        "Mean difference -0.062; with 95% confidence it is not below -0.188, and with as much it is not above +0.062 "
        "(paired bootstrap over 4 questions).",
        "Of the live version's first ten pages the candidate's first ten have 87.5%.",
        "",
        "                  live  candidate",
        "nDCG@10          0.600      0.537",
        "MRR@10           0.550      0.500",
        "recall           0.900      0.800",
        "pages found         42         40",
        "ms p50            12.3        9.0",
        "",
        "Worse: 2 of 4 questions",
        "  -0.500  rank 1 → 3        Where is the key?",
        "                            answered by docs:keys.md and 1 more",
        "  -0.500  rank 3 → none     Who is on call?",
        "                            answered by docs:call.md",
        "",
        "Better: 1 of 4 questions",
        "  +0.750  rank none → 2     What is new?",
        "                            answered by docs:news.md",
        "",
        "Not judged, because the index holds none of their pages: 1 question",
        "  Gone?  (docs:gone.md)",
    ]


@pytest.mark.parametrize(
    ("decision", "needed", "said"),
    [
        ("accepted", None, "Accepted: the candidate is not worse than the live version by more than 0.02 nDCG@10."),
        ("refused", None, "Refused: the candidate is worse than the live version by more than 0.02 nDCG@10."),
        ("undecided", None, "Undecided: 4 questions cannot tell .* No realistic number of questions would decide"),
        ("undecided", 60, "Undecided: .* About 60 would be needed"),
    ],
)
def test_the_decision_in_a_sentence(decision: str, needed: int | None, said: str) -> None:
    import re

    assert re.match(said, headline(replace(VERDICT, decision=decision, questions_needed=needed)))  # type: ignore[arg-type]


def test_only_the_first_are_shown_and_the_rest_is_counted() -> None:
    outcomes = tuple(Outcome(f"q{n}", f"Question {n}?", ("p",), 1.0, n / 100, 1, 2, 1.0) for n in range(30))
    lines = report_lines(replace(VERDICT, outcomes=outcomes), shown=4)
    assert "Worse: 30 of 30 questions" in lines
    assert [line.split()[-1] for line in lines if "Question" in line] == ["0?", "1?", "2?", "3?"]
    assert "  … and 26 more" in lines
    assert "Better: 0 of 30 questions" in lines


def test_lines_hold_nothing_that_steers_a_terminal() -> None:
    outcome = Outcome("q", HOSTILE, ("p\x1b[2J",), 1.0, 0.0, 1, None, 1.0)
    text = "\n".join(report_lines(replace(VERDICT, outcomes=(outcome,), left_out=(LeftOut("z", HOSTILE, ("\x07",)),))))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "# h" not in text.splitlines()


def rendered(verdict: Verdict) -> str:
    """Markdown as a page shows it, with all that GitHub's flavour makes of it: tables and bare addresses, too."""
    return MarkdownIt("gfm-like", {"html": True}).render(report_markdown(verdict))


def test_markdown_shows_the_decision_the_figures_and_the_questions() -> None:
    html = rendered(VERDICT)
    assert "<strong>Undecided: 4 questions cannot tell" in html
    assert "<td>nDCG@10</td>" in html
    assert "<code>Where is the key?</code>" in html
    assert "<code>Gone?</code>" in html


def test_in_markdown_a_question_is_text() -> None:
    outcomes = tuple(Outcome(f"q{n}", HOSTILE, ("p",), 1.0, 0.0, 1, None, 1.0) for n in range(3))
    html = rendered(replace(VERDICT, outcomes=outcomes, left_out=(LeftOut("z", HOSTILE, ("p",)),)))
    assert html.count("onerror=y&gt;") == 4
    for markup in ("<a ", "<img", "<h1", "<strong>b", "href", "\x1b"):
        assert markup not in html
    assert html.count("<code>") == 4


@pytest.mark.parametrize("question", ["", " ", "`", "``", "\x1b", "\\`", "\\", "` `"])
def test_a_question_of_marks_only_leaves_the_rest_whole(question: str) -> None:
    outcomes = (Outcome("q", question, ("p",), 1.0, 0.0, 1, None, 1.0), VERDICT.outcomes[1])
    html = rendered(replace(VERDICT, outcomes=outcomes))
    assert "<code>Who is on call?</code>" in html
    assert html.count("<code>") == 3  # these two and the one that was left out


def test_markdown_is_bounded() -> None:
    outcomes = tuple(Outcome(f"q{n}", "x y " * 3_000, ("p" * 2_000,), n % 2, 0.5, 1, 2, 1.0) for n in range(500))
    left_out = tuple(LeftOut("z", "x" * 10_000, ("p" * 2_000,)) for _ in range(500))
    verdict = replace(VERDICT, outcomes=outcomes, left_out=left_out)
    assert len(report_markdown(verdict)) < 10_000
    assert sum(map(len, report_lines(verdict))) < 12_000
