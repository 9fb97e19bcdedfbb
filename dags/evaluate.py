"""The Airflow DAG `evaluate`: the live version of the index is scored whenever a source was synced."""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.declarations import load_declarations
from lore.errors import LoreError
from lore.orchestration.connections import settings_beside
from lore.orchestration.evaluate import make_evaluate_dag

try:
    declarations = load_declarations(settings_beside(__file__).project.sources_dir).valid
except LoreError:
    declarations = ()  # what is wrong with the folder is shown by ingest.py; the DAG can still be triggered

evaluate = make_evaluate_dag(declarations)
