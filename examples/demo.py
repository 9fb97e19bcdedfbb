"""`make demo`: real Airflow DAGs sync three kinds of source, and questions get cited answers.

Without a key it embeds and reranks locally and answers with quotations; settings such as LORE_CHAT_MODEL are respected.
Everything it creates is below .lore/demo. A second run shows the cost of a sync without changes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from lore.errors import LoreError
from lore.orchestration.localrun import LocalAirflow
from rich.console import Console

from tests.servers.github import GitHubServer

EXAMPLES = Path(__file__).resolve().parent
HOME = Path(".lore/demo").absolute()
SOURCES = ("handbook", "team_slack", "tracker")

console = Console(highlight=False)


def main() -> int:
    """Run the demo and return the exit code."""
    started = time.monotonic()
    tracker = EXAMPLES / "github"
    issues, comments = (json.loads((tracker / f"{name}.json").read_text()) for name in ("issues", "comments"))
    with GitHubServer(issues, comments, repository="tidewheel/tidewheel") as github:
        environ = {
            "LORE_SOURCES_DIR": str(EXAMPLES / "sources"),
            "LORE_ASSISTANT": str(EXAMPLES / "assistant.yaml"),
            "LORE_STORE": "lancedb",  # whatever .env says
            "LORE_INDEX_URI": str(HOME / "index"),
            "LORE_RECORDS_URL": f"sqlite:///{HOME}/records.db",
            "LORE_STAGING_URI": str(HOME / "staging"),
            "LORE_GITHUB_BASE_URL": github.base_url,
        }
        try:
            ingest(environ)
            ask()
        except LoreError as error:
            console.print(f"[red]{type(error).__name__}[/red]: ", end="")
            console.print(str(error), markup=False)
            return 1
    print_next_steps(environ, time.monotonic() - started)
    return 0


def ingest(environ: dict[str, str]) -> None:
    """Run the three ingestion DAGs and print the outcome of each."""
    console.rule("[bold]1  Ingest: three sources, one Airflow DAG each")
    with console.status("Starting Airflow in this process ..."):
        airflow = LocalAirflow.start(HOME / "airflow", environ)
    calls = 0
    for source in SOURCES:
        with console.status(f"Running DAG ingest_{source} ..."):
            run = airflow.run(f"ingest_{source}")
            report = run.value("reconcile")
        calls += report["embedding_calls"]
        console.print(line(source, report, run.seconds))
    console.print(f"  Embedding calls: [bold]{calls}[/bold]" + ("" if calls else ", because nothing had changed"))
    lore("sources")


def line(source: str, report: dict[str, Any], seconds: float) -> str:
    """Return one line about a DAG run."""
    changes = ", ".join(f"{report[name]} {name}" for name in ("new", "changed", "unchanged", "removed") if report[name])
    return f"  [green]✓[/green] ingest_{source:<11} {changes or 'nothing to read'}, {seconds:.1f} s"


def ask() -> None:
    """Ask a question about the assistant itself, and those that the example marks for the demo."""
    from lore.evaluation.questions.question_set import load_questions

    console.print()
    console.rule("[bold]2  Ask: answers with their sources")
    lore("ask", "Where do users ask for help?")
    for question in load_questions(EXAMPLES / "questions.yaml").questions:
        if "demo" in question.tags:
            lore("ask", question.text)


def lore(*words: str) -> None:
    """Print a command as a person would type it, and run it in this process."""
    from lore.cli.app import app

    command = " ".join(f'"{word}"' if " " in word else word for word in words)
    console.print(f"\n[bold]$ lore {command}[/bold]\n", soft_wrap=True)  # a wrapped command could not be pasted
    app(list(words), standalone_mode=False)
    sys.stdout.flush()


def print_next_steps(environ: dict[str, str], seconds: float) -> None:
    """Print the next steps."""
    shown = {name: os.path.relpath(environ[name]) for name in ("LORE_SOURCES_DIR", "LORE_ASSISTANT", "LORE_INDEX_URI")}
    prefix = " ".join(f"{name}={value}" for name, value in shown.items())
    console.print()
    console.rule(f"[bold]3  What to try next[/bold] (this took {seconds:.0f} s)")
    console.print("  make demo    once more: nothing has changed, so nothing is embedded")
    console.print("  make up      Airflow with its UI, to ingest and ask in the browser")
    console.print("  README.md    your own docs in ten minutes")
    console.print("  Or see the example on a web page:\n")
    console.print(f"    {prefix} .venv/bin/lore serve\n", soft_wrap=True)
    console.print("  Or ask the example something else:\n")
    console.print("    . .venv/bin/activate")
    console.print(f'    {prefix} lore ask "Which exit codes are not retried?"', soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
