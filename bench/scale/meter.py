"""Meters: processor time, peak memory and disk of this process and of a server, from Linux's /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from lore.protocols import Store

MEGABYTE = 1_000_000
FIXED_STEPS, FIXED_BYTES = 500_000, 32_000_000


class Meter:
    """Wall and processor time since it was made; the server's is counted too where there is one."""

    def __init__(self, server: int | None = None) -> None:
        self._server = server
        self._wall, self._cpu, self._server_cpu = time.perf_counter(), time.process_time(), _server_cpu(server)

    def read(self, digits: int = 2) -> dict[str, float]:
        """Seconds of wall clock, of this process, and of the server."""
        own = time.process_time() - self._cpu
        taken = {"wall": round(time.perf_counter() - self._wall, digits), "cpu": round(own, digits)}
        if self._server:
            taken["server_cpu"] = round(_server_cpu(self._server) - self._server_cpu, digits)
        return taken


class Metered:
    """A store that adds up what each of its methods took, in `seconds`."""

    def __init__(self, store: Store, server: int | None) -> None:
        self._store, self._server = store, server
        self.seconds: dict[str, dict[str, float]] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def metered(*arguments: Any, **options: Any) -> Any:
            meter = Meter(self._server)
            try:
                return method(*arguments, **options)
            finally:
                total = self.seconds.setdefault(name, {})
                for key, value in meter.read(3).items():
                    total[key] = round(total.get(key, 0.0) + value, 3)

        return metered


def fixed_work() -> float:
    """Milliseconds that a piece of work takes that is always the same, the median of nine: a loop, and sums over 32 MB.
    Figures of two runs can be compared where this is alike.
    """
    numbers = np.ones(FIXED_BYTES // 8)
    taken = []
    for _ in range(9):
        started = time.perf_counter()
        total = 0
        for number in range(FIXED_STEPS):
            total += number * number
        for _ in range(4):
            numbers.sum()
        taken.append(1000 * (time.perf_counter() - started))
    return round(median(taken), 1)


def reset_peak(process: int) -> None:
    """Begin anew to watch the peak memory of a process of ours."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def peak_megabytes(process: int | str) -> int:
    """The most memory that a process had at once ("self": this one), what it maps of files included."""
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024 // MEGABYTE


def folder_megabytes(folder: Path) -> int:
    """What a folder takes on disk."""
    blocks = (path.stat().st_blocks for path in folder.rglob("*") if path.is_file())
    return sum(blocks) * 512 // MEGABYTE


def _server_cpu(server: int | None) -> float:
    if not server:
        return 0.0
    fields = Path(f"/proc/{server}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
