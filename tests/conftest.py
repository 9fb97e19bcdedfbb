"""What every test may ask for."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real material; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("LORE_TEST_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the shared test data is absent; point LORE_TEST_SHARED_DATA at it")
    return folder


@pytest.fixture(scope="session")
def minilm_graph(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the local model's graph and nothing else: built once for all workers and all runs.

    A change of the code that builds it builds it anew. The folder is empty where the weights are not installed.
    """
    from lore.errors import ConfigurationError
    from lore.models import local, minilm

    code = b"".join(Path(str(module.__file__)).read_bytes() for module in (local, minilm))
    built = pytestconfig.cache.mkdir("minilm") if pytestconfig.cache else tmp_path_factory.mktemp("minilm")
    folder = built / hashlib.sha256(code).hexdigest()[:16]
    with FileLock(built / "lock"):
        if not any(folder.glob("*.graph")):
            for outdated in built.iterdir():
                shutil.rmtree(outdated, ignore_errors=True)
            try:
                local.LocalEmbedder(folder, model_dir=None, threads=1).embed_query("any text")
            except ConfigurationError:
                folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def model_cache(minilm_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of this run (`LORE_CACHE_DIR`) that has the local model's graph already."""
    folder = tmp_path_factory.mktemp("cache")
    for graph in minilm_graph.iterdir():
        (folder / graph.name).symlink_to(graph)
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser that sees pages as readers do."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no browser: install chromium to see pages as their readers do")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
