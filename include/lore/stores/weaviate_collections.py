"""The collections of one index in Weaviate: opened to read, made to write, and held against what the code needs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from include.lore.errors import IndexMismatchError, StoreError
from include.lore.stores.weaviate_layout import Layout, create, deviations, differences
from include.lore.stores.weaviate_schema import (
    CHUNKS,
    DOCUMENTS,
    SCHEMA_NUMBER,
    STATE,
    Shape,
    key_of,
)

if TYPE_CHECKING:
    from include.lore.stores.weaviate_connection import WeaviateConnection

Collection: TypeAlias = Any
"""A `weaviate.collections.Collection`, whose own types are generic over what is stored."""

INDEX_VERSION = 1
"""Which chunk collection the alias points to; documents and states are shared by all versions."""

MANIFEST = "manifest"
SET_UP_ANEW = "Set LORE_WEAVIATE_PREFIX to a new one and run `lore sync --all`"
LOST = f"{SET_UP_ANEW}; or remove the other collections of this prefix and sync anew."


@dataclass(frozen=True, slots=True)
class Collections:
    """The collections of an index that is there and fits."""

    state: Collection
    documents: Collection
    chunks: Collection


class WeaviateIndex:
    """Finds the collections on first use; only a write makes them. The manifest is made last: where it is, all is."""

    def __init__(
        self, connection: WeaviateConnection, *, prefix: str, embedder_name: str, dimensions: int, shape: Shape
    ) -> None:
        self._connection = connection
        self._embedder_name = embedder_name
        self._dimensions = dimensions
        self._shape = shape
        self._state = Layout(f"{prefix}State", STATE)
        self._documents = Layout(f"{prefix}Documents", DOCUMENTS)
        self._chunks = Layout(f"{prefix}Chunks_{INDEX_VERSION}", CHUNKS, vectors=True)
        self._alias = f"{prefix}Chunks"
        self._open: Collections | None = None
        self._writable = False
        self._opening = threading.RLock()

    def collections(self) -> Collections | None:
        """The collections, or None where nothing was written yet; nothing is made. Raises IndexMismatchError.

        Call it, and what follows it, below `WeaviateConnection.errors` with `forget`.
        """
        with self._opening:
            if self._open is None and self._connection.client().collections.exists(self._state.name):
                handles = self._handles()
                self._connection.check_version()
                if self._fits(handles):
                    self._check_schema(writing=False)
                    self._open = handles
            return self._open

    def writing(self) -> Collections:
        """The collections, made where they are not. Another process may have removed them, so look every time."""
        with self._opening:
            held = self._open if self._writable else None
            if held is None or not self._is_there(held):
                held = self._make()
                self._open, self._writable = held, True
            return held

    def forget(self) -> None:
        """Look anew next time: what was open is gone."""
        self._open, self._writable = None, False

    def _handles(self) -> Collections:
        """Handles that read and write at a majority of the replicas, so that what was written is read back."""
        from weaviate.classes.config import ConsistencyLevel

        names = (self._state.name, self._documents.name, self._alias)
        use = self._connection.client().collections.use
        return Collections(*(use(name).with_consistency_level(ConsistencyLevel.QUORUM) for name in names))

    def _is_there(self, held: Collections) -> bool:
        """Without this a write into a collection that is gone would make one of the server's own invention."""
        exists = self._connection.client().collections.exists
        return exists(self._chunks.name) and exists(self._documents.name) and self._fits(held)

    def _make(self) -> Collections:
        client = self._connection.client()
        self._connection.check_version()
        handles = self._handles()
        if client.collections.exists(self._state.name):
            self._fits(handles)  # before anything is made below another embedder's name
        for spec in (self._documents, self._chunks, self._state):
            if not client.collections.exists(spec.name):
                _unless_there(partial(create, client, spec, self._shape))
        if not client.alias.exists(alias_name=self._alias):
            _unless_there(partial(client.alias.create, alias_name=self._alias, target_collection=self._chunks.name))
        self._check_schema(writing=True)
        if not self._fits(handles):
            row = {"key": MANIFEST, "value": json.dumps(self._manifest())}
            _unless_there(partial(handles.state.data.insert, row, uuid=key_of(MANIFEST)))
            self._fits(handles)
        return handles

    def _manifest(self) -> dict[str, object]:
        return {
            "embedder": self._embedder_name,
            "dimensions": self._dimensions,
            "schema": SCHEMA_NUMBER,
            "created_at": datetime.now(UTC).isoformat(),
        }

    def _fits(self, handles: Collections) -> bool:
        """Whether there is a manifest. Raises IndexMismatchError for one of another embedder or schema."""
        row = handles.state.query.fetch_object_by_id(key_of(MANIFEST))
        if row is None:
            return False
        manifest = json.loads(row.properties["value"])
        stored = (manifest.get("embedder"), manifest.get("dimensions"), manifest.get("schema"))
        if stored != (self._embedder_name, self._dimensions, SCHEMA_NUMBER):
            raise IndexMismatchError(
                f"The index {self._alias} at {self._connection.address} was built with embedder {stored[0]!r}, "
                f"{stored[1]} dimensions, schema {stored[2]}; now chosen are embedder {self._embedder_name!r}, "
                f"{self._dimensions} dimensions, schema {SCHEMA_NUMBER}. Nothing was written.",
                remedy=f"Choose the embedder that built it again (LORE_EMBEDDER), or: {SET_UP_ANEW}.",
            )
        return True

    def _check_schema(self, *, writing: bool) -> None:
        """Raise IndexMismatchError that names each field that does not fit. Settings are compared by writers only."""
        client, wrong = self._connection.client(), []
        for spec in (self._state, self._documents, self._chunks):
            if not client.collections.exists(spec.name):
                raise StoreError(f"The collection {spec.name} at {self._connection.address} is gone.", remedy=LOST)
            config = client.collections.use(spec.name).config.get()
            found = differences(config, spec)
            if writing and not found:
                found = deviations(config, spec, self._shape)
            wrong += [f"{spec.name}: {difference}" for difference in found]
        if wrong:
            raise IndexMismatchError(
                f"The index at {self._connection.address} is not laid out as needed: {'; '.join(wrong)}.",
                remedy=f"{SET_UP_ANEW}, or set the LORE_WEAVIATE_ settings back to what the index was made with.",
            )


def _unless_there(make: Callable[[], object]) -> None:
    """Make something that another process may make at the same time."""
    from weaviate.exceptions import UnexpectedStatusCodeError

    try:
        make()
    except UnexpectedStatusCodeError as error:
        if error.status_code != 422 or "already exists" not in str(error):
            raise
