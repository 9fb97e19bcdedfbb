"""`lore serve`: the web page and the JSON API."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8765,
    public: Annotated[bool, typer.Option("--public", help="Let everybody ask who reaches the address.")] = False,
) -> None:
    """Serve the web page and the JSON API until stopped."""
    from lore.cli.output import message
    from lore.errors import require
    from lore.settings import load_settings

    require("fastapi", "web", "The web page")
    from lore.web.serve import serve as run

    run(load_settings(), host=host, port=port, public=public, on_ready=lambda url: message(f"Lore answers at {url}"))
