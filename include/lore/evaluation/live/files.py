"""The folder of evaluations: a folder for each, and a journal for an interrupted one.

    FOLDER/20261130-061500-questions/evaluation.json, evaluation.html
    FOLDER/unfinished/1f0c….jsonl

A journal has a line for each finished question. Its name is a hash of the setup, so that a run resumes only what was
done with the same models, settings and index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError
from lore.evaluation.live.report_page import assessment_page
from lore.evaluation.live.results import Assessment, QuestionResult, Setup

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["EvaluationJournal", "check_folder", "last_run", "save"]

LOOKED_AT = 20
"""Number of earlier runs considered for the comparison."""


class EvaluationJournal:
    """Results of an evaluation that may be interrupted at any time."""

    def __init__(self, folder: Path, setup: Setup) -> None:
        name = sha256(json.dumps(asdict(setup), sort_keys=True).encode()).hexdigest()[:16]
        self.path = folder / "unfinished" / f"{name}.jsonl"

    def done(self) -> dict[str, QuestionResult]:
        """Return the results by question key; a truncated line is ignored."""
        return {result.key: result for result in self._read()}

    def _read(self) -> Iterator[QuestionResult]:
        from pydantic import TypeAdapter, ValidationError

        adapter: TypeAdapter[QuestionResult] = TypeAdapter(QuestionResult)
        if not self.path.is_file():
            return
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                yield adapter.validate_json(line)
            except ValidationError:
                continue

    def add(self, result: QuestionResult) -> None:
        """Append a result on a line of its own, even after a truncated line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(asdict(result)) + "\n")

    def remove(self) -> None:
        """Remove the journal, once the evaluation is saved or starts over."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # others may be unfinished
            self.path.parent.rmdir()


def last_run(folder: Path, question_set: str, keys: Collection[str]) -> Assessment | None:
    """Return the run among the last ones of a question set that shares most questions, the newest of equals; None if
    none shares any.
    """
    runs = sorted(folder.glob("*/evaluation.json"), key=lambda path: path.parent.name, reverse=True)
    best: Assessment | None = None
    most = looked_at = 0
    for path in runs:
        run = _load(path)
        if run is None or run.setup.question_set != question_set:
            continue
        common = len({result.key for result in run.results} & set(keys))
        if common > most:
            best, most = run, common
        looked_at += 1
        if most == len(keys) or looked_at == LOOKED_AT:
            break
    return best


def check_folder(folder: Path) -> None:
    """Raise ConfigurationError if evaluations can't be saved, before anything is asked and paid for."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder.", remedy="Name another one.")
    folder.mkdir(parents=True, exist_ok=True)


def save(folder: Path, assessment: Assessment) -> Path:
    """Write an evaluation as JSON and as a page into a folder of its own, and return the folder."""
    place = _new_folder(folder, assessment.setup.question_set)
    page = assessment_page(assessment)
    (place / "evaluation.html").write_text(page, encoding="utf-8", errors="replace")
    (place / "evaluation.json").write_text(json.dumps(assessment.to_json(), indent=2), encoding="utf-8")
    return place


def _new_folder(folder: Path, question_set: str) -> Path:
    name = re.sub(r"[^\w-]+", "-", Path(question_set).stem).strip("-")[:60] or "questions"
    started = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    for number in count(1):
        path = folder / (started if number == 1 else f"{started}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        break
    return path


def _load(path: Path) -> Assessment | None:
    """Load an evaluation; None if it comes from another version of Lore or is something else."""
    try:
        return Assessment.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ConfigurationError):
        return None
