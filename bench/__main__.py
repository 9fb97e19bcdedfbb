"""Run the benches one after the other, each in a process of its own, and print one JSON object.

The others are run by themselves: `baseline`, `memory`, `retrieval.abstention`, `retrieval.code_search`,
`retrieval.followups`, `scale` and `scale.first_token` make large indexes, `records`, `slack` and `web` take minutes,
`answers` and `verification` want a language model, and `retrieval.tables` wants defog's databases.
"""

from __future__ import annotations

import json
import subprocess
import sys

BENCHES = ("facade", "dag_parse", "embedder", "store", "sync", "crawl", "convert", "kill")


def main() -> int:
    """Print the figures of these benches; returns 1 when one of them failed."""
    figures: dict[str, object] = {}
    failed = False
    for name in BENCHES:
        print(f"bench.{name} ...", file=sys.stderr, flush=True)
        run = subprocess.run([sys.executable, "-m", f"bench.{name}"], stdout=subprocess.PIPE, text=True)
        failed = failed or run.returncode != 0
        figures[name] = json.loads(run.stdout) if run.stdout.strip() else f"failed with {run.returncode}"
    json.dump(figures, sys.stdout, indent=2)
    print()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
