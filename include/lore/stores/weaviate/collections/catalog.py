"""The catalog of an index in Weaviate: records of its versions and sources, and the alias of the live version.

Each version has a record of its own, so that processes that write different ones do not overwrite each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from lore.errors import IndexMismatchError, StoreError
from lore.stores.manifest import IndexManifest, version_from_json, version_to_json
from lore.stores.weaviate.collections.schema import object_id, state_properties
from lore.stores.weaviate.objects.batches import NewObject, any_of, fetch_matching, insert
from lore.stores.weaviate.server.client_errors import is_missing
from lore.types import IndexVersion

if TYPE_CHECKING:
    from lore.stores.weaviate.objects.batches import Collection
    from lore.stores.weaviate.server.connection import WeaviateConnection

SOURCE, VERSION, DROPPED = "source", "version", "dropped"
"""Kinds of records. The number of a dropped version is never reused, so that no process mistakes a later version."""

EARLIER_MANIFEST, NO_KIND = "manifest", "no such prop"
"""The record that an earlier Lore made, and the server's reply about its collection, which had no kinds."""

RECENT_SECONDS = 2.0
"""The time for which questions reuse the records of versions: they hardly change, and reading them costs a call."""

CREATION_SECONDS, CREATION_PAUSE_SECONDS = 2.0, 0.1
"""Grace period for a missing state collection: a process that creates an index creates it last."""

NEW_INDEX = "Set LORE_WEAVIATE_PREFIX to a new prefix and run `lore sync --all`"
DAMAGED = f"{NEW_INDEX}; or remove the other collections of this prefix and sync again."


class _MissingCollectionError(StoreError):
    """A collection of an existing index is missing."""


class WeaviateCatalog:
    """The state collection and the alias of one index. Reading creates nothing."""

    def __init__(self, connection: WeaviateConnection, *, prefix: str) -> None:
        self.connection = connection
        self.prefix = prefix
        self.alias = f"{prefix}Chunks"
        self.where = f"{self.alias} at {connection.address}"
        self._state = f"{prefix}State"
        self._checked = False
        self._recent: tuple[float, IndexManifest] | None = None

    # -------------------------------------------------------------------------------------------------- live version

    def live(self) -> int | None:
        """The number of the version that the alias points to; None without an alias."""
        if not self._checked:
            self.connection.check_version()
            self._checked = True
        try:
            found = self.connection.client().alias.get(alias_name=self.alias)
        except KeyError:
            raise StoreError(
                f"The server at {self.connection.address} does not answer as Weaviate does.",
                remedy="Correct LORE_WEAVIATE_URL.",
            ) from None
        if found is None:
            return None
        match = re.fullmatch(rf"{re.escape(self.alias)}_(\d+)", found.collection)
        if match is None:
            raise StoreError(
                f"The alias {self.where} points to {found.collection}, which is not a version of this index.",
                remedy=f"Remove the alias, or: {NEW_INDEX}.",
            )
        return int(match[1])

    def set_live(self, number: int) -> None:
        """Point the alias to a version, in one step."""
        target = f"{self.alias}_{number}"
        alias = self.connection.client().alias
        if not alias.update(alias_name=self.alias, new_target_collection=target):
            create_if_absent(partial(alias.create, alias_name=self.alias, target_collection=target))

    def restore_alias(self, number: int) -> None:
        """Point the alias to a version if it is missing or points to a missing collection."""
        live = self.live()
        if live is None or (live != number and not self.exists(f"{self.alias}_{live}")):
            self.set_live(number)

    # ------------------------------------------------------------------------------------------------------ manifest

    def manifest(self) -> IndexManifest | None:
        """The current records of all processes; None for an index that was never written to, or was removed.

        Without a valid alias the version promoted last is live. That is so while an index is being created, after a
        restore without the alias, and when a removed index left its alias behind.
        """
        for _ in range(2):  # a promotion and a removal may happen between the two reads
            live = self.live()
            if live is None and not self.exists(self._state):
                return None
            versions = self._versions()
            if not versions:
                return None
            if live is None:
                live = _promoted_last(versions)
            if any(version.number == live for version in versions):
                return IndexManifest(live, versions)
        self._check_earlier()
        if not self.exists(f"{self.alias}_{live}"):
            return IndexManifest(_promoted_last(versions), versions)
        raise StoreError(
            f"The alias {self.where} points to version {live}, which has no record.",
            remedy=f"Restore the index from a backup, or: {NEW_INDEX}.",
        )

    def require_manifest(self) -> IndexManifest:
        """The manifest. Raises StoreError for an index that was never written to."""
        manifest = self.manifest()
        if manifest is None:
            raise StoreError(f"There is no index {self.where} yet.", remedy="Run: lore sync --all")
        return manifest

    def recent_manifest(self) -> IndexManifest | None:
        """The manifest with version records up to two seconds old; always asks the server which version is live.

        An index that is removed and created again under the same prefix is noticed that much later.
        """
        if self._recent is not None:
            read_at, manifest = self._recent
            if monotonic() - read_at < RECENT_SECONDS and self.live() == manifest.live:
                return manifest
        started, found = monotonic(), self.manifest()
        self._recent = None if found is None else (started, found)
        return found

    def invalidate(self) -> None:
        """Discard what `recent_manifest` remembers."""
        self._recent = None

    def _versions(self) -> tuple[IndexVersion, ...]:
        """The recorded versions; empty if the index was removed. Waits for an index that is being created."""
        until = monotonic() + CREATION_SECONDS
        while True:
            try:
                return tuple(self.recorded_versions())
            except _MissingCollectionError:
                if self._is_removed():
                    return ()
                if monotonic() > until:
                    raise
            sleep(CREATION_PAUSE_SECONDS)

    # ------------------------------------------------------------------------------------------------------- records

    def save(self, version: IndexVersion) -> None:
        """Write the record of a version."""
        self.record(VERSION, str(version.number), json.dumps(version_to_json(version)))

    def remove_record(self, number: int) -> None:
        """Remove the record of a version, but reserve its number."""
        self.record(DROPPED, str(number), "")
        self.collection(self._state).data.delete_by_id(object_id(f"{VERSION}:{number}"))

    def remove_source(self, source_id: str) -> None:
        """Remove the state of a source."""
        self.collection(self._state).data.delete_by_id(object_id(f"{SOURCE}:{source_id}"))

    def record(self, kind: str, name: str, value: str) -> None:
        """Write a record into the state collection. Raises StoreError if the server rejects it."""
        properties = state_properties(kind, name, value)
        rejected = insert(self.collection(self._state), [NewObject(name, object_id(properties["key"]), properties)])
        if rejected:
            subject = f"the state of source {name!r}" if kind == SOURCE else f"version {name}"
            raise self.connection.explain(f"record {subject} in", rejected[0].reason)

    def dropped_numbers(self) -> set[int]:
        """The numbers of dropped versions."""
        return {int(row["key"].partition(":")[2]) for row in self.records(DROPPED)}

    def recorded_versions(self) -> list[IndexVersion]:
        """The records of all versions, whatever the alias points to."""
        try:
            return [version_from_json(json.loads(row["value"])) for row in self.records(VERSION)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"Couldn't read the records of the versions of {self.where} ({type(error).__name__}).",
                remedy=f"Restore the index from a backup, or: {NEW_INDEX}.",
            ) from None

    def records(self, kind: str) -> list[Any]:
        """The records of a kind, as properties."""
        from weaviate.exceptions import WeaviateQueryError

        where, state = any_of("kind", [kind]), self.collection(self._state)
        try:
            rows = fetch_matching(state, ["key", "kind", "value"], where, lambda row: row.get("kind") == kind)
            return [row.properties for row in rows]
        except WeaviateQueryError as error:
            if is_missing(str(error)):
                raise self.missing_error(self._state) from None
            if NO_KIND in str(error):
                self._check_earlier()
            raise

    # --------------------------------------------------------------------------------------------------- collections

    def exists(self, name: str) -> bool:
        """True if there is a collection with this name."""
        return bool(self.connection.client().collections.exists(name))

    def version_number(self, name: str) -> int | None:
        """The version that a collection with this name belongs to; None if it belongs to none."""
        match = re.fullmatch(rf"{re.escape(self.prefix)}(?:Chunks|Marks)_(\d+)", name)
        return int(match[1]) if match else None

    def collection(self, name: str) -> Collection:
        """A collection, read and written at a majority of replicas, so that reads see earlier writes."""
        from weaviate.classes.config import ConsistencyLevel

        return self.connection.client().collections.use(name).with_consistency_level(ConsistencyLevel.QUORUM)

    def missing_error(self, name: str) -> StoreError:
        """The error for a missing collection of an existing index."""
        return _MissingCollectionError(f"The collection {name} at {self.connection.address} is gone.", remedy=DAMAGED)

    def _is_removed(self) -> bool:
        """True if nothing is left of the index but its alias, which outlives its collection."""
        names = self.connection.client().collections.list_all(simple=True)
        shared = self._state, f"{self.prefix}Documents"
        return not any(name in shared or self.version_number(name) is not None for name in names)

    def _check_earlier(self) -> None:
        """Raise IndexMismatchError for an index of an earlier Lore, which had one version only."""
        if self.collection(self._state).query.fetch_object_by_id(object_id(EARLIER_MANIFEST)) is not None:
            raise IndexMismatchError(
                f"An earlier Lore made the index {self.where}, without a manifest of versions.",
                remedy=f"{NEW_INDEX}; then remove the collections of the earlier index.",
            )


def _promoted_last(versions: Sequence[IndexVersion]) -> int:
    return max(versions, key=lambda one: (one.promoted_at is not None, one.promoted_at, one.number)).number


def create_if_absent(create: Callable[[], object]) -> bool:
    """Create something that another process may create at the same time; True if this call did."""
    from weaviate.exceptions import UnexpectedStatusCodeError

    try:
        create()
    except UnexpectedStatusCodeError as error:
        if error.status_code != 422 or "already exists" not in str(error):
            raise
        return False
    return True
