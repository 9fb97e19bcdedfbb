"""One Airflow DAG for each declaration in dags/sources/: `ingest_<id>`.

A broken declaration gives no DAG here and never an error of this file, which would take all the others down with it:
broken_declarations.py beside this file reports it.
"""

from __future__ import annotations

from lore.orchestration.dag_factory import make_ingest_dags
from lore.settings import load_settings

for dag in make_ingest_dags(load_settings().sources_dir).dags:
    globals()[dag.dag_id] = dag
