"""What is recorded of an index in Weaviate: its versions and sources, and which version is live.

Each version has an entry of its own, so that two processes that write of different ones do not overwrite each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from lore.errors import IndexMismatchError, StoreError
from lore.stores.manifest import Manifest, version_from_json, version_to_json
from lore.stores.weaviate.errors import is_missing
from lore.stores.weaviate.rows import Row, equal, insert, read
from lore.stores.weaviate.schema import key_of, state_properties
from lore.types import IndexVersion

if TYPE_CHECKING:
    from lore.stores.weaviate.collections import Collection
    from lore.stores.weaviate.connection import WeaviateConnection

SOURCE, VERSION, DROPPED = "source", "version", "dropped"
"""Kinds of entries in the collection of states. A number that was dropped is not given again, so that whoever still
has that version in mind never takes another one for it."""

EARLIER_MANIFEST, NO_KIND = "manifest", "no such prop"
"""The entry that an earlier Lore made, and what the server says of its collection, which had entries of one kind."""

RECENT_SECONDS = 2.0
"""What is recorded of a version hardly changes, and reading it takes a question as long as asking which is live."""

MAKING_SECONDS, MAKING_PAUSE_SECONDS = 2.0, 0.1
"""How long the collection of states may be missing beside others: an index that is being made gets it last."""

SET_UP_ANEW = "Set LORE_WEAVIATE_PREFIX to a new one and run `lore sync --all`"
LOST = f"{SET_UP_ANEW}; or remove the other collections of this prefix and sync anew."


class _GoneError(StoreError):
    """A collection that must be there is not."""


class WeaviateRecords:
    """The collection of states and the alias of one index; looking makes nothing."""

    def __init__(self, connection: WeaviateConnection, *, prefix: str) -> None:
        self.connection = connection
        self.prefix = prefix
        self.alias = f"{prefix}Chunks"
        self.where = f"{self.alias} at {connection.address}"
        self._state = f"{prefix}State"
        self._checked = False
        self._recent: tuple[float, Manifest] | None = None

    def live(self) -> int | None:
        """The number of the version that the alias points to; None where there is no alias."""
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
                f"The alias {self.where} points to {found.collection}, which is no version of this index.",
                remedy=f"Remove the alias, or: {SET_UP_ANEW}.",
            )
        return int(match[1])

    def point(self, number: int) -> None:
        """Make the alias point to a version: at every moment it points to the one before or to this one."""
        target = f"{self.alias}_{number}"
        alias = self.connection.client().alias
        if not alias.update(alias_name=self.alias, new_target_collection=target):
            unless_there(partial(alias.create, alias_name=self.alias, target_collection=target))

    def point_if_lost(self, number: int) -> None:
        """Make the alias point to a version where there is none, or where it points to nothing."""
        live = self.live()
        if live is None or (live != number and not self.exists(f"{self.alias}_{live}")):
            self.point(number)

    def manifest(self) -> Manifest | None:
        """What any process recorded last; None where nothing was written yet, or all was removed.

        An index that is still being made, or was restored without its alias, or whose alias was left by one that was
        removed, is read at the version promoted last.
        """
        for _ in range(2):  # a version may be promoted, and the one before dropped, between the two looks
            live = self.live()
            if live is None and not self.exists(self._state):
                return None
            versions = self._versions()
            if not versions:
                return None
            if live is None:
                live = _promoted_last(versions)
            if any(version.number == live for version in versions):
                return Manifest(live, versions)
        self._check_earlier()
        if not self.exists(f"{self.alias}_{live}"):
            return Manifest(_promoted_last(versions), versions)
        raise StoreError(
            f"The alias {self.where} points to version {live}, of which nothing is recorded.",
            remedy=f"Restore the index from a backup, or: {SET_UP_ANEW}.",
        )

    def _versions(self) -> tuple[IndexVersion, ...]:
        """What is recorded; nothing where all was removed."""
        until = monotonic() + MAKING_SECONDS
        while True:
            try:
                return tuple(self.recorded())
            except _GoneError:
                if self._is_removed():
                    return ()
                if monotonic() > until:
                    raise
            sleep(MAKING_PAUSE_SECONDS)

    def recent(self) -> Manifest | None:
        """The manifest as `manifest` gives it, but for what was recorded of the versions in the last seconds: for
        questions, which ask anew each time only which version is live.

        An index that was removed and made anew under the same prefix is noticed that much later.
        """
        held = self._recent
        if held is not None and monotonic() - held[0] < RECENT_SECONDS and self.live() == held[1].live:
            return held[1]
        started, found = monotonic(), self.manifest()
        self._recent = None if found is None else (started, found)
        return found

    def forget(self) -> None:
        """Look anew next time at what `recent` remembers."""
        self._recent = None

    def held(self) -> Manifest:
        """The manifest of an index that must be there. Raises StoreError."""
        manifest = self.manifest()
        if manifest is None:
            raise StoreError(f"There is no index {self.where} yet.", remedy="Run: lore sync --all")
        return manifest

    def save(self, version: IndexVersion) -> None:
        """Record a version in the place of what was recorded of it."""
        self.record(VERSION, str(version.number), json.dumps(version_to_json(version)))

    def retire(self, number: int) -> None:
        """Take a version out of what is recorded, but for its number."""
        self.record(DROPPED, str(number), "")
        self.handle(self._state).data.delete_by_id(key_of(f"{VERSION}:{number}"))

    def record(self, kind: str, name: str, value: str) -> None:
        """Write an entry of the collection of states. Raises StoreError where the server refuses it."""
        properties = state_properties(kind, name, value)
        refused = insert(self.handle(self._state), [Row(name, key_of(properties["key"]), properties)])
        if refused:
            what = f"the state of source {name!r}" if kind == SOURCE else f"version {name}"
            raise self.connection.explain(f"record {what} in", refused[0].reason)

    def dropped(self) -> set[int]:
        """The numbers of versions that were dropped."""
        return {int(row["key"].partition(":")[2]) for row in self.entries(DROPPED)}

    def recorded(self) -> list[IndexVersion]:
        """What is recorded of each version, whatever the alias points to."""
        try:
            return [version_from_json(json.loads(row["value"])) for row in self.entries(VERSION)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"What is recorded of the versions of {self.where} cannot be read ({type(error).__name__}).",
                remedy=f"Restore the index from a backup, or: {SET_UP_ANEW}.",
            ) from None

    def entries(self, kind: str) -> list[Any]:
        """The entries of a kind in the collection of states, as properties."""
        from weaviate.exceptions import WeaviateQueryError

        where, state = equal("kind", [kind]), self.handle(self._state)
        try:
            rows = read(state, ["key", "kind", "value"], where, lambda row: row.get("kind") == kind)
            return [row.properties for row in rows]
        except WeaviateQueryError as error:
            if is_missing(str(error)):
                raise self.gone(self._state) from None
            if NO_KIND in str(error):
                self._check_earlier()
            raise

    def exists(self, name: str) -> bool:
        """Whether there is a collection of that name."""
        return bool(self.connection.client().collections.exists(name))

    def number_of(self, name: str) -> int | None:
        """The version whose own the collection of that name is; None where it is no version's."""
        match = re.fullmatch(rf"{re.escape(self.prefix)}(?:Chunks|Marks)_(\d+)", name)
        return int(match[1]) if match else None

    def handle(self, name: str) -> Collection:
        """A collection, read and written at a majority of the replicas, so that what was written is read back."""
        from weaviate.classes.config import ConsistencyLevel

        return self.connection.client().collections.use(name).with_consistency_level(ConsistencyLevel.QUORUM)

    def gone(self, name: str) -> StoreError:
        """The error for a collection that must be there."""
        return _GoneError(f"The collection {name} at {self.connection.address} is gone.", remedy=LOST)

    def _is_removed(self) -> bool:
        """Whether nothing is left of the index but its alias, which goes with no collection."""
        there = self.connection.client().collections.list_all(simple=True)
        shared = self._state, f"{self.prefix}Documents"
        return not any(name in shared or self.number_of(name) is not None for name in there)

    def _check_earlier(self) -> None:
        """Raise IndexMismatchError for an index of a Lore that knew one version."""
        if self.handle(self._state).query.fetch_object_by_id(key_of(EARLIER_MANIFEST)) is not None:
            raise IndexMismatchError(
                f"The index {self.where} was made by an earlier Lore, without a manifest of versions.",
                remedy=f"{SET_UP_ANEW}; then remove the collections of the earlier one.",
            )


def _promoted_last(versions: Sequence[IndexVersion]) -> int:
    return max(versions, key=lambda one: (one.promoted_at is not None, one.promoted_at, one.number)).number


def unless_there(make: Callable[[], object]) -> bool:
    """Make something that another process may make at the same time; whether it was this one that did."""
    from weaviate.exceptions import UnexpectedStatusCodeError

    try:
        make()
    except UnexpectedStatusCodeError as error:
        if error.status_code != 422 or "already exists" not in str(error):
            raise
        return False
    return True
