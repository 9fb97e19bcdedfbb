"""One Airflow DAG for each declaration in sources/ beside this file: `ingest_<id>`.

A broken declaration gives no DAG here and never an error of this file, which would take all the others down with it:
broken_declarations.py beside this file reports it.
"""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.orchestration.connections import settings_beside
from lore.orchestration.dag_factory import make_ingest_dags

for dag in make_ingest_dags(settings_beside(__file__).project.sources_dir).dags:
    globals()[dag.dag_id] = dag
