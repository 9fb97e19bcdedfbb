"""Whole syncs of every kind, each held to the same contract."""

from __future__ import annotations

import pytest

from tests.contracts.sync import SyncContract
from tests.sources.worlds import WORLDS


class TestSyncs(SyncContract):
    @pytest.fixture(params=WORLDS)
    def world(self, request, tmp_path):
        folder = tmp_path / "world"
        folder.mkdir()
        with WORLDS[request.param](folder) as world:
            yield world
