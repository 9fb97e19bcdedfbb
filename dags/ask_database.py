"""The Airflow DAG `ask_database`: a form for a question to a declared database, an approval, and the rows."""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.declarations.database import load_databases
from lore.orchestration.ask_database import make_ask_database_dag
from lore.orchestration.connections import settings_beside

folder = settings_beside(__file__).project.databases_dir
if folder.is_dir() and (declared := load_databases(folder).valid):  # broken_declarations.py shows the broken ones
    ask_database = make_ask_database_dag(list(declared.values()))
