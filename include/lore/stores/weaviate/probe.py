"""A probe of a Weaviate server and key for `lore doctor`. It leaves nothing behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from lore.errors import StoreError
from lore.stores.weaviate.collections.layout import CollectionLayout, create
from lore.stores.weaviate.collections.schema import STATE, CollectionOptions
from lore.stores.weaviate.server.client_errors import is_missing
from lore.stores.weaviate.server.connection import WeaviateConnection


@dataclass(frozen=True, slots=True)
class ServerProbe:
    """The findings. `refused` is the server's reply to a rejected write, "" if it was accepted."""

    version: tuple[int, ...]
    ready: bool
    refused: str = ""
    remedy: str = ""


def probe(connection: WeaviateConnection, prefix: str) -> ServerProbe:
    """Check version and readiness, read, then create, fill and delete a collection below `prefix`.

    Raises StoreError if the server can't be reached, rejects the key, or denies a read that answering needs.
    """
    with connection.errors("inspect"):
        client = connection.client()
        version, ready = connection.version(), client.is_ready()
    with connection.errors("read"):
        alias = client.alias.get(alias_name=f"{prefix}Chunks")
        for name in (f"{prefix}State", f"{prefix}Documents", alias.collection if alias else f"{prefix}Chunks_1"):
            _read(client, name)
    name = f"{prefix}Probe_{uuid4().hex}"
    try:
        with connection.errors("write to"):
            client.collections.delete(name)  # first, so that a key without the right to delete leaves nothing behind
            create(client, CollectionLayout(name, STATE), CollectionOptions())
            try:
                client.collections.use(name).data.insert({"key": "probe", "value": ""})
            finally:
                client.collections.delete(name)
    except StoreError as error:
        reply = error.message.rpartition(f"{connection.address}: ")[2].rstrip(".")
        return ServerProbe(version, ready, reply.replace(name, f"{prefix}*"), error.remedy)
    return ServerProbe(version, ready)


def _read(client: Any, name: str) -> None:
    """Read from a collection as a question does, even from a missing one: rights are granted by name."""
    from weaviate.exceptions import WeaviateQueryError

    client.collections.exists(name)
    try:
        client.collections.use(name).query.fetch_objects(limit=1, return_properties=[])
    except WeaviateQueryError as error:
        if not is_missing(str(error)):
            raise
