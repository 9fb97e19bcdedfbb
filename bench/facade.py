"""How long `import lore` takes in a fresh process, beside an empty one. Prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from statistics import median

ROUNDS = 15


def main() -> None:
    """Print medians in milliseconds."""
    taken: dict[str, list[float]] = {"pass": [], "import lore": []}
    for _ in range(ROUNDS):
        for statement, times in taken.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times.append(1000 * (time.perf_counter() - started))
    empty, facade = (median(times) for times in taken.values())
    json.dump({"python_ms": round(empty, 1), "facade_ms": round(facade - empty, 1)}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
