"""Operations on the versions of an index: build, judge, promote, roll back, and remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from lore.errors import ConfigurationError, GateError, LoreError, StoreError
from lore.evaluation.gate.decide import judge
from lore.evaluation.gate.verdict import Figures, Verdict
from lore.evaluation.metrics.retrieval import Search, pipeline_search
from lore.evaluation.questions.locate import locate
from lore.evaluation.questions.question_set import load_questions
from lore.ingest.report import ProgressCallback, no_progress
from lore.ingest.versions import BuildReport, VersionBuilder, outdated_ids
from lore.protocols import Embedder
from lore.settings import Settings
from lore.stores.manifest import version_to_json
from lore.types import Counts, IndexVersion, Recipe
from lore.wiring.models import make_embedder, make_reranker
from lore.wiring.stores import make_builder, make_recipe, make_splitter, open_versions, settings_of

__all__ = ["IndexVersions", "Score", "VersionStatus"]


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """The status of a version. `behind` counts the documents that it lacks, holds in an older state or should not hold.
    `role` is its part in the index; "old" versions were live before the previous one.
    """

    version: IndexVersion
    role: Literal["live", "previous", "candidate", "building", "old"]
    counts: Counts
    behind: int

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        values = version_to_json(self.version)
        now = {"documents": self.counts.documents, "chunks": self.counts.chunks, "behind": self.behind}
        return {**values, "role": self.role, "now": now}


@dataclass(frozen=True, slots=True)
class Score:
    """The gate's figures of one version, over so many questions of a set."""

    version: int
    question_set: str
    questions: int
    figures: Figures


class IndexVersions:
    """The versions of the index that the settings name, and the operations on them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._versions = open_versions(settings)
        self._embedders: list[Embedder] = []

    def all(self) -> list[VersionStatus]:
        """Return all versions by number, with their current contents. Raises StoreError."""
        return [self._status(version) for version in self._versions.all()]

    def one(self, number: int) -> VersionStatus:
        """Return one version. Raises ConfigurationError for an unknown number."""
        return self._status(self._version(number))

    def _version(self, number: int) -> IndexVersion:
        there = {version.number: version for version in self._versions.all()}
        if number not in there:
            remedy = f"Existing versions: {', '.join(map(str, there))}." if there else "Run: lore sync --all"
            raise ConfigurationError(f"The index has no version {number}.", remedy=remedy)
        return there[number]

    def _status(self, version: IndexVersion) -> VersionStatus:
        store = self._versions.open(version.number)
        return VersionStatus(version, self._role(version), store.count(), len(outdated_ids(store)))

    def _role(self, version: IndexVersion) -> Literal["live", "previous", "candidate", "building", "old"]:
        if version.number == self._versions.live():
            return "live"
        if version.number == self._versions.previous():
            return "previous"
        if version.status == "building":
            return "building"
        return "old" if version.promoted_at else "candidate"

    def prepare(self, *, new: bool = False) -> IndexVersion:
        """Return the version that the settings describe: the one being built, or a candidate, or else a new one.

        Raises ConfigurationError if the live version already has these settings, unless a `new` one is requested, and
        StoreError if there is no index.
        """
        recipe, live = self._recipe(), self._versions.live()
        for version in () if new else reversed(self._versions.all()):
            if not _same(version, recipe, self._versions.schema):
                continue
            if version.number == live:
                raise ConfigurationError(
                    f"Version {live}, the live one, already has these settings: {recipe.splitter}, {recipe.embedder}.",
                    remedy="Change LORE_EMBEDDER, LORE_CHUNK_CHARACTERS or how the store is laid out; or give --new.",
                )
            return version
        return self._versions.create(recipe)

    def build(
        self, number: int, *, part: tuple[int, int] | None = None, listener: ProgressCallback = no_progress
    ) -> BuildReport:
        """Bring a version up to date from the kept documents, or a `part` (k of n) of it; see `VersionBuilder`."""
        return self._builder(number).catch_up(part=part, on_progress=listener)

    def finish(self, number: int) -> VersionStatus:
        """Declare a version ready, including everything synced meanwhile. Raises StoreError if it is incomplete."""
        builder = self._builder(number)
        builder.catch_up()
        counts = builder.store.count()
        if counts.chunks != counts.recorded_chunks:
            raise StoreError(
                f"Version {number} has {counts.chunks} chunks, but its documents record {counts.recorded_chunks}.",
                remedy=f"Drop it with `lore index prune {number}` and build it again.",
            )
        version = self._version(number)
        if version.status == "building":
            self._versions.save(replace(version, status="ready", ready_at=datetime.now(UTC), counts=counts))
        builder.catch_up()  # from now on syncs see to all of it; what one wrote just before is taken in here
        builder.store.optimize()
        return self.one(number)

    def _builder(self, number: int) -> VersionBuilder:
        return make_builder(self._settings, self._versions, self._version(number), self._embedders)

    def _embedder(self, settings: Settings) -> Embedder:
        made = make_embedder(settings)
        for held in self._embedders:
            if (held.name, held.dimensions) == (made.name, made.dimensions):
                return held
        self._embedders.append(made)
        return made

    def judge(self, number: int, *, listener: ProgressCallback = no_progress) -> Verdict:
        """Score a version against the live one by the question set of the settings, and note it in the manifest.

        Raises ConfigurationError if no question set is named or it can't judge this index.
        """
        version, live = self._version(number), self._live()
        if version.number == live.number:
            raise ConfigurationError(
                f"Version {number} is already live, so there is nothing to compare it with.",
                remedy="See: lore index list",
            )
        verdict = self._judge(version, self._search(live), self._search(version), listener)
        self._note(number, _scores(verdict, live.number))
        return verdict

    def score(self, number: int | None = None, *, listener: ProgressCallback = no_progress) -> Score:
        """Score a version, by default the live one, on the question set of the settings, and note it in the manifest.

        Raises ConfigurationError as `judge` does.
        """
        version = self._live() if number is None else self._version(number)
        # beside something that finds nothing, and costs nothing: the gate then measures this version alone
        verdict = self._judge(version, self._search(version), lambda question, limit: [], listener)
        score = Score(version.number, verdict.question_set, len(verdict.outcomes), verdict.live)
        self._note(version.number, _recorded(score))
        return score

    def _judge(self, version: IndexVersion, live: Search, candidate: Search, listener: ProgressCallback) -> Verdict:
        if self._settings.evaluation.questions is None:
            raise ConfigurationError(
                "No question set is configured to judge the version.",
                remedy="Set LORE_QUESTIONS, or pass --questions FILE; docs/gate.md explains how to write one.",
            )
        return judge(
            locate(
                load_questions(self._settings.evaluation.questions), self._versions.open(version.number).documents()
            ),
            live,
            candidate,
            margin=self._settings.evaluation.gate_margin,
            retrieve_limit=self._settings.query.retrieve_limit,
            progress=listener,
        )

    def check_questions(self) -> None:
        """Raise ConfigurationError if the question set of the settings is invalid, or can't judge the live version."""
        live = self._live()
        self._search(live)
        questions = self._settings.evaluation.questions
        if questions is not None:
            locate(load_questions(questions), self._versions.open(live.number).documents())

    def _note(self, number: int, scores: Mapping[str, Any]) -> None:
        version = self._version(number)
        self._versions.save(replace(version, scores={**version.scores, **scores}))

    def _live(self) -> IndexVersion:
        live = self._versions.live()
        if live is None:
            raise StoreError("There is no index yet.", remedy="Run: lore sync --all")
        return self._version(live)

    def _search(self, version: IndexVersion) -> Search:
        own = settings_of(self._settings, version.recipe)
        embedder = self._embedder(own)
        if (embedder.name, embedder.dimensions) != (version.recipe.embedder, version.recipe.dimensions):
            raise ConfigurationError(
                f"Version {version.number} was made by embedder {version.recipe.embedder!r}, which these settings do "
                "not give.",
                remedy="Set the keys and addresses that it needs.",
            )
        index = self._versions.open(version.number)
        return pipeline_search(index, embedder, make_reranker(own, embedder), alpha=own.query.alpha)

    def promote(self, number: int, verdict: Verdict | None, *, force: bool = False) -> None:
        """Bring a version up to date and make it live in one step.

        Raises GateError if it is still being built, or no verdict lets it pass. `force` overrides that, and errors
        while bringing it up to date.
        """
        version = self._version(number)
        if number == self._versions.live():
            raise ConfigurationError(f"Version {number} is already live.")
        if not force:
            if version.status != "ready":
                outdated = len(outdated_ids(self._versions.open(number)))
                raise GateError(
                    f"Version {number} is still being built: {outdated} documents are missing or changed.",
                    remedy="Run `lore index build` with its settings until it ends.",
                )
            if verdict is None or not verdict.may_promote:
                raise GateError(
                    f"{_said(verdict, number)}; nothing was changed.",
                    remedy="Read its report; --force promotes it anyway.",
                )
        try:
            self._builder(number).catch_up()
        except LoreError:
            if not force:
                raise
        self._versions.promote(number)

    def rollback(self, number: int | None = None) -> int:
        """Make a version live that was live before, by default the previous one, and return its number.

        `build` then adds what was synced while it was not live. Raises ConfigurationError.
        """
        number = self.previous() if number is None else self._version(number).number
        self._versions.promote(number)
        return number

    def previous(self) -> int:
        """Return the number of the previously live version. Raises ConfigurationError if there is none."""
        previous = self._versions.previous()
        if previous is None:
            problem = "No previously live version is left, so there is nothing to roll back to."
            raise ConfigurationError(problem, remedy="See: lore index list")
        return previous

    def fits(self, number: int) -> bool:
        """True if a process with the present settings reads and writes this version."""
        recipe, held = self._recipe(), self._version(number).recipe
        return (
            (held.embedder, held.dimensions, held.splitter, held.strategy)
            == (recipe.embedder, recipe.dimensions, recipe.splitter, recipe.strategy)
        ) and _layout(held) == _layout(recipe)

    def differences(self, number: int) -> list[str]:
        """Return the changes that give the present settings those of this version, such as "set
        LORE_CHUNK_CHARACTERS=700". Empty if they are equal, or if another version of Lore made it and no setting helps.
        """
        present, held = self._recipe().choices, self._version(number).recipe.choices
        changed = [f"set LORE_{name.upper()}={value}" for name, value in held.items() if present.get(name) != value]
        return changed + [f"unset LORE_{name.upper()}" for name in present if name not in held]

    def needed_settings(self, number: int, *, otherwise: str = "") -> str:
        """Return instructions that give all processes the settings of this version, plus `otherwise` if none helps."""
        if needed := ", ".join(self.differences(number)):
            return f"For all processes: {needed}."
        recipe = self._version(number).recipe
        return (
            f"No setting makes them fit: this Lore does not split or embed as {recipe.splitter}, {recipe.embedder} any "
            f"more.{otherwise}"
        )

    def _recipe(self) -> Recipe:
        embedder = self._embedder(self._settings)
        return make_recipe(self._settings, embedder, make_splitter(self._settings, embedder))

    def prune(self, numbers: Sequence[int] = ()) -> list[int]:
        """Remove versions and return their numbers: those named, else all former live ones except the last.

        Raises ConfigurationError, and removes nothing, for the live version and for an unknown one.
        """
        live = self._versions.live()
        for number in numbers:
            if self._version(number).number == live:
                raise ConfigurationError(f"Version {number} is live.", remedy="Promote another one first.")
        chosen = numbers or [version.number for version in self._versions.all() if self._role(version) == "old"]
        for number in chosen:
            self._versions.drop(number)
        return list(chosen)


def _said(verdict: Verdict | None, number: int) -> str:
    if verdict is None:
        return f"Version {number} was not judged by the gate"
    if verdict.decision == "undecided":
        return f"The gate cannot decide on version {number}"
    return f"Version {number} was {verdict.decision} by the gate"


def _layout(recipe: Recipe) -> Mapping[str, Any]:
    """Return how a server must lay the version out: writers with other settings are refused."""
    return {name: value for name, value in recipe.choices.items() if name.startswith("weaviate_")}


def _same(version: IndexVersion, recipe: Recipe, schema: int) -> bool:
    """True if these settings would make the version."""
    return version.schema == schema and version.recipe == recipe


def _scores(verdict: Verdict, live: int) -> Mapping[str, Any]:
    """Return the part of a verdict that the manifest keeps; the report has the questions."""
    return {
        "judged_at": datetime.now(UTC).isoformat(),
        "against": live,
        "questions": verdict.question_set,
        "judged": len(verdict.outcomes),
        "decision": verdict.decision,
        "ndcg_at_10": round(verdict.candidate.ndcg_at_10, 4),
        "live_ndcg_at_10": round(verdict.live.ndcg_at_10, 4),
        "difference": round(verdict.difference, 4),
        "bounds": [round(verdict.lower, 4), round(verdict.upper, 4)],
    }


def _recorded(score: Score) -> Mapping[str, Any]:
    """Return the part of a version's own scores that the manifest keeps."""
    return {
        "scored_at": datetime.now(UTC).isoformat(),
        "scored_by": score.question_set,
        "scored": score.questions,
        "ndcg_at_10": round(score.figures.ndcg_at_10, 4),
        "mrr_at_10": round(score.figures.mrr_at_10, 4),
        "recall": round(score.figures.recall, 4),
    }
