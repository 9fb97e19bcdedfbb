"""Declarations that give no DAG, as an import error in the Airflow UI that names file, line and key of each.

Airflow keeps import errors by file and drops every DAG of a file that has one. So the errors must come from another
file than the DAGs. This one defines no DAG: it is quiet while all is well and raises while something is not.
"""

from __future__ import annotations

from lore.errors import DeclarationError
from lore.orchestration.dag_factory import make_ingest_dags
from lore.settings import load_settings

broken = make_ingest_dags(load_settings().sources_dir).broken
if broken:
    raise DeclarationError("\n- ".join(["These declarations give no DAG:", *map(str, broken)]))
