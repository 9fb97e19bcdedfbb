"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real material; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("LORE_TEST_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the shared test data is absent; point LORE_TEST_SHARED_DATA at it")
    return folder
