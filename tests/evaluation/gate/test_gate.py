"""The verdict on a candidate: figures by hand, and decisions that chance does not make."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from functools import cache

import pytest
from lore.errors import ConfigurationError, LoreError, ModelError, StoreError
from lore.evaluation.gate.decide import judge
from lore.evaluation.gate.verdict import Verdict
from lore.evaluation.metrics.retrieval import Search
from lore.evaluation.questions.locate import LocatedQuestion, LocatedSet
from lore.evaluation.questions.question_set import JudgedQuestion
from lore.types import Chunk, Hit, Question

FILLER = [f"docs:x{number}" for number in range(20)]


@cache
def hit(page: str, position: int = 0, score: float = 1.0) -> Hit:
    chunk = Chunk(f"{page}-{position}", page, "docs", "", page, (), "text", position, 0, 4)
    return Hit(chunk, score)


def answering(pages: Mapping[str, Sequence[str]]) -> Search:
    """A search that finds these pages for these questions, in this order."""

    def search(question: Question, limit: int) -> list[Hit]:
        return [hit(page, score=1.0 / rank) for rank, page in enumerate(pages[question.text][:limit], start=1)]

    return search


def asked(*names: str, relevance: Mapping[str, int] | None = None) -> LocatedSet:
    """Questions that the page of their name answers."""
    return LocatedSet(
        "set",
        tuple(
            LocatedQuestion(JudgedQuestion(name, name, {f"{name}.md": 1}), relevance or {f"docs:{name}": 1})
            for name in names
        ),
    )


def ranked(name: str, rank: int | None) -> list[str]:
    """Ten pages, with the one that answers at a rank or nowhere."""
    pages = FILLER[:10]
    if rank is not None:
        pages.insert(rank - 1, f"docs:{name}")
    return pages


def judged(
    live: Sequence[int | None], candidate: Sequence[int | None], margin: float = 0.02, resamples: int = 2_000
) -> Verdict:
    """The verdict where the first pages that answer have these ranks."""
    names = [f"q{number}" for number in range(len(live))]
    sides = [
        answering({name: ranked(name, rank) for name, rank in zip(names, ranks, strict=True)})
        for ranks in (live, candidate)
    ]
    return judge(asked(*names), *sides, margin=margin, resamples=resamples)


def test_figures_by_hand() -> None:
    verdict = judged([1, 2, 3, None], [1, 1, None, None])
    assert [outcome.live for outcome in verdict.outcomes] == [1.0, 1 / math.log2(3), 0.5, 0.0]
    assert [outcome.candidate for outcome in verdict.outcomes] == [1.0, 1.0, 0.0, 0.0]
    assert [outcome.live_rank for outcome in verdict.outcomes] == [1, 2, 3, None]
    assert [outcome.candidate_rank for outcome in verdict.outcomes] == [1, 1, None, None]
    assert [outcome.difference for outcome in verdict.outcomes] == [0.0, 1 - 1 / math.log2(3), -0.5, 0.0]
    assert verdict.outcomes[0].pages == ("q0.md",)
    assert verdict.live.ndcg_at_10 == pytest.approx((1.5 + 1 / math.log2(3)) / 4)
    assert verdict.live.mrr_at_10 == pytest.approx((1 + 1 / 2 + 1 / 3) / 4)
    assert (verdict.live.recall, verdict.candidate.recall) == (0.75, 0.5)
    assert verdict.live.pages_retrieved == 10.75
    assert verdict.difference == pytest.approx((0.5 - 1 / math.log2(3)) / 4)
    assert verdict.lower < verdict.difference < verdict.upper
    assert [outcome.id for outcome in verdict.worse] == ["q2"]
    assert [outcome.id for outcome in verdict.better] == ["q1"]
    assert verdict.kept == pytest.approx((1 + 1 + 0.9 + 1) / 4)  # the page at rank 3 is gone, a filler came for it


def test_the_largest_change_comes_first() -> None:
    verdict = judged([1, 1, 1, 1, 3, 4, 2], [2, 5, 1, 3, 1, 1, 1])
    assert [outcome.id for outcome in verdict.worse] == ["q1", "q3", "q0"]
    assert [outcome.id for outcome in verdict.better] == ["q5", "q4", "q6"]


def test_a_page_ranks_where_its_best_chunk_does() -> None:
    def live(question: Question, limit: int) -> list[Hit]:
        name = f"docs:{question.text}"
        return [hit("docs:x", 0, 0.9), hit("docs:x", 1, 0.8), hit(name, 5, 0.7), hit(name, 0, 0.6)]

    verdict = judge(asked("a", "b"), live, live, margin=0.0)
    assert [outcome.live_rank for outcome in verdict.outcomes] == [2, 2]
    assert verdict.live.pages_retrieved == 2.0


def test_the_first_rank_may_be_beyond_ten_and_then_scores_nothing() -> None:
    verdict = judged([11, 1], [11, 1])
    assert (verdict.outcomes[0].live_rank, verdict.outcomes[0].live) == (11, 0.0)
    assert verdict.live.recall == 1.0


def test_grades_and_documents_that_are_the_same_page() -> None:
    question = LocatedQuestion(
        JudgedQuestion("q", "q", {"a": 3, "b": 1}), {"docs:a": 3, "docs:b": 1}, {"wiki:a": "docs:a"}
    )
    questions = LocatedSet("set", (question, question))
    live = answering({"q": ["wiki:a", "docs:a", "docs:b"]})
    candidate = answering({"q": ["docs:b", "wiki:a"]})
    outcome = judge(questions, live, candidate, margin=0.5).outcomes[0]
    assert outcome.live == 1.0  # both are one page at rank 1, and docs:b is at rank 2
    assert outcome.candidate == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert outcome.kept == 1.0


def test_the_question_goes_with_its_sources_and_audiences() -> None:
    seen: list[tuple[str, tuple[str, ...], tuple[str, ...], int]] = []

    def search(question: Question, limit: int) -> list[Hit]:
        seen.append((question.text, question.sources, question.audiences, limit))
        return []

    question = JudgedQuestion("q", "text", {"a": 1}, ("docs",), ("sre",))
    located = LocatedQuestion(question, {"docs:a": 1})
    judge(LocatedSet("set", (located, located)), search, search, margin=0.1, retrieve_limit=7)
    assert set(seen) == {("text", ("docs",), ("sre",), 7)}


def test_equal_hits_are_exactly_equal_and_accepted_however_few() -> None:
    for count in (2, 5, 300):
        ranks = [(1, 2, 7, None)[number % 4] for number in range(count)]
        verdict = judged(ranks, ranks, margin=0.0)
        assert (verdict.difference, verdict.lower, verdict.upper, verdict.kept) == (0.0, 0.0, 0.0, 1.0)
        assert (verdict.decision, verdict.may_promote, verdict.questions_needed) == ("accepted", True, None)
        assert verdict.worse == verdict.better == ()


def test_the_order_of_equal_scores_is_no_difference() -> None:
    def live(question: Question, limit: int) -> list[Hit]:
        return [hit("docs:first", 0, 2.0), hit("docs:b"), hit("docs:a"), hit(f"docs:{question.text}")]

    def candidate(question: Question, limit: int) -> list[Hit]:
        first, *equal = live(question, limit)
        return [first, *reversed(equal)]

    verdict = judge(asked("q", "r"), live, candidate, margin=0.0)
    assert [outcome.difference for outcome in verdict.outcomes] == [0.0, 0.0]
    assert verdict.outcomes[0].live_rank == 4


def test_an_empty_candidate_is_refused() -> None:
    verdict = judged([1, 2, 1, 3, 1], [None] * 5)
    assert verdict.decision == "refused"
    assert not verdict.may_promote
    assert verdict.upper < -0.02
    assert verdict.questions_needed is None


def test_a_clear_loss_on_many_questions_is_refused() -> None:
    assert judged([1] * 60, [1, 2, 4] * 20).decision == "refused"


def test_a_clear_gain_is_accepted_with_few_questions_even_where_all_other_pages_changed() -> None:
    names = [f"q{number}" for number in range(8)]
    live = {name: ranked(name, rank) for name, rank in zip(names, [2, 3, 4, 2, 5, 3, 2, 2], strict=True)}
    candidate = {name: [f"docs:{name}", *FILLER[10:]] for name in names}
    verdict = judge(asked(*names), answering(live), answering(candidate), margin=0.02)
    assert verdict.kept == 0.1
    assert verdict.lower > 0
    assert verdict.decision == "accepted"


def test_one_question_that_lost_does_not_refuse_and_is_not_accepted_either() -> None:
    verdict = judged([1] * 8, [1] * 7 + [None])
    assert verdict.difference == -0.125  # far beyond the margin, and yet it may be chance
    assert verdict.decision == "undecided"
    assert not verdict.may_promote
    # z² · deviation² / distance²: 1.6449² · .125 / .105² = 30.7
    assert verdict.questions_needed == 31


def test_few_questions_without_a_loss_do_not_accept_what_changed_much() -> None:
    live, other = ranked("q", 3), [*FILLER[10:12], "docs:q", *FILLER[12:]]
    verdicts = []
    for count in (20, 73, 74):
        names = [f"q{number}" for number in range(count)]
        questions = asked(*names, relevance={"docs:q": 1})
        sides = [answering(dict.fromkeys(names, pages)) for pages in (live, other)]
        verdicts.append(judge(questions, *sides, margin=0.02))
    few, nearly, enough = verdicts
    assert (few.lower, few.kept) == (0.0, 0.1)
    # A share of .04 that loses a score of .5 costs .02; ln(.05) / ln(.96) = 73.4 questions would show it.
    assert (few.decision, few.questions_needed) == ("undecided", 74)
    assert (nearly.decision, nearly.questions_needed) == ("undecided", 74)
    assert (enough.decision, enough.questions_needed) == ("accepted", None)


def test_with_a_margin_of_zero_what_changed_can_only_be_accepted_for_a_gain() -> None:
    verdict = judged([1, 2] * 20, [1, 2] * 19 + [2, 1], margin=0.0)
    assert (verdict.decision, verdict.questions_needed) == ("undecided", None)


def test_a_difference_at_the_margin_itself_has_no_number_of_questions() -> None:
    # Ten scores of 1, one of which becomes 1/log2(4) = .5: a loss of just .05.
    assert judged([1] * 10, [1] * 9 + [3], margin=0.05).questions_needed is None


def test_a_live_version_that_finds_nothing_has_nothing_to_lose() -> None:
    assert judged([None] * 5, [None, None, 4, None, 1]).decision == "accepted"


def test_chance_refuses_a_harmless_change_in_few_cases_and_accepts_a_bad_one_in_few() -> None:
    dice = random.Random(17)
    decisions: dict[str, list[str]] = {"harmless": [], "bad": []}
    for _ in range(30):
        live = [dice.choice([1, 1, 2, 3, None]) for _ in range(100)]
        moved = [dice.choice([1, 1, 2, 3, None]) if dice.random() < 0.2 else rank for rank in live]
        decisions["harmless"].append(judged(live, moved, margin=0.03).decision)
        lost = [None if dice.random() < 0.08 else rank for rank in live]  # a loss of .052
        decisions["bad"].append(judged(live, lost, margin=0.03).decision)
    assert decisions["harmless"].count("refused") == 0
    assert decisions["bad"].count("accepted") <= 2
    assert decisions["bad"].count("refused") > decisions["harmless"].count("refused")


@pytest.mark.parametrize("side", ["live", "candidate"])
def test_a_search_that_fails_is_an_error_that_names_side_and_question(side: str) -> None:
    def works(question: Question, limit: int) -> list[Hit]:
        return [hit("docs:q")]

    def fails(question: Question, limit: int) -> list[Hit]:
        if question.text == "r":
            raise StoreError("The server went away.", remedy="Start it.", retryable=True)
        return [hit("docs:q")]

    live, candidate = (fails, works) if side == "live" else (works, fails)
    with pytest.raises(LoreError, match=f"The {side} version couldn't be asked 'r': The server went away") as caught:
        judge(asked("q", "r"), live, candidate, margin=0.02)
    assert (caught.value.remedy, caught.value.retryable) == ("Start it.", True)


def test_a_mistake_of_a_person_stays_one() -> None:
    def search(question: Question, limit: int) -> list[Hit]:
        raise ConfigurationError("No key.")

    with pytest.raises(ConfigurationError, match="No key"):
        judge(asked("q", "r"), search, search, margin=0.02)


@pytest.mark.parametrize("margin", [-0.01, 1.0, math.nan, math.inf])
def test_a_margin_that_is_none(margin: float) -> None:
    with pytest.raises(ConfigurationError, match="margin"):
        judged([1, 1], [1, 1], margin=margin)


def test_one_question_cannot_decide() -> None:
    with pytest.raises(ConfigurationError, match="one question"):
        judged([1], [1])


def test_progress_is_told_and_neither_side_always_goes_first() -> None:
    told: list[tuple[int, int]] = []
    order: list[str] = []

    def searching(side: str) -> Search:
        def search(question: Question, limit: int) -> list[Hit]:
            order.append(side)
            return []

        return search

    judge(
        asked("a", "b"),
        searching("live"),
        searching("candidate"),
        margin=0.1,
        progress=lambda *step: told.append(step),
    )
    assert told == [(1, 2), (2, 2)]
    assert order == ["live", "candidate", "live", "candidate", "candidate", "live"]  # the first two warm up


def test_the_same_searches_give_the_same_verdict() -> None:
    live, candidate = [1, 2, 3, None, 1, 1], [2, 2, 1, None, 1, 3]
    first, second = (judged(live, candidate).to_json() for _ in range(2))
    for verdict in (first, second):
        verdict["live"].pop("ms_p50")
        verdict["candidate"].pop("ms_p50")
    assert first == second


def test_a_verdict_survives_json() -> None:
    questions = LocatedSet(
        "set", asked("a", "b", "c").questions, (JudgedQuestion("z", "left", {"gone": 1}),), ("gone",)
    )
    live = answering({"a": ["docs:a"], "b": ["docs:b"], "c": []})
    candidate = answering({"a": ["docs:x", "docs:a"], "b": ["docs:b"], "c": []})
    verdict = judge(questions, live, candidate, margin=0.02)
    assert verdict.left_out[0].pages == ("gone",)
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


@pytest.mark.parametrize("change", [{"decision": "maybe"}, {"outcomes": 3}, {"live": None}, {"margin": "wide"}])
def test_json_that_is_no_verdict(change: dict[str, object]) -> None:
    values = judged([1, 2], [2, 1]).to_json()
    with pytest.raises(ConfigurationError, match="Invalid verdict"):
        Verdict.from_json(values | change)
    with pytest.raises(ConfigurationError, match="Invalid verdict"):
        Verdict.from_json({})


def test_a_model_that_fails_is_an_error_too() -> None:
    def search(question: Question, limit: int) -> list[Hit]:
        raise ModelError("quota used up", remedy="Wait.", retryable=True)

    with pytest.raises(LoreError, match="quota used up"):
        judge(asked("q", "r"), search, search, margin=0.02)
