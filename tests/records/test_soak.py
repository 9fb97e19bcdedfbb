"""Bots and commands on the same records while one of them is killed now and then; `bench.records` does it longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.records import soak


@pytest.mark.slow
def test_what_was_shown_is_recorded_once_though_processes_are_killed(url: str, tmp_path: Path) -> None:
    figures = soak(tmp_path, url, seconds=12, every=3, seed=1)
    assert figures["kept"], figures
    assert figures["shown"]["in_slack"] > 10
