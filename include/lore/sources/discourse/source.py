"""The source `discourse`: topics of a forum that runs Discourse, from the JSON beside its pages."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lore.declarations import DiscourseDeclaration
from lore.errors import ConversionError
from lore.sources.cursors import invalid_cursor, selection_digest
from lore.sources.discourse.forum import Forum, explain_discourse
from lore.sources.discourse.text import Topic
from lore.sources.http.client import HttpError
from lore.sources.http.json_client import JsonClient, Secrets
from lore.sources.http.retries import RetryPolicy
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["DiscourseSource"]

BATCH_TOPICS = 20
GONE = (404, 410)
"""Statuses of a topic deleted since it was listed."""
FORBIDDEN = 403
"""Status of a topic moved out of reach; of every topic, once access is withdrawn."""
DAY = 86_400


class DiscourseSource:
    """One document for each topic. The cursor holds a digest of each topic as lists show it.

    Topics that lists show differently are read again; those that lists no longer show are deleted. Other changes, such
    as edits, appear when everything is read again, after `refresh_days`.
    """

    def __init__(
        self,
        declaration: DiscourseDeclaration,
        *,
        secrets: Secrets | None = None,
        timeout: float = 60.0,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._secrets, self._timeout = secrets, timeout
        self._retries = retries or RetryPolicy()
        self._listed: set[int] | None = None

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield, in batches, the new and changed topics since the cursor (None: all). Raises SourceError."""
        state = self._from_cursor(since) if since else None
        marks, whole = state or ({}, int(self._retries.now()))
        self._listed = None
        with self._open() as api:
            forum = Forum(api, self._declaration)
            topics = forum.topics()
            deleted = tuple(f"{self.id}:{number}" for number in marks if number not in topics)
            marks = {number: mark for number, mark in marks.items() if number in topics}
            fresh = [topic for topic in topics.values() if marks.get(topic.id) != topic.mark]
            fresh.sort(
                key=lambda topic: (topic.bumped, topic.id)
            )  # the stablest first, so that an interrupted read rarely repeats
            for start in range(0, max(1, len(fresh)), BATCH_TOPICS):
                batch = self._batch(forum, fresh[start : start + BATCH_TOPICS], topics, marks)
                cursor = json.dumps({"whole": whole, "marks": marks, "selection": self._selection()})
                yield Batch(batch.documents, cursor, deleted if start == 0 else (), batch.failures)
        self._listed = set(topics)

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every selected topic: from the read just before, else from the current lists."""
        listed, self._listed = self._listed, None
        if listed is None:
            with self._open() as api:
                listed = set(Forum(api, self._declaration).topics())
        yield from (f"{self.id}:{number}" for number in listed)

    def _open(self) -> JsonClient:
        url = self._declaration.url
        return JsonClient(
            url,
            secrets=self._secrets,
            timeout=self._timeout,
            retries=self._retries,
            explain=explain_discourse,
            remedies={
                403: f"If {url} isn't public, set an API key for it in LORE_API_HEADERS.",
                404: f"Check that {url} is the address of a Discourse forum.",
            },
        )

    def _batch(self, forum: Forum, fresh: list[Topic], topics: dict[int, Topic], marks: dict[int, str]) -> Batch:
        """Read topics; removes deleted ones from `topics`, and adds the digests of those read to `marks`."""
        documents: list[Document] = []
        failures: list[Failure] = []
        for topic in fresh:
            try:
                documents.append(forum.document(topic))
            except HttpError as error:
                if error.status in GONE:
                    del topics[topic.id]
                elif error.status == FORBIDDEN:
                    failures.append(Failure(f"{self.id}:{topic.id}", str(error)))
                else:
                    raise
                continue
            except ConversionError as error:
                failures.append(Failure(f"{self.id}:{topic.id}", error.message))
                continue
            marks[topic.id] = topic.mark
        return Batch(tuple(documents), failures=tuple(failures))

    def _from_cursor(self, cursor: Cursor) -> tuple[dict[int, str], int] | None:
        """Return the digests of the topics read, and the time of the complete read; None if all is to be read."""
        try:
            stored = json.loads(cursor)
            marks = {int(number): str(mark) for number, mark in stored["marks"].items()}
            whole, selection = int(stored["whole"]), stored["selection"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise invalid_cursor(self.id) from None
        days = self._declaration.refresh_days
        if selection != self._selection() or (days and self._retries.now() - whole > days * DAY):
            return None
        return marks, whole

    def _selection(self) -> str:
        chosen = {"url", "categories", "solved_only", "max_posts", "audiences"}
        return selection_digest(self._declaration.model_dump_json(include=chosen))
