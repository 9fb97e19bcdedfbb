"""Declarations that give no DAG, as an import error in the Airflow UI that names file, line and key of each.

Airflow keeps import errors by file and drops every DAG of a file that has one. So the errors must come from another
file than the DAGs. This one defines no DAG: it is quiet while all is well and raises while something is not.
"""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.declarations.database import load_databases
from lore.errors import DeclarationError
from lore.orchestration.connections import settings_beside
from lore.orchestration.dag_factory import make_ingest_dags

project = settings_beside(__file__).project
broken = [*make_ingest_dags(project.sources_dir).broken]
if project.databases_dir.is_dir():
    broken += load_databases(project.databases_dir).broken
if broken:
    raise DeclarationError("\n- ".join(["These declarations give no DAG:", *map(str, broken)]))
