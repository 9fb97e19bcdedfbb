"""Ctrl-C while something is written: the write ends first, and a second one ends it at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import signal, sys
from lore.ingest.write.interrupts import deferred_interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with deferred_interrupt():
        for _ in range(int(sys.argv[1])):
            signal.raise_signal(signal.SIGINT)
        print("written")
except KeyboardInterrupt:
    print("interrupted")
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("again")
"""


@pytest.mark.parametrize(
    ("signals", "expected"),
    [(0, ["written", "again"]), (1, ["written", "interrupted", "again"]), (2, ["interrupted", "again"])],
)
def test_a_write_is_finished_before_an_interrupt_ends_it(signals: int, expected: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, str(signals)], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (expected, "")
