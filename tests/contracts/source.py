"""The contract of every source. Inherit it, and provide the fixture `source` and, if the source can change, `change`.

class TestMySource(SourceContract):
    @pytest.fixture
    def source(self): ...
"""

from __future__ import annotations

from itertools import islice
from urllib.parse import urlsplit

import pytest
from lore.protocols import Listable, Source
from lore.types import Batch, Cursor


def ids(batches: list[Batch]) -> list[str]:
    return [document.id for batch in batches for document in batch.documents]


def failed(batches: list[Batch]) -> list[str]:
    return [failure.document_id for batch in batches for failure in batch.failures]


def last_cursor(batches: list[Batch], before: Cursor | None = None) -> Cursor | None:
    """The cursor that a sync stores after these batches."""
    return next((batch.cursor for batch in reversed(batches) if batch.cursor is not None), before)


class SourceContract:
    """One suite for all sources; one with at least two batches tests most."""

    listable = True
    """True if the source can list what exists."""

    @pytest.fixture
    def source(self) -> Source:
        raise NotImplementedError

    @pytest.fixture
    def change(self):
        """A function that changes one document and returns its id; None for a source that can't change."""
        return

    def test_is_a_source(self, source):
        assert isinstance(source, Source)
        assert isinstance(source, Listable) == self.listable

    def test_ids_start_with_the_source_and_are_unique(self, source):
        found = ids(list(source.read(None)))
        assert found
        assert len(set(found)) == len(found)
        assert all(one.startswith(f"{source.id}:") and len(one) > len(source.id) + 1 for one in found)

    def test_every_document_says_where_it_is_from(self, source):
        for batch in source.read(None):
            for document in batch.documents:
                assert document.source_id == source.id
                assert document.text or document.data is not None
                assert document.updated_at is None or document.updated_at.tzinfo is not None

    def test_addresses_are_web_addresses_or_empty(self, source):
        for batch in source.read(None):
            for document in batch.documents:
                if document.url:
                    assert urlsplit(document.url).scheme in ("http", "https")
                    assert urlsplit(document.url).hostname
                    assert document.url.isascii()
                    assert " " not in document.url

    def test_two_reads_give_the_same(self, source):
        first, second = list(source.read(None)), list(source.read(None))
        assert [document for batch in first for document in batch.documents] == [
            document for batch in second for document in batch.documents
        ]

    def test_the_list_is_what_is_read_or_failed(self, source):
        if not self.listable:
            pytest.skip("this source does not list what exists")
        batches = list(source.read(None))
        listed = list(source.list_ids())
        assert len(set(listed)) == len(listed)
        assert set(listed) == set(ids(batches)) | set(failed(batches))

    def test_a_read_cut_anywhere_goes_on_without_loss(self, source):
        batches = list(source.read(None))
        for cut in range(1, len(batches) + 1):
            first = list(islice(source.read(None), cut))
            rest = list(source.read(last_cursor(first)))
            assert set(ids(first)) | set(ids(rest)) == set(ids(batches))

    def test_a_read_from_the_last_cursor_gives_what_changed(self, source, change):
        before = list(source.read(None))
        changed = change() if change else None
        after = list(source.read(last_cursor(before)))
        known = {document.id: document for batch in before for document in batch.documents}
        different = [doc.id for batch in after for doc in batch.documents if doc != known.get(doc.id)]
        assert different == ([changed] if changed else [])

    def test_the_cursor_never_goes_back(self, source):
        cursor = last_cursor(list(source.read(None)))
        assert last_cursor(list(source.read(cursor)), cursor) == cursor
