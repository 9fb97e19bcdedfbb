"""Filters from a question's words and from a model, and their effect on a search."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from lore.query.understand.filters import (
    SearchableSource,
    describe_filters,
    filter_by_date,
    filters_by_rules,
    narrow_question,
    validate_filters,
    visible_sources,
)
from lore.types import Filters, Message, Question

from tests.query.fakes import make_hit

TODAY = date(2026, 11, 30)
SOURCES = (
    SearchableSource("handbook", "files", "Tidewheel handbook"),
    SearchableSource("ray_docs", "site", "Ray documentation"),
    SearchableSource("team_slack", "slack", "Team Slack", channels=("support", "releases")),
    SearchableSource("tracker", "github_issues", "Tidewheel tracker"),
    SearchableSource("so", "stackoverflow", "Questions on Airflow"),
)


def sources_named(text: str) -> tuple[str, ...]:
    return filters_by_rules(Question(text), SOURCES, TODAY).sources


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What was decided in #support about keys?", ("team_slack",)),
        ("What was decided in #Support about keys?", ("team_slack",)),
        ("Which problems were named in the Slack channel platform?", ("team_slack",)),
        ("What did Maren say in our Slack threads on drains?", ("team_slack",)),
        ("Was the drain discussed on Slack?", ("team_slack",)),
        ("Is the doubled hour reported in the GitHub issues?", ("tracker",)),
        ("Is it known in the issue tracker?", ("tracker",)),
        ("What do the docs say? Look in the docs of Ray.", ("ray_docs",)),
        ("How is a task retried according to the Ray docs?", ("ray_docs",)),
        ("Where is it in the docs?", ("handbook", "ray_docs")),
        ("What is a pool according to the Tidewheel handbook?", ("handbook",)),
        ("What is a pool in the source handbook?", ("handbook",)),
        ("How do I retry, from ray_docs?", ("ray_docs",)),
        ("What do people on Stack Overflow do about it?", ("so",)),
    ],
)
def test_a_source_that_is_named_narrows(text: str, expected: tuple[str, ...]) -> None:
    assert sources_named(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "How do I set a Slack variable?",
        "How do I send alerts in Slack?",
        "How do I post a message to a Slack channel?",
        "Which GitHub actions build the image?",
        "How do I fix issues with workers?",
        "What issues does the drain have?",
        "How do I build the docs?",
        "How do I write a handbook?",
        "Where is the handbook?",
        "What is new in ray?",
        "Is #203 fixed?",
        "What does the colour #support-blue look like?",
        "See https://example.com/page#support",
        "What is a tracker in this context?",
        "How do I install so that it starts?",
        "How do I embed the forum?",
    ],
)
def test_what_only_looks_like_a_source_does_not(text: str) -> None:
    assert sources_named(text) == ()


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("What was changed since March 2024?", "2024-03-01", None),
        ("What was said since 2024-03-15 about keys?", "2024-03-15", None),
        ("What was announced after 3rd May 2025?", "2025-05-04", None),
        ("What was announced after May 3, 2025?", "2025-05-04", None),
        ("Which decisions were written down before 2023?", None, "2023-01-01"),
        ("What was decided until December 2023?", None, "2024-01-01"),
        ("What was decided since 2023 and before June 2024?", "2023-01-01", "2024-06-01"),
        ("What was updated in the last 2 weeks?", "2026-11-16", None),
        ("Keys in #support since 2025", "2025-01-01", None),
    ],
)
def test_a_time_that_is_named_narrows(text: str, after: str | None, before: str | None) -> None:
    filters = filters_by_rules(Question(text), SOURCES, TODAY)
    assert filters.updated_after == (day(after) if after else None)
    assert filters.updated_before == (day(before) if before else None)


@pytest.mark.parametrize(
    "text",
    [
        "How do I list the runs since March 2024?",
        "How do I delete what was changed before 2024?",
        "Is Python 2 supported after 2024?",
        "Has the limit changed since version 2.3?",
        "What was changed since 2.0?",
        "Why does it fail since the update?",
        "What was changed since 2024-13-45?",
        "What was said since 31 February 2024?",
        "What was changed since 2030?",
        "What was changed before 2031?",
        "What was changed since 2024 and before 2023?",
        "Which runs of the last 7 days failed?",
        "What is new?",
    ],
)
def test_what_only_looks_like_a_time_does_not(text: str) -> None:
    assert filters_by_rules(Question(text), SOURCES, TODAY) == Filters()


class TestOfAModel:
    def test_what_the_question_names_is_kept(self) -> None:
        filters, notes = validate_filters(
            ["team_slack"], "2024-03-01", "", Question("Was hieß es im Slack seit März 2024?"), SOURCES, TODAY
        )
        assert (filters, notes) == (Filters(("team_slack",), day("2024-03-01")), ())

    def test_what_the_user_named_before_is_kept(self) -> None:
        question = Question("And since 2025?", (Message("user", "What was said on Slack?"),))
        filters, _ = validate_filters(["team_slack"], "2025", "", question, SOURCES, TODAY)
        assert filters == Filters(("team_slack",), day("2025-01-01"))

    def test_what_only_an_answer_or_nobody_named_is_not(self) -> None:
        question = Question("How are keys rotated?", (Message("assistant", "See Slack, since 2024."),))
        filters, notes = validate_filters(["team_slack", "tracker"], "2024-01-01", "", question, SOURCES, TODAY)
        assert filters == Filters()
        assert "team_slack, tracker" in notes[0]
        assert "dates" in notes[1]

    def test_a_source_that_does_not_exist_is_not(self) -> None:
        question = Question("What is said on Slack?")
        filters, notes = validate_filters(["slack", "x" * 9_000, "team_slack"], "", "", question, SOURCES, TODAY)
        assert filters == Filters(("team_slack",))
        assert len(notes[0]) < 300

    def test_a_word_that_names_every_source_names_none(self) -> None:
        known = (
            SearchableSource("ray_docs", "site", "Ray docs"),
            SearchableSource("ray_bugs", "github_issues", "Ray bugs"),
        )
        filters, _ = validate_filters(["ray_docs"], "", "", Question("How does Ray retry?"), known, TODAY)
        assert filters == Filters()
        filters, _ = validate_filters(["ray_docs"], "", "", Question("How does Ray retry? See the docs"), known, TODAY)
        assert filters == Filters(("ray_docs",))

    def test_all_sources_are_no_filter(self) -> None:
        question = Question("docs, slack, issues, handbook, stack overflow")
        filters, _ = validate_filters([source.id for source in SOURCES], "", "", question, SOURCES, TODAY)
        assert filters == Filters()

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("What was new last week?", True),
            ("Was gab es letzte Woche Neues?", True),
            ("What are the latest decisions?", True),
            ("How do I keep logs for 30 days?", False),
            ("May I rotate a key each month?", False),
        ],
    )
    def test_a_date_needs_a_time_that_the_user_named(self, text: str, named: bool) -> None:
        filters, notes = validate_filters([], "2026-11-01", "", Question(text), SOURCES, TODAY)
        assert (filters != Filters(), notes == ()) == (named, named)

    @pytest.mark.parametrize("text", ["soon", "2024-99-01", "20240101", "0001-01-01", "2031-01-01", "x" * 9_000])
    def test_a_date_that_is_none_is_not(self, text: str) -> None:
        filters, notes = validate_filters([], text, "", Question("What changed in 2024?"), SOURCES, TODAY)
        assert filters == Filters()
        assert notes


@pytest.mark.parametrize(
    ("text", "sources", "after"),
    [
        ("先月、Slackで決まったことは？", ("team_slack",), "2026-10-01"),
        ("Was wurde seit März in Slack beschlossen?", ("team_slack",), "2026-03-01"),
        ("鍵はどこですか？", (), ""),
        ("Wo liegt der Schlüssel?", (), ""),
    ],
)
def test_a_model_reads_filters_in_any_language(text: str, sources: tuple[str, ...], after: str) -> None:
    filters, _ = validate_filters(["team_slack"], "2026-03-01" if "März" in text else "2026-10-01", "", Question(text),
                                  SOURCES, TODAY)  # fmt: skip
    assert filters.sources == sources
    assert filters.updated_after == (day(after) if after else None)


def test_what_the_asker_must_not_know_of_is_not_there_to_be_named() -> None:
    board = SearchableSource("board_notes", "files", "Board notes", audiences=("board",))
    seen = visible_sources([*SOURCES, board], Question("What do the board notes say?"))
    assert board not in seen
    assert board in visible_sources([board], Question("What do they say?", audiences=("public", "board")))
    assert visible_sources(SOURCES, Question("a", sources=("so",))) == [SOURCES[4]]


class TestHeldTo:
    def test_sources_narrow_and_never_widen(self) -> None:
        filters = Filters(("handbook", "tracker"))
        assert narrow_question(Question("a"), filters).sources == ("handbook", "tracker")
        assert narrow_question(Question("a", sources=("tracker", "so")), filters).sources == ("tracker",)
        assert narrow_question(Question("a", sources=("so",)), filters).sources == ("so",)
        assert narrow_question(Question("a", sources=("so",)), Filters()).sources == ("so",)
        assert narrow_question(Question("a", audiences=("board",)), filters).audiences == ("board",)

    def test_dates_bound_and_what_has_none_is_left_out(self) -> None:
        hits = [
            make_hit("old", "a", updated_at=day("2023-12-31")),
            make_hit("first", "a", updated_at=day("2024-01-01")),
            make_hit("naive", "a", updated_at=datetime(2024, 6, 1)),
            make_hit("late", "a", updated_at=day("2025-01-01")),
            make_hit("undated", "a"),
        ]
        bounds = Filters(updated_after=day("2024-01-01"), updated_before=day("2025-01-01"))
        assert [hit.chunk.id for hit in filter_by_date(hits, bounds)] == ["chunk-first", "chunk-naive"]
        assert filter_by_date(hits, Filters(("docs",))) == hits

    def test_they_are_said_in_words(self) -> None:
        assert describe_filters(Filters()) == ""
        assert describe_filters(Filters(("a", "b"), day("2024-03-01"))) == "in a, b, changed since 2024-03-01"
        both = Filters((), day("2024-03-01"), day("2024-05-01"))
        assert describe_filters(both) == "changed since 2024-03-01 and before 2024-05-01"
