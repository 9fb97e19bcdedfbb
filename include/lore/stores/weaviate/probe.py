"""What a Weaviate server and the key for it can do: for `lore doctor`. Nothing is left behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from lore.errors import StoreError
from lore.stores.weaviate.connection import WeaviateConnection
from lore.stores.weaviate.errors import is_missing
from lore.stores.weaviate.layout import Layout, create
from lore.stores.weaviate.schema import STATE, Shape


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found. `refused` is what the server said to a write, "" where it took it, and `remedy` what to do."""

    version: tuple[int, ...]
    ready: bool
    refused: str = ""
    remedy: str = ""


def probe(connection: WeaviateConnection, prefix: str) -> Probe:
    """Ask for version and readiness, read, then make a collection below `prefix`, write into it and remove it.

    Raises StoreError when the server cannot be reached, does not take the key at all, or keeps from it what a question
    reads.
    """
    with connection.errors("look at"):
        client = connection.client()
        version, ready = connection.version(), client.is_ready()
    with connection.errors("read"):
        alias = client.alias.get(alias_name=f"{prefix}Chunks")
        for read in (f"{prefix}State", f"{prefix}Documents", alias.collection if alias else f"{prefix}Chunks_1"):
            _read(client, read)
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
        said = error.message.rpartition(f"{connection.address}: ")[2].rstrip(".")
        return Probe(version, ready, said.replace(name, f"{prefix}*"), error.remedy)
    return Probe(version, ready)


def _read(client: Any, name: str) -> None:
    """Read from a collection as a question does. One that is not there is asked for, too: rights go by names."""
    from weaviate.exceptions import WeaviateQueryError

    client.collections.exists(name)
    try:
        client.collections.use(name).query.fetch_objects(limit=1, return_properties=[])
    except WeaviateQueryError as error:
        if not is_missing(str(error)):
            raise
