"""A recorded answer asked again: the same plan over the same version of the index, and the differences."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lore.databases.journey.recording import SOURCE_PREFIX
from lore.errors import ConfigurationError
from lore.records.entries import Record
from lore.settings import Settings
from lore.types import Answer
from lore.wiring.models import make_embedder
from lore.wiring.query import make_pipeline
from lore.wiring.stores import open_store, open_versions, settings_of

__all__ = ["PassageMove", "Replay", "replay"]


@dataclass(frozen=True, slots=True)
class PassageMove:
    """A passage that the model got before or now: its place then and now, None if absent."""

    chunk_id: str
    title: str
    before: int | None
    now: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """An answer before and now. `version` is the one searched now; `notes` list other differences in the setup."""

    before: Answer
    now: Answer
    version: int | None
    notes: tuple[str, ...]

    def moves(self) -> list[PassageMove]:
        """Return the passages in the order of now, followed by the lost ones."""
        before, now = _places(self.before), _places(self.now)
        titles = {hit.chunk.id: hit.chunk.title for one in (self.before, self.now) for hit in one.trace.passages}
        order = [*now, *(chunk_id for chunk_id in before if chunk_id not in now)]
        return [PassageMove(chunk_id, titles[chunk_id], before.get(chunk_id), now.get(chunk_id)) for chunk_id in order]

    def answer_diff(self) -> list[str]:
        """Return the differing lines in the format of `diff -u` without its header; empty if the answers are equal."""
        before, now = self.before.text.splitlines(), self.now.text.splitlines()
        return list(difflib.unified_diff(before, now, n=1, lineterm=""))[2:]


def replay(record: Record, settings: Settings) -> Replay:
    """Ask a recorded question again, by its own plan, over the version of the index that answered it.

    If that version is gone or unreadable, the one that fits the settings is searched, and a note says so. Nothing is
    recorded. Raises LoreError if the question can't be answered at all.
    """
    before = record.answer
    if any(source.startswith(SOURCE_PREFIX) for source in before.question.sources):
        raise ConfigurationError("This answer is from a database.", remedy=f"Run: lore sql replay {before.id[:10]}")
    versions = open_versions(settings)
    notes = list(_about(before))
    kept = next((one for one in versions.all() if one.number == before.trace.version), None)
    if kept is not None and kept.schema != versions.schema:
        notes.append(
            f"Version {kept.number} of the index comes from another version of Lore, so another one is searched."
        )
        kept = None
    elif kept is None and before.trace.version is not None:
        notes.append(f"Version {before.trace.version} of the index is gone; another version is searched.")
    own = settings_of(settings, kept.recipe) if kept else settings
    embedder = make_embedder(own)
    store = versions.open(kept.number) if kept else open_store(settings, embedder)
    pipeline = make_pipeline(own, index=store, embedder=embedder)
    question = replace(before.question, surface="replay", asker="")
    now = pipeline.ask(question, plan=before.trace.plan)
    notes += _changes("model", before.trace.models, now.trace.models)
    notes += _changes("prompt", before.trace.prompts, now.trace.prompts)
    return Replay(before, now, now.trace.version, tuple(notes))


def _about(before: Answer) -> Iterator[str]:
    if "[redacted: " in before.question.text:
        yield "Part of the question was redacted before it was recorded."
    if before.trace.version is None:
        yield "The searched version of the index is not recorded."


def _changes(what: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *now}):
        if what == "prompt" and name not in now:
            continue  # the plan is given, so that its prompt was not used
        if before.get(name) != now.get(name):
            yield f"Another {what} for {name}: {before.get(name, 'none')} then, {now.get(name, 'none')} now."


def _places(answer: Answer) -> dict[str, int]:
    return {hit.chunk.id: place for place, hit in enumerate(answer.trace.passages, start=1)}
