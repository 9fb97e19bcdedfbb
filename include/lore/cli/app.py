"""The application: all commands, and the one place that turns an error into a message and an exit code."""

from __future__ import annotations

import io
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lore.cli import (
    answers,
    ask,
    baseline,
    compare,
    convert,
    evaluate,
    index,
    ingest,
    questions,
    slack,
    sources,
    system,
    web,
)
from lore.cli.common import INTERRUPTED
from lore.cli.output import message, show_error
from lore.cli.sql import commands as sql
from lore.errors import ConfigurationError, LoreError

__all__ = ["app"]

DISTRIBUTION = "lore-assistant"


class LoreGroup(TyperGroup):
    """Exit codes: 0 fine, 1 failure, 2 usage or configuration, 130 interrupted."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command and exit with its code; print a LoreError as a message."""
        sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  the parent closed it, so nobody reads
        sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal with a small character set must not end the command
        try:
            return super().main(*args, **kwargs)
        except LoreError as error:
            show_error(error)
            sys.exit(2 if isinstance(error, ConfigurationError) else 1)
        except OSError as error:  # not a closed pipe, which is handled above: a full disk or similar
            message(f"Error: {error.strerror or error}" + (f": {error.filename}" if error.filename else "."))
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  the rest would fail again at exit
            sys.exit(1)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; end an interrupted one with a message, unless it printed its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            message("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="lore",
    cls=LoreGroup,
    help="Answers from your own docs, Slack and GitHub, each with its sources.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    ask,
    answers,
    sources,
    ingest,
    convert,
    index,
    baseline,
    evaluate,
    questions,
    compare,
    sql,
    slack,
    web,
    system,
):
    module.register(app)


def _version(value: bool) -> None:
    if not value:
        return
    try:
        typer.echo(f"lore {version(DISTRIBUTION)}")
    except PackageNotFoundError:
        typer.echo("lore (run from a checkout, not installed)")
    raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
