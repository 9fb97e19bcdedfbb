"""The Airflow DAGs of the index's versions: build and judge one, promote it, roll back, remove old ones."""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.orchestration.rebuild import make_rebuild_dag
from lore.orchestration.version_dags import make_promote_dag, make_prune_dag, make_rollback_dag

rebuild = make_rebuild_dag()
promote_version = make_promote_dag()
rollback_version = make_rollback_dag()
prune_versions = make_prune_dag()
