"""What a Weaviate server and the key for it can do: for `lore doctor`. Nothing is left behind."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from include.lore.errors import StoreError
from include.lore.stores.weaviate.connection import WeaviateConnection
from include.lore.stores.weaviate.layout import Layout, create
from include.lore.stores.weaviate.schema import STATE, Shape


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found. `refused` is what the server said to a write, "" where it took it."""

    version: tuple[int, ...]
    ready: bool
    refused: str


def probe(connection: WeaviateConnection, prefix: str) -> Probe:
    """Ask for version and readiness, then make a collection below `prefix`, write into it and remove it.

    Raises StoreError when the server cannot be reached, does not take the key at all, or keeps which version is live
    from it.
    """
    with connection.errors("look at"):
        client = connection.client()
        version, ready = connection.version(), client.is_ready()
        client.alias.get(alias_name=f"{prefix}Chunks")  # without this right nothing can be read
    name = f"{prefix}Probe_{uuid4().hex}"
    try:
        with connection.errors("write to"):
            client.collections.delete(name)  # first, so that a key that may not delete leaves nothing behind
            create(client, Layout(name, STATE), Shape())
            try:
                client.collections.use(name).data.insert({"key": "probe", "value": ""})
            finally:
                client.collections.delete(name)
    except StoreError as error:
        return Probe(version, ready, error.message)
    return Probe(version, ready, "")
