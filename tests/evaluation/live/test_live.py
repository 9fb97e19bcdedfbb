"""An evaluation of a small index: what is measured with and without a model, kept, gone on with, and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from lore.errors import ModelError, StoreError
from lore.evaluation.live.files import EvaluationJournal, last_run, save
from lore.evaluation.live.judge import Judge
from lore.evaluation.live.question import QuestionRunner
from lore.evaluation.live.results import Assessment, QuestionResult, Setup
from lore.evaluation.live.run import EvaluatedIndex, assess
from lore.evaluation.metrics.retrieval import pipeline_search
from lore.evaluation.questions.question_set import JudgedQuestion, QuestionSet

from tests.fakes import FakeChatModel, FakeEmbedder, make_document
from tests.query.fakes import MemoryIndex, make_chunk, pipeline_over

TEXTS = {
    "keys": "Rotate the API key under Settings. The old key works for a day.",
    "backup": "Nightly backups of the database are kept for thirty days.",
}
KEYS = JudgedQuestion(
    "q1", "How do I rotate the API key?", {"keys": 1}, must_mention=("Settings",), reference="Under Settings."
)
BACKUP = JudgedQuestion("q2", "How long are nightly backups of the database kept?", {"docs:backup": 1})
ZEBRA = JudgedQuestion("q3", "Which zebra gallops over the savanna?", {}, unanswerable=True)
ALL = QuestionSet("set.yaml", (KEYS, BACKUP, ZEBRA))
SETUP = Setup("set.yaml", 7, "fake:words", "none", "", "", 0.5, 100, 3)
PLAN = {"question": "", "wordings": ["rotate API key", "change the key", "The key is rotated under Settings"]}
BACKUP_PLAN = {"question": "", "wordings": ["nightly backups kept", "backups of the database", "thirty days"]}
VERDICT = {"reason": "It names Settings.", "verdict": "correct"}


class Place:
    """An index of two pages, and a folder where evaluations are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder(dimensions=512)
        self.index = MemoryIndex(
            [make_chunk(name, text) for name, text in TEXTS.items()],
            self.embedder,
            pages=[make_document(name, text, "docs") for name, text in TEXTS.items()],
        )

    def evaluated(
        self, chat: FakeChatModel | None, judge: FakeChatModel | None, setup: Setup = SETUP
    ) -> EvaluatedIndex:
        pipeline = pipeline_over(self.index, self.embedder, None, chat)
        search = pipeline_search(self.index, self.embedder, None)
        return EvaluatedIndex(self.index, QuestionRunner(pipeline, search, Judge(judge) if judge else None, 100), setup)

    def assess(
        self,
        questions: QuestionSet = ALL,
        chat: FakeChatModel | None = None,
        judge: FakeChatModel | None = None,
        *,
        setup: Setup = SETUP,
        resume: bool = True,
        told: list[int] | None = None,
    ) -> Assessment:
        evaluated = self.evaluated(chat, judge, setup)
        return assess(
            questions, evaluated, self.folder, resume=resume, on_resume=(told if told is not None else []).append
        )

    def run(self, *arguments: object, **options: object) -> Assessment:
        """An evaluation that is saved, as the command does it."""
        assessment = self.assess(*arguments, **options)  # type: ignore[arg-type]
        save(self.folder, assessment)
        EvaluationJournal(self.folder, SETUP).remove()
        return assessment


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "evaluations")


def means(assessment: Assessment) -> dict[str, float]:
    return {figure.name: figure.mean for figure in assessment.figures}


def with_model(*streamed: object, plans: Sequence[object] = (PLAN,)) -> FakeChatModel:
    return FakeChatModel(plans, streamed)


class TestWithoutAModel:
    def test_search_citations_mentions_and_abstention_are_measured(self, place: Place) -> None:
        found = means(place.assess())
        assert found["ndcg_at_10"] == found["mrr_at_10"] == found["recall"] == found["answered"] == 1.0
        assert found["citation_recall"] == found["mentions"] == 1.0
        assert found["abstention_precision"] == found["abstention_recall"] == 1.0
        assert "correctness" not in found and "support" not in found

    def test_the_first_question_of_a_process_is_cold(self, place: Place) -> None:
        place.assess(QuestionSet("set.yaml", (KEYS, BACKUP)))
        assert [result.cold for result in place.assess().results] == [True, False, True]

    def test_it_is_said_what_needs_a_model(self, place: Place) -> None:
        notes = " ".join(place.assess().notes)
        assert "answers quote passages" in notes
        assert "Correctness needs a language model" in notes

    def test_the_pages_that_the_index_lacks_count_as_not_found_and_are_named(self, place: Place) -> None:
        half = JudgedQuestion("half", KEYS.text, {"keys": 1, "gone.md": 1})
        none = JudgedQuestion("none", BACKUP.text, {"lost.md": 2})
        assessment = place.assess(QuestionSet("set.yaml", (half, none)))
        first, second = assessment.results
        assert first.recall == first.citation_recall == first.context_recall == 0.5
        assert first.ndcg is not None and 0.5 < first.ndcg < 1.0
        assert (second.recall, second.ndcg, second.rank) == (0.0, 0.0, None)
        assert "count as not found: 2 (gone.md, lost.md)" in " ".join(assessment.notes)

    def test_an_index_that_cannot_be_searched_is_an_error_that_names_the_question(self, place: Place) -> None:
        evaluated = place.evaluated(None, None)
        place.index._failing = StoreError("The disk is gone.")
        with pytest.raises(StoreError, match=r"The disk is gone"):
            assess(ALL, evaluated, place.folder)

    def test_an_answer_to_an_unanswerable_question_lowers_the_recall_of_abstention(self, place: Place) -> None:
        trap = JudgedQuestion("trap", KEYS.text, {}, unanswerable=True)
        found = means(place.assess(QuestionSet("set.yaml", (trap, ZEBRA))))
        assert found["abstention_recall"] == 0.5
        assert found["abstention_precision"] == 1.0
        assert "ndcg_at_10" not in found and "citation_precision" not in found


class TestWithAModel:
    def test_an_answer_is_measured_sentence_by_sentence_and_judged(self, place: Place) -> None:
        chat = with_model("Rotate the API key under Settings [1]. Zebras gallop over wide savannas [1].")
        judge = FakeChatModel([VERDICT])
        assessment = place.assess(QuestionSet("set.yaml", (KEYS,)), chat, judge)
        (result,) = assessment.results
        assert (result.citation_precision, result.citation_recall, result.support) == (1.0, 1.0, 0.5)
        assert (result.verdict, result.correctness, result.reason) == ("correct", 1.0, "It names Settings.")
        assert 0.0 < result.first_token_seconds <= result.seconds

    def test_tokens_are_those_of_the_answer_and_of_the_judge_apart(self, place: Place) -> None:
        chat = with_model("Rotate the API key under Settings [1].")
        costs = place.assess(QuestionSet("set.yaml", (KEYS,)), chat, FakeChatModel([VERDICT])).costs
        assert (costs.calls, costs.input_tokens, costs.output_tokens) == (3, 1_100, 60)
        assert (costs.judge_input_tokens, costs.judge_output_tokens) == (100, 10)
        assert costs.cost is None  # its price is not known

    def test_a_judge_that_fails_is_counted_and_named_and_the_run_goes_on(self, place: Place) -> None:
        second = JudgedQuestion("q2", BACKUP.text, BACKUP.pages, reference="Thirty days.")
        chat = with_model("Under Settings [1].", "They are kept for thirty days [1].", plans=(PLAN, BACKUP_PLAN))
        judge = FakeChatModel([ModelError("Too many requests."), {"reason": "x", "verdict": "partly"}])
        assessment = place.assess(QuestionSet("set.yaml", (KEYS, second)), chat, judge)
        assert [result.verdict for result in assessment.results] == [None, "partly"]
        figure = assessment.figure("correctness")
        assert figure is not None and (figure.mean, figure.count) == (0.5, 1)
        said = "Answers without a verdict because the judge failed: 1 (q1). Too many requests."
        assert said in assessment.notes

    def test_what_is_not_answered_is_no_answer_without_a_call(self, place: Place) -> None:
        judge = FakeChatModel()
        (result,) = place.assess(QuestionSet("set.yaml", (KEYS,)), with_model("NOT_FOUND"), judge).results
        assert (result.found, result.verdict, result.correctness) == (False, "no answer", 0.0)
        assert result.citation_precision is None and result.citation_recall == 0.0
        assert judge.calls == []

    def test_an_answer_that_had_to_do_without_the_model_is_told_of(self, place: Place) -> None:
        assessment = place.assess(QuestionSet("set.yaml", (KEYS,)), with_model(ModelError("It is down.")))
        assert any("Said of 1 answer: The answer quotes the passages" in note for note in assessment.notes)


class TestInterrupted:
    def test_a_run_goes_on_with_what_was_done(self, place: Place) -> None:
        first = place.assess(QuestionSet("set.yaml", (KEYS,)))
        searched = len(place.index.searches)
        told: list[int] = []
        second = place.assess(told=told)
        assert told == [1]
        assert second.results[0] == first.results[0]
        assert not any(text == KEYS.text for text, *_ in place.index.searches[searched:])

    def test_a_line_that_was_cut_off_is_asked_again(self, place: Place) -> None:
        place.assess()
        journal = EvaluationJournal(place.folder, SETUP)
        text = journal.path.read_text(encoding="utf-8")
        journal.path.write_text(text[: text.rindex("{") + 40], encoding="utf-8")
        assert [result.id for result in journal.done().values()] == ["q1", "q2"]
        assert len(place.assess().results) == 3
        assert len(journal.done()) == 3

    @pytest.mark.parametrize("how", ["another model", "asked for"])
    def test_it_begins_anew_where_something_else_is_evaluated(self, place: Place, how: str) -> None:
        place.assess()
        told: list[int] = []
        if how == "asked for":
            place.assess(resume=False, told=told)
        else:
            other = Setup("set.yaml", 7, "fake:words", "none", "openai:x", "", 0.5, 100, 3)
            place.assess(setup=other, told=told)
        assert told == []

    def test_a_question_that_was_changed_is_asked_again(self, place: Place) -> None:
        place.assess()
        told: list[int] = []
        changed = JudgedQuestion("q1", KEYS.text, {"backup": 1})
        place.assess(QuestionSet("set.yaml", (changed, BACKUP)), told=told)
        assert told == [1]


class TestChanges:
    def test_the_first_run_has_nothing_to_compare_with(self, place: Place) -> None:
        assert place.run().changes is None

    def test_equal_runs_differ_in_nothing(self, place: Place) -> None:
        place.run()
        changes = place.run().changes
        assert changes is not None
        assert (changes.common, changes.worse, changes.better, changes.setup) == (3, (), (), ())
        assert {change.difference for change in changes.figures} == {0.0}

    def test_what_went_worse_and_better_is_told_question_by_question(self, place: Place) -> None:
        place.run(QuestionSet("set.yaml", (KEYS,)), with_model("Under Settings [1]."), FakeChatModel([VERDICT]))
        worse = {"reason": "It says nothing.", "verdict": "wrong"}
        now = place.run(QuestionSet("set.yaml", (KEYS,)), with_model("The day is long [1]."), FakeChatModel([worse]))
        assert now.changes is not None
        (change,) = now.changes.worse
        assert "correct → wrong" in change.moves and "mentions 1.00 → 0.00" in change.moves
        back = place.run(QuestionSet("set.yaml", (KEYS,)), with_model("Under Settings [1]."), FakeChatModel([VERDICT]))
        assert back.changes is not None and len(back.changes.better) == 1

    def test_rightly_not_answering_any_more_is_better(self, place: Place) -> None:
        trap = QuestionSet("set.yaml", (JudgedQuestion("trap", KEYS.text, {}, unanswerable=True),))
        place.run(trap, with_model("Under Settings [1]."))
        changes = place.run(trap, with_model("NOT_FOUND")).changes
        assert changes is not None
        assert [change.moves for change in changes.better] == [("answered → not answered",)]

    def test_questions_that_only_one_run_has_are_counted_and_not_compared(self, place: Place) -> None:
        place.run(QuestionSet("set.yaml", (KEYS, BACKUP)))
        changes = place.run(QuestionSet("set.yaml", (BACKUP, ZEBRA))).changes
        assert changes is not None and (changes.common, changes.added, changes.gone) == (1, 1, 1)

    def test_a_run_of_few_questions_does_not_hide_the_whole_one_before(self, place: Place) -> None:
        place.run()
        place.run(QuestionSet("set.yaml", (KEYS,)))
        changes = place.run().changes
        assert changes is not None and changes.common == 3

    def test_other_sets_and_other_files_are_passed_over(self, place: Place) -> None:
        place.run()
        for name, text in (("a", "no JSON"), ("b", "{}"), ("c", "[1]")):
            (place.folder / f"9{name}").mkdir()
            (place.folder / f"9{name}" / "evaluation.json").write_text(text, encoding="utf-8")
        keys = [result.key for result in place.assess().results]
        assert last_run(place.folder, "set.yaml", keys) is not None
        assert last_run(place.folder, "other.yaml", keys) is None


def test_an_evaluation_is_read_back_as_it_was_written(place: Place) -> None:
    assessment = place.run()
    assert Assessment.from_json(json.loads(json.dumps(assessment.to_json()))) == assessment
    assert all(isinstance(result, QuestionResult) for result in assessment.results)
