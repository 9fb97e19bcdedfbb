"""The Airflow DAG `ask`: a form for a question, and its cited answer."""

from __future__ import annotations

from lore.declarations import load_declarations
from lore.errors import LoreError
from lore.orchestration.ask import make_ask_dag
from lore.settings import load_settings

try:
    declarations = load_declarations(load_settings().sources_dir).valid
except LoreError:
    declarations = ()  # what is wrong with the folder is shown by ingest.py; what is indexed can still be asked

ask = make_ask_dag(declarations)
