"""How long parsing the DAG files takes beyond Airflow's own import; prints JSON.

    python -m bench.dag_parse --declarations 20

Each repetition is a process of its own, as in Airflow: `airflow_import` until its DagBag can be used, and `parse`,
all files of dags/ over a folder with so many declarations. `heavy` names libraries that should load in tasks only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lore.orchestration.environment import PROJECT, airflow_environment

HEAVY = ("lancedb", "pyarrow", "numpy", "onnx", "onnxruntime", "langchain", "openai", "cohere", "bs4", "docutils")

MEASURE = f"""
import json, sys, time
from pathlib import Path
started = time.perf_counter()
import airflow
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.sdk import DAG, Asset, BaseOperator, Param, RetryPolicy, task
imported = time.perf_counter()
folder = Path(sys.argv[1])
before, cpu = set(sys.modules), time.process_time()
bag = BundleDagBag(folder, bundle_path=folder, bundle_name="dags-folder")
parsed = time.perf_counter()
print(json.dumps({{
    "airflow_import": imported - started, "parse": parsed - imported, "cpu": time.process_time() - cpu,
    "dags": len(bag.dags),
    "import_errors": len(bag.import_errors),
    "heavy": [name for name in {HEAVY!r} if name in sys.modules and name not in before],
}}))
"""


def main() -> None:
    """Run the measurement and print one JSON object, times in seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--declarations", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "sources").mkdir()
        for number in range(options.declarations):
            (folder / "sources" / f"source_{number}.yaml").write_text("kind: files\npath: .\n", encoding="utf-8")
        environ = {**os.environ, **airflow_environment(folder / "airflow", log_level="ERROR")}
        environ["LORE_SOURCES_DIR"] = str(folder / "sources")
        runs = [_measure(environ) for _ in range(options.repeat)]
    print(
        json.dumps(
            {
                "declarations": options.declarations,
                "dags": runs[-1]["dags"],
                "import_errors": runs[-1]["import_errors"],
                "airflow_import_seconds": round(statistics.median(run["airflow_import"] for run in runs), 3),
                "parse_seconds": round(statistics.median(run["parse"] for run in runs), 3),
                "parse_cpu_seconds": round(statistics.median(run["cpu"] for run in runs), 3),
                "heavy": runs[-1]["heavy"],
            }
        )
    )


def _measure(environ: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-c", MEASURE, str(PROJECT / "dags")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    main()
