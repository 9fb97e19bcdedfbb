"""Duplicate pages on the server store: a sync hides and shows them in every version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.finish.duplicates_setup import BUDGET, House, hide_and_show_in_two_versions
from tests.servers.weaviate import Address
from tests.stores.weaviate.indexes import open_at, versions_at

pytestmark = pytest.mark.xdist_group("weaviate")


def test_versions_hide_and_show_by_themselves(weaviate_index: Address, tmp_path: Path) -> None:
    house = House(tmp_path)
    house.store = open_at(weaviate_index, house.recipe(BUDGET))
    house.versions = versions_at(weaviate_index)
    hide_and_show_in_two_versions(house)
