"""`lore doctor`: what works here, and what to do about what does not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from include.lore.cli.output import print_json, print_text

__all__ = ["register"]

MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM", "skipped": "skipped"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check settings, declarations, models, index and staging; with keys set this makes tiny real calls."""
    from include.lore.doctor import examine

    findings = []
    for finding in examine():
        findings.append(finding)
        if not json:
            print_text(f"{MARKS[finding.status]}  {finding.name}: {finding.detail}")
            if finding.remedy:
                print_text(f"         → {finding.remedy}")
    ended_well = all(finding.status != "problem" for finding in findings)
    if json:
        print_json({"ok": ended_well, "checks": [asdict(finding) for finding in findings]})
    if not ended_well:
        raise typer.Exit(1)
