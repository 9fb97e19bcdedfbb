"""Each bench that says how it is run can be run so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bench.__main__ import BENCHES

FOLDER = Path(__file__).resolve().parents[1] / "bench"
COMMANDS = sorted(
    file.stem
    for file in FOLDER.glob("*.py")
    if f"python -m bench.{file.stem}" in (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")
)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bench_runs_when_it_is_called(name: str) -> None:
    last = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body[-1]
    assert isinstance(last, ast.If)
    assert ast.unparse(last.test) == "__name__ == '__main__'"


def test_those_that_run_together_are_there() -> None:
    assert set(BENCHES) <= {file.stem for file in FOLDER.glob("*.py")}
