"""The DAGs of versions, run for real: built, judged, promoted, approved, rolled back, pruned and scored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lore.errors import ConfigurationError, GateError
from lore.evaluation.gate.verdict import Figures, LeftOut, Outcome, Verdict
from lore.evaluation.versions import IndexVersions
from lore.orchestration.localrun import LocalRun
from lore.settings import load_settings
from lore.stores.lancedb.versions import LanceVersions
from lore.types import EmbeddedDocument

from .approvals import a_person_who
from .conftest import Project

pytestmark = pytest.mark.xdist_group("airflow")

QUESTIONS = """
- question: How often is the signing key rotated?
  pages: [notes:keys.md]
- question: Which command rotates the keys?
  pages: [notes:keys.md]
- question: "{{ 7 * 7 }} {% raise %} <b>[Approve](https://evil.example.com)</b>"
  pages: [notes:keys.md]
- question: When is a backup taken?
  pages: [notes:backups.md]
- question: How long is a backup kept?
  pages: [notes:backups.md]
"""


@pytest.fixture(scope="module")
def synced(project: Project) -> Path:
    """An index with the notes, which every test gets a copy of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LORE_INDEX_URI", str(project.folder / "versions-index"))
        run = project.airflow.run("ingest_notes")
        assert run.succeeded, run.errors
    return project.folder / "versions-index"


class Lore:
    """The DAGs over an index of the test's own."""

    def __init__(self, project: Project, index: Path, forms: Mapping[str, Mapping[str, Any]]) -> None:
        self._project = project
        self._index = index
        self._forms = forms

    def run(self, dag_id: str, *, triggered: datetime | None = None, **params: Any) -> LocalRun:
        """With a form filled in anew: in one process Airflow remembers in a DAG what its last run was given."""
        return self._project.airflow.run(dag_id, {**self._forms[dag_id], **params}, triggered=triggered)

    @property
    def versions(self) -> IndexVersions:
        return IndexVersions(load_settings())

    @property
    def roles(self) -> dict[int, str]:
        return {status.version.number: status.role for status in self.versions.all()}

    def scores(self, number: int) -> Mapping[str, Any]:
        return self.versions.one(number).version.scores

    def build(self, chunk_characters: int, *, spoilt: bool = False) -> int:
        """A candidate that is there before the run, and is without passages where it is spoilt."""
        versions = IndexVersions(load_settings(chunk_characters=chunk_characters))
        number = versions.prepare().number
        versions.build(number)
        versions.finish(number)
        if spoilt:
            store = LanceVersions(str(self._index)).open(number)
            for document in list(store.documents()):
                store.replace_chunks(
                    [
                        EmbeddedDocument(
                            document, store.document_fingerprints()[document.id], (), np.zeros((0, 384), np.float32)
                        )
                    ]
                )
        return number


@pytest.fixture(scope="module")
def forms(project: Project) -> Mapping[str, Mapping[str, Any]]:
    """What the form of each DAG holds before anybody has filled it in."""
    params = {dag_id: project.airflow.dag(dag_id).params for dag_id in project.airflow.dag_ids}
    return {dag_id: {name: form.get_param(name).value for name in form} for dag_id, form in params.items()}


@pytest.fixture
def lore(
    project: Project,
    synced: Path,
    forms: Mapping[str, Mapping[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Lore:
    shutil.copytree(synced, tmp_path / "index")
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    monkeypatch.setenv("LORE_INDEX_URI", str(tmp_path / "index"))
    monkeypatch.setenv("LORE_QUESTIONS", str(tmp_path / "questions.yaml"))
    return Lore(project, tmp_path / "index", forms)


def test_a_version_that_the_gate_accepts_goes_live(lore: Lore) -> None:
    run = lore.run("rebuild", chunk_characters=300, workers=3)
    assert run.succeeded, run.errors
    assert {name for name in run.tasks if name.startswith("build")} == {"build[0]", "build[1]", "build[2]"}
    assert sum(run.value(f"build[{share}]")["documents"] for share in range(3)) == 2
    assert lore.roles == {1: "previous", 2: "live"}
    assert run.value("judge")["decision"] == lore.scores(2)["decision"] == "accepted"
    assert run.tasks["approve"] == "skipped"
    assert run.tasks["settings_fit"] == "skipped", "the deployment's settings are still those of version 1"


def test_the_settings_that_a_deployment_lacks_are_named_and_no_others(
    lore: Lore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lore.build(300)
    assert lore.versions.needed_settings(2) == "For all processes: set LORE_CHUNK_CHARACTERS=300."
    monkeypatch.setenv("LORE_CHUNK_CHARACTERS", "300")
    assert lore.versions.needed_settings(1) == "For all processes: unset LORE_CHUNK_CHARACTERS."


def test_a_version_that_is_worse_is_refused_in_the_gates_words_and_force_promotes_it(lore: Lore) -> None:
    assert lore.build(300, spoilt=True) == 2
    run = lore.run("rebuild", chunk_characters=300)
    assert run.state == "failed"
    assert run.tasks["promote"] == "failed"
    assert isinstance(run.errors["promote"], GateError)
    assert "refused" in str(run.errors["promote"])
    assert lore.roles == {1: "live", 2: "candidate"}
    assert lore.run("promote_version", version=2, force=True).succeeded
    assert lore.roles == {1: "previous", 2: "live"}


@pytest.mark.slow
def test_without_a_question_set_only_a_person_or_force_promotes(lore: Lore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LORE_QUESTIONS")
    run = lore.run("rebuild", chunk_characters=300)
    assert isinstance(run.errors["prepare"], ConfigurationError)
    assert lore.roles == {1: "live"}, "it is said before anything is built"
    with a_person_who("Approve") as asked:
        assert lore.run("rebuild", chunk_characters=300, ask_a_person=True).succeeded
    assert "Not judged" in asked.requests[0][1]
    assert lore.roles == {1: "previous", 2: "live"}


def test_what_is_handed_on_of_a_verdict_stays_small(project: Project) -> None:
    from lore.orchestration.promotion import shortened

    figures = Figures(0.5, 0.5, 0.5, 10.0, 1.0)
    outcomes = tuple(Outcome(f"q{number}", "Why?", ("a",), 0.5, number / 1000, 1, 1, 1.0) for number in range(1001))
    left_out = tuple(LeftOut(f"l{number}", "Why?", ("b",)) for number in range(200))
    verdict = Verdict(
        "refused", "set", 0.03, -0.1, -0.2, -0.05, 0.95, 10_000, 1.0, figures, figures, outcomes, None, left_out
    )
    handed_on = Verdict.from_json(json.loads(json.dumps(shortened(verdict))))
    assert handed_on.worse == verdict.worse[:50]
    assert handed_on.better == verdict.better[:50]
    assert len(handed_on.left_out) == 50
    assert (handed_on.decision, handed_on.difference) == ("refused", -0.1)


@pytest.mark.slow
def test_a_question_set_that_cannot_judge_is_refused_before_anything_is_built(
    lore: Lore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / "one.yaml"
    one.write_text("- question: Which command rotates the keys?\n  pages: [notes:keys.md]\n")
    monkeypatch.setenv("LORE_QUESTIONS", str(one))
    run = lore.run("rebuild", chunk_characters=300)
    assert isinstance(run.errors["prepare"], ConfigurationError) and "1 of 1 questions" in str(run.errors["prepare"])
    assert lore.roles == {1: "live"}


def test_a_person_reads_the_report_and_approves(lore: Lore) -> None:
    assert lore.build(300, spoilt=True) == 2
    with a_person_who("Approve", name="Ada") as asked:
        run = lore.run("rebuild", chunk_characters=300, ask_a_person=True)
    assert run.succeeded, run.errors
    assert lore.roles == {1: "previous", 2: "live"}, "a person's word goes before the gate's"
    [(_, text)] = asked.requests
    assert "Version 2" in text and "Refused" in text
    assert "`{{ 7 * 7 }} {% raise %} <b>[Approve](https://evil.example.com)</b>`" in text, "neither rendered nor markup"
    assert run.value("approve")["responded_by_user"]["name"] == "Ada"


@pytest.mark.slow
def test_a_person_rejects_and_nothing_changes(lore: Lore) -> None:
    with a_person_who("Reject"):
        run = lore.run("rebuild", chunk_characters=300, ask_a_person=True, force=True)
    assert run.succeeded, run.errors
    assert (run.tasks["approve"], run.tasks["promote"], run.tasks["settings_fit"]) == ("success", "skipped", "skipped")
    assert run.value("judge")["decision"] == "accepted"
    assert lore.roles == {1: "live", 2: "candidate"}


@pytest.mark.slow
def test_a_judgement_against_a_version_that_is_live_no_more_is_worth_nothing(lore: Lore) -> None:
    lore.build(300)
    lore.build(400)
    with a_person_who("Approve", meanwhile=lambda: lore.versions.promote(3, None, force=True)):
        run = lore.run("promote_version", version=2, ask_a_person=True)
    assert isinstance(run.errors["promote"], GateError)
    assert "against version 1" in str(run.errors["promote"])
    assert lore.roles == {1: "previous", 2: "candidate", 3: "live"}


def test_a_rollback_flips_back_and_takes_in_what_was_missed(lore: Lore) -> None:
    lore.build(300)
    lore.versions.promote(2, None, force=True)
    run = lore.run("rollback_version")
    assert run.succeeded, run.errors
    assert run.value("roll_back") == 1
    assert run.tasks["settings_fit"] == "success"
    assert lore.roles == {1: "live", 2: "previous"}


def test_a_cleared_rollback_or_promotion_does_not_act_a_second_time(lore: Lore) -> None:
    before = datetime.now(UTC) - timedelta(hours=1)
    lore.build(300)
    lore.versions.promote(2, None, force=True)
    assert lore.run("rollback_version").value("roll_back") == 1
    again = lore.run("rollback_version", triggered=before)  # as the same run, cleared
    assert again.succeeded and again.value("roll_back") == 1
    assert lore.roles == {1: "live", 2: "previous"}, "version 2, from which it was rolled back, isn't live again"
    promoted = lore.run("promote_version", triggered=before, version=2, force=True)
    assert isinstance(promoted.errors["promote"], GateError)
    assert "Version 1 went live after this run was triggered" in str(promoted.errors["promote"])
    assert lore.roles == {1: "live", 2: "previous"}


@pytest.mark.slow
def test_pruning_removes_what_is_old_or_named(lore: Lore) -> None:
    for budget in (300, 400, 500):
        lore.build(budget)
    for number in (2, 3):
        lore.versions.promote(number, None, force=True)
    assert lore.roles == {1: "old", 2: "previous", 3: "live", 4: "candidate"}
    assert lore.run("prune_versions").value("prune") == [1]
    assert lore.run("prune_versions").tasks["prune"] == "skipped"
    refused = lore.run("prune_versions", versions="3, 4")
    assert isinstance(refused.errors["prune"], ConfigurationError)
    assert lore.run("prune_versions", versions="2, 4").value("prune") == [2, 4]
    assert lore.roles == {3: "live"}


def test_the_live_version_is_scored(lore: Lore, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = lore.run("evaluate").value("score")
    assert (scored["version"], scored["question_set"], scored["questions"]) == (1, "questions.yaml", 5)
    figures = scored["figures"]
    assert 0.8 < figures["ndcg_at_10"] <= 1.0
    assert lore.scores(1)["ndcg_at_10"] == pytest.approx(figures["ndcg_at_10"], abs=1e-4)
    monkeypatch.delenv("LORE_QUESTIONS")
    assert lore.run("evaluate").tasks["score"] == "skipped"
