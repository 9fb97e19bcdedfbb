"""The fake embedder of other tests keeps the contract too."""

from __future__ import annotations

import pytest
from lore.protocols import Embedder

from tests.contracts.embedder import EmbedderContract
from tests.fakes import FakeEmbedder


class TestFakeEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return FakeEmbedder(dimensions=1024)  # so that few words share a dimension
