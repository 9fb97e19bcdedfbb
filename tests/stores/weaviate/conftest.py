"""One Weaviate server for all tests, and an index of its own for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from tests.servers.weaviate import Address, client_of, remove, running


@pytest.fixture(scope="session")
def weaviate_server() -> Iterator[Address]:
    with running() as address:
        yield address


@pytest.fixture
def weaviate_index(weaviate_server: Address) -> Iterator[Address]:
    """The address of an index that does not exist yet; everything below its prefix is removed afterwards."""
    address = weaviate_server.but(prefix=f"T{uuid4().hex}_")
    yield address
    remove(address)


@pytest.fixture
def reader_key(weaviate_index: Address) -> Iterator[str]:
    """The key of a user with the rights of the key that asks in docs/production.md, on the index of this test."""
    from weaviate.classes.rbac import Permissions

    below = f"{weaviate_index.prefix}*"
    rights = [
        Permissions.collections(collection=below, read_config=True),
        Permissions.data(collection=below, read=True),
        Permissions.alias(alias=below, collection=below, read=True),
    ]
    with key_with(weaviate_index, rights) as key:
        yield key


@pytest.fixture
def writer_key(weaviate_index: Address) -> Iterator[str]:
    """The key of a user with the rights of the key that syncs in docs/production.md, on the index of this test."""
    from weaviate.classes.rbac import Permissions

    below = f"{weaviate_index.prefix}*"
    rights = [
        Permissions.collections(collection=below, create_collection=True, read_config=True, delete_collection=True),
        Permissions.data(collection=below, create=True, read=True, update=True, delete=True),
        Permissions.alias(alias=below, collection=below, create=True, read=True, update=True),
    ]
    with key_with(weaviate_index, rights) as key:
        yield key


@contextmanager
def key_with(address: Address, rights: list[Any]) -> Iterator[str]:
    name = f"user_{uuid4().hex}"
    with client_of(address) as client:
        client.roles.create(role_name=name, permissions=rights)
        key = client.users.db.create(user_id=name)
        client.users.db.assign_roles(user_id=name, role_names=name)
        yield key
        client.users.db.delete(user_id=name)
        client.roles.delete(role_name=name)
