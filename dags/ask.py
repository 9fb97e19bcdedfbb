"""The Airflow DAG `ask`: a form for a question, and its cited answer."""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.declarations import load_declarations
from lore.errors import LoreError
from lore.orchestration.ask import make_ask_dag
from lore.orchestration.connections import settings_beside

try:
    declarations = load_declarations(settings_beside(__file__).project.sources_dir).valid
except LoreError:
    declarations = ()  # what is wrong with the folder is shown by ingest.py; what is indexed can still be asked

ask = make_ask_dag(declarations)
