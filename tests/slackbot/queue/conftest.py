"""A workspace with processes to kill, and one with processes to hold back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lore.records.records import Records

from tests.slackbot.queue.house import House
from tests.slackbot.queue.processes import (
    World,
)


@pytest.fixture
def world(records: Records) -> World:
    return World(records)


@pytest.fixture
def house(records: Records) -> Iterator[House]:
    opened = House(records)
    yield opened
    opened.gate.open()
