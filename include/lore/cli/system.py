"""`lore doctor`: checks of this installation, each with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lore.cli.output import print_json, print_text

if TYPE_CHECKING:
    from lore.doctor import Finding

__all__ = ["register"]

MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM", "skipped": "skipped"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    slack: Annotated[bool, typer.Option("--slack", help="Check the app of the Slack bot instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check settings, declarations, models, index and staging; with keys set this makes tiny real calls."""
    findings = []
    for finding in _examine_slack() if slack else _examine():
        findings.append(finding)
        if not json:
            for line in _lines(finding):
                print_text(line)
    ended_well = all(finding.status != "problem" for finding in findings)
    if json:
        print_json({"ok": ended_well, "checks": [asdict(finding) for finding in findings]})
    if not ended_well:
        raise typer.Exit(1)


def _lines(finding: Finding) -> Iterator[str]:
    """Yield the finding for a terminal: each mistake on a line of its own, its remedy below."""
    first, *others = finding.detail.splitlines() or [""]
    yield f"{MARKS[finding.status]}  {finding.name}: {first}"
    yield from (f"         {line}" for line in others)
    yield from (f"         → {line}" for line in finding.remedy.splitlines())


def _examine() -> Iterator[Finding]:
    from lore.doctor import examine

    return examine()


def _examine_slack() -> Iterator[Finding]:
    from lore.settings import load_settings
    from lore.slackbot.checks.checkup import examine_slack

    return examine_slack(load_settings())
