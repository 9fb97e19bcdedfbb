"""Imports follow use: a command loads the modules of its own journey, and no package that it can do without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Lore, environment
from tests.cli.test_process import ROOT

CODE = """
import json, sys
from lore.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
names = {".".join(name.split(".")[:2]) if name.startswith("lore.") else name.partition(".")[0] for name in sys.modules}
print(json.dumps(sorted(names)), file=sys.stderr)
"""


def loaded(knowledge: Path, cache: Path, *arguments: str) -> set[str]:
    """Modules of Lore, and packages, that a command has loaded in its own process."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=knowledge,
        env={**os.environ, **environment(knowledge, cache), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_asking_loads_nothing_of_the_ingest_journey(lore: Lore, knowledge: Path, cache: Path) -> None:
    assert lore("sync", "--all").exit_code == 0
    modules = loaded(knowledge, cache, "ask", "How do I rotate an API key?")
    assert {"lore.query", "lore.stores", "lancedb"} <= modules
    unwanted = {"lore.ingest", "lore.sources", "lore.evaluation", "lore.slackbot", "lore.orchestration", "airflow"}
    assert not modules & (unwanted | {"fsspec", "upath", "langchain", "openai", "weaviate", "semantic_text_splitter"})


def test_listing_sources_loads_neither_models_nor_the_question_journey(
    lore: Lore, knowledge: Path, cache: Path
) -> None:
    assert lore("sync", "--all").exit_code == 0
    modules = loaded(knowledge, cache, "sources")
    assert "lore.declarations" in modules
    assert not modules & {"lore.query", "lore.models", "lore.ingest", "lore.records", "numpy", "lancedb", "sqlalchemy"}


def test_a_sync_loads_nothing_of_the_question_journey(knowledge: Path, cache: Path) -> None:
    modules = loaded(knowledge, cache, "sync", "--all")
    assert {"lore.ingest", "lore.sources"} <= modules
    assert not modules & {
        "lore.query",
        "lore.evaluation",
        "sqlalchemy",
    }  # leases are in the records, if any


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pandas", "lance_namespace_urllib3_client", "overrides"])
def test_a_program_that_imports_lore_keeps_the_packages_that_the_command_skips(package: str) -> None:
    code = f"import lore, lancedb, importlib.util, sys; print(importlib.util.find_spec({package!r}) is not None)"
    code += f"; module = sys.modules.get({package!r}); print(module is None or module.__file__ is not None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split()[-1] == "True", done.stderr
