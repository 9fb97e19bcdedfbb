"""The source `stackoverflow`: questions of a Stack Exchange site with their answers, through its API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lore.declarations import StackOverflowDeclaration
from lore.errors import ConversionError, SourceError
from lore.sources.cursors import NON_SELECTING_KEYS, invalid_cursor, selection_digest
from lore.sources.stackoverflow.api import ApiPage, StackExchangeAccess, StackExchangeApi
from lore.sources.stackoverflow.posts import (
    StackAnswer,
    StackQuestion,
    answer_from_api,
    is_wanted,
    question_document,
    question_from_api,
)
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["StackOverflowSource"]

OVERLAP = 120
"""Seconds that every read repeats: the API caches, so changes appear late."""
QUESTIONS_PER_CALL = 60
"""Questions in one call for answers: few enough that most such lists have one page of 100."""
DAY = 86_400


class StackOverflowSource:
    """One document for each question, oldest activity first, so that an interrupted read continues.

    Votes change no date. So everything is read again once the last complete read is `refresh_days` old.
    """

    def __init__(self, declaration: StackOverflowDeclaration, *, access: StackExchangeAccess | None = None) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._access = access or StackExchangeAccess()

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield, in batches, the questions with activity since the cursor (None: all). Raises SourceError."""
        now = int(self._access.retries.now())
        place = self._from_cursor(since, now) if since else None
        seen: set[tuple[int, int | None]] = set()
        with self._access.open(self._declaration.site) as api:
            if place is None:
                place = _ReadPosition(now)
                self._check_size(api)
            for tagged in self._declaration.tagged:
                known = place.recent
                for page in self._questions(api, tagged, place.reached.get(tagged), body=True):
                    place = place.at(tagged, page, now)
                    fresh = [one for one in self._wanted(page) if known.get(str(one.id)) != _activity(one)]
                    fresh = [one for one in fresh if (one.id, _activity(one)) not in seen]
                    seen.update((one.id, _activity(one)) for one in fresh)
                    yield self._batch(api, fresh, place)

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every selected question, at one call for each hundred."""
        seen: set[int] = set()
        with self._access.open(self._declaration.site) as api:
            self._check_size(api)
            for tagged in self._declaration.tagged:
                for page in self._questions(api, tagged, None, body=False):
                    fresh = [one.id for one in self._wanted(page) if one.id not in seen]
                    seen.update(fresh)
                    yield from (f"{self.id}:{number}" for number in fresh)

    def _check_size(self, api: StackExchangeApi) -> None:
        """Refuse a read of days before its first call, not after its thousandth."""
        total = sum(api.total("/questions", self._query(tagged)) for tagged in self._declaration.tagged)
        if total > self._declaration.max_questions:
            raise SourceError(
                f"{self.id} selects {total:,} questions; `max_questions` is {self._declaration.max_questions:,}.",
                remedy="Choose rarer tags, set `since`, or raise `max_questions`.",
            )

    def _query(self, tagged: str) -> dict[str, str | int]:
        first = self._earliest()
        bound = {} if first is None else {"min": first}
        return {"tagged": ";".join(tagged.split()), "sort": "activity", **bound}

    def _earliest(self) -> int | None:
        day = self._declaration.since
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) if day else None

    def _questions(self, api: StackExchangeApi, tagged: str, reached: int | None, *, body: bool) -> Iterator[ApiPage]:
        overlapped = None if reached is None else reached - OVERLAP
        start = max((time for time in (overlapped, self._earliest()) if time is not None), default=None)
        query = self._query(tagged) | ({"filter": "withbody"} if body else {})
        return api.walk("/questions", query, name="question_id", time="last_activity_date", start=start)

    def _wanted(self, page: ApiPage) -> list[StackQuestion]:
        questions = (question_from_api(item) for item in page.items)
        return [one for one in questions if one and is_wanted(one, self._declaration)]

    def _batch(self, api: StackExchangeApi, questions: Sequence[StackQuestion], place: _ReadPosition) -> Batch:
        documents: list[Document] = []
        failures: list[Failure] = []
        for start in range(0, len(questions), QUESTIONS_PER_CALL):
            some = questions[start : start + QUESTIONS_PER_CALL]
            answers = self._answers(api, some)
            for question in some:
                try:
                    documents.append(question_document(question, answers.get(question.id, ()), self._declaration))
                except ConversionError as error:
                    failures.append(Failure(f"{self.id}:{question.id}", error.message))
        return Batch(tuple(documents), self._to_cursor(place), failures=tuple(failures))

    def _answers(self, api: StackExchangeApi, questions: Sequence[StackQuestion]) -> dict[int, list[StackAnswer]]:
        """Return the answers of some questions; a question deleted since has none."""
        path = f"/questions/{';'.join(str(one.id) for one in questions)}/answers"
        found: dict[int, list[StackAnswer]] = {}
        query: dict[str, str | int] = {"sort": "creation", "filter": "withbody"}
        for page in api.walk(path, query, name="answer_id", time="creation_date"):
            for answer in map(answer_from_api, page.items):
                if answer:
                    found.setdefault(answer.question_id, []).append(answer)
        return found

    def _to_cursor(self, place: _ReadPosition) -> Cursor | None:
        if not place.reached:
            return None
        return json.dumps(
            {
                "whole": place.whole,
                "reached": dict(place.reached),
                "recent": dict(place.recent),
                "selection": self._selection(),
            }
        )

    def _from_cursor(self, cursor: Cursor, now: int) -> _ReadPosition | None:
        """Return the position to continue from; None if all is to be read, after `refresh_days` or for another
        selection.
        """
        try:
            stored = json.loads(cursor)
            place = _ReadPosition(int(stored["whole"]), _integers(stored["reached"]), _integers(stored["recent"]))
            selection = stored["selection"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise invalid_cursor(self.id) from None
        days = self._declaration.refresh_days
        if selection != self._selection() or (days and now - place.whole > days * DAY):
            return None
        return place

    def _selection(self) -> str:
        without = {"max_questions", "refresh_days"} | NON_SELECTING_KEYS
        return selection_digest(self._declaration.model_dump_json(exclude=without))


@dataclass(frozen=True, slots=True)
class _ReadPosition:
    """The position of a read: the time of the last complete read (`whole`), and the activity reached for each of
    `tagged`.

    `recent` has the activity of questions so close to it that they come again.
    """

    whole: int
    reached: Mapping[str, int] = field(default_factory=dict)
    recent: Mapping[str, int] = field(default_factory=dict)

    def at(self, tagged: str, page: ApiPage, now: int) -> _ReadPosition:
        """Return the position after a page. A time in the future counts as now, as it would hide later changes."""
        if page.reached is None:
            return self
        reached = {**self.reached, tagged: max(self.reached.get(tagged, 0), min(page.reached, now))}
        border = min(reached.values()) - OVERLAP
        times = {str(item.get("question_id")): item.get("last_activity_date") for item in page.items}
        recent = {**self.recent, **{key: time for key, time in times.items() if isinstance(time, int)}}
        return replace(self, reached=reached, recent={key: time for key, time in recent.items() if time >= border})


def _activity(question: StackQuestion) -> int | None:
    return int(question.active.timestamp()) if question.active else None


def _integers(values: Mapping[str, Any]) -> dict[str, int]:
    return {key: int(value) for key, value in values.items()}
