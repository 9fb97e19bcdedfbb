"""`lore slack`: the bot that answers in a Slack workspace."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lore.protocols import Recorder
    from lore.query.model_watch import OnModelChange
    from lore.query.pipeline import Pipeline
    from lore.settings import Settings

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(slack)


def slack(
    http: Annotated[
        bool, typer.Option("--http", help="Let Slack call this process instead of using Socket Mode.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="With --http: the port; 0 takes a free one.")] = 3000,
) -> None:
    """Answer in Slack until stopped; docs/slack.md leads from nothing to a first answer."""
    from lore.settings import load_settings
    from lore.slackbot.app.serve import HttpAddress, serve

    _log()
    serve(load_settings(), http=HttpAddress(host, port) if http else None, make_pipeline=_pipeline)


def _pipeline(settings: Settings, recorder: Recorder, on_model_change: OnModelChange) -> Pipeline:
    from lore.cli.common import open_index
    from lore.wiring.query import make_pipeline

    store, embedder = open_index(settings)
    return make_pipeline(settings, index=store, embedder=embedder, recorder=recorder, on_model_change=on_model_change)


def _log() -> None:
    """Log Lore's own lines, and only warnings of libraries, whose lines may quote what people wrote."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("lore").setLevel(logging.INFO)
