"""The project as a DAG bundle: Airflow runs a clone of it from another working directory, beside another Lore."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

RUN = """
import json, os, sys
from airflow.utils.db import initdb
initdb()
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag
bundle = DagBundlesManager().get_bundle("team")
bundle.initialize()
bag = BundleDagBag(bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
state = str(bag.dags["ingest_notes"].test().state)
import lore
print("RESULT" + json.dumps([sorted(bag.dags), bag.import_errors, state, lore.__file__]))
"""


@pytest.mark.slow
def test_a_clone_runs_its_own_code_on_the_declarations_beside_its_dag_files(tmp_path: Path) -> None:
    clone, elsewhere = tmp_path / "clone", tmp_path / "elsewhere"
    ignored = shutil.ignore_patterns("__pycache__", "*.yaml")
    shutil.copytree(ROOT / "dags", clone / "dags", ignore=ignored)
    shutil.copytree(ROOT / "include", clone / "include", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (clone / "dags" / "sources" / "notes.yaml").write_text("kind: files\npath: ../../notes\n")
    (clone / "notes").mkdir()
    (clone / "notes" / "keys.md").write_text("# Keys\n\nRotate the signing key every ninety days.\n")
    elsewhere.mkdir()
    subprocess.run(["chmod", "-R", "a-w", clone], check=True)  # a bundle need not be writable
    bundle = {
        "name": "team",
        "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
        "kwargs": {"path": str(clone)},
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LORE_", "PYTHON", "AIRFLOW"))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            cwd=elsewhere,
            env={
                **kept,
                "AIRFLOW_HOME": str(tmp_path / "airflow"),
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps([bundle]),
                "LORE_CACHE_DIR": str(ROOT / ".lore" / "cache"),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        subprocess.run(["chmod", "-R", "u+w", clone], check=True)
    assert "RESULT" in done.stdout, done.stderr
    dags, errors, state, package = json.loads(done.stdout.rpartition("RESULT")[2])
    assert errors == {}
    assert "ingest_notes" in dags
    assert state == "success"
    assert Path(package) == clone / "include" / "lore" / "__init__.py"
    assert (elsewhere / ".lore" / "index").is_dir()
