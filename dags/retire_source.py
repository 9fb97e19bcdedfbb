"""The Airflow DAG `retire_source`: removes sources that are no longer declared, after approval."""

from __future__ import annotations

import sys
from pathlib import Path

# This checkout's own code first: a DAG bundle must not run another Lore that happens to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from lore.orchestration.retire import make_retire_dag

retire_source = make_retire_dag()
