"""The Airflow DAG `evaluate`: the live version of the index is scored whenever a source was synced."""

from __future__ import annotations

from lore.declarations import load_declarations
from lore.errors import LoreError
from lore.orchestration.evaluate import make_evaluate_dag
from lore.settings import load_settings

try:
    declarations = load_declarations(load_settings().sources_dir).valid
except LoreError:
    declarations = ()  # what is wrong with the folder is shown by ingest.py; the DAG can still be triggered

evaluate = make_evaluate_dag(declarations)
