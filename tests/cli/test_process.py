"""The command as a process of its own: start, streams that close, interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

import pytest

from tests.cli.conftest import environment, write_knowledge

ROOT = Path(__file__).resolve().parents[2]


INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A shell that runs the tests in the background makes their children ignore Ctrl-C."""
LORE = f"{INTERRUPTIBLE}; from lore.cli import main; main()"


def start(*arguments: str, folder: Path, cache: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LORE, *arguments],
        cwd=folder,
        env={**os.environ, **environment(folder, cache), "PYTHONPATH": str(ROOT), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_knowledge(tmp_path)
    return tmp_path


def test_help_loads_nothing_heavy(folder: Path, cache: Path) -> None:
    code = (
        "import sys; from lore.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'lancedb', 'onnxruntime', 'openai', 'airflow', 'rich'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ}, capture_output=True, text=True, timeout=60
    )
    assert "sync" in result.stdout
    assert result.stderr.strip() == "[]"


def test_alone_it_shows_help(folder: Path, cache: Path) -> None:
    process = start(folder=folder, cache=cache)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Commands:" in out
    assert err == ""


def test_version(folder: Path, cache: Path) -> None:
    out, _ = start("--version", folder=folder, cache=cache).communicate(timeout=60)
    assert out.startswith("lore ")


@pytest.mark.parametrize("arguments", [["convert", "big.md"], ["sources"], ["sources", "--json"], ["--help"]])
def test_a_reader_that_goes_away(folder: Path, cache: Path, arguments: list[str]) -> None:
    (folder / "big.md").write_text("word " * 400_000, encoding="utf-8")
    process = start(*arguments, folder=folder, cache=cache)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.wait(timeout=60)
    assert "Traceback" not in error
    assert "BrokenPipe" not in error
    assert process.returncode == 1


def test_an_interruption_ends_cleanly(folder: Path, cache: Path) -> None:
    os.mkfifo(folder / "endless.md")
    process = start("convert", "endless.md", folder=folder, cache=cache)
    opened = Queue[IO[str]]()
    Thread(target=lambda: opened.put((folder / "endless.md").open("w")), daemon=True).start()
    with opened.get(timeout=60):  # both ends are open: the command is reading
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err) == ("", "Interrupted.\n")


@pytest.mark.slow
def test_an_interrupted_sync_says_what_it_keeps_and_continues_from_there(folder: Path, cache: Path) -> None:
    for number in range(2_000):
        (folder / "pages" / f"p{number}.md").write_text(f"# Page {number}\n\nLamp {number} burns for {number} days.\n")
    process = start("sync", "--all", folder=folder, cache=cache)
    written = folder / "index" / "documents.lance" / "data"
    until = time.monotonic() + 60
    while not (written.is_dir() and any(written.iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    kept = re.fullmatch(
        r"Interrupted\. ([\d,]+) documents of handbook are in the index and stay there\.\n"
        r"  To continue from there, run: lore sync --all\n",
        err,
    )
    assert kept is not None, err
    number = int(kept[1].replace(",", ""))
    assert 0 < number < 2_003
    out, err = start("sync", "--all", "--json", folder=folder, cache=cache).communicate(timeout=300)
    [report] = json.loads(out)["sources"]
    assert (report["unchanged"], report["new"]) == (number, 2_003 - number)


def test_a_terminal_of_few_characters(folder: Path, cache: Path) -> None:
    (folder / "page.md").write_text("naïve 日本", encoding="utf-8")
    process = start("convert", "page.md", folder=folder, cache=cache, PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("na?ve")


def test_errors_go_to_stderr(folder: Path, cache: Path) -> None:
    process = start("search", "x", folder=folder, cache=cache, TERM="dumb")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("Error: There is no index")
    assert "lore sync --all" in err


@pytest.mark.parametrize("arguments", [["sources"], ["sources", "--json"], ["convert", "pages/keys.md"]])
def test_an_output_that_cannot_be_written(folder: Path, cache: Path, arguments: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    command = [sys.executable, "-m", "lore.cli", *arguments]
    settings = {**os.environ, **environment(folder, cache), "PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, cwd=folder, env=settings, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "Error: No space left on device.\n")


def test_without_any_output(folder: Path, cache: Path) -> None:
    line = f"{sys.executable} -m lore.cli convert pages/keys.md >&- 2>&-"
    settings = {**os.environ, **environment(folder, cache), "PYTHONPATH": str(ROOT)}
    assert subprocess.run(["sh", "-c", line], cwd=folder, env=settings).returncode == 0
