"""`lore serve`, `lore mcp` and `lore keys`: the web page, the API, agents, and who may call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lore.cli.output import message, print_json, print_table, print_text

if TYPE_CHECKING:
    from lore.records.api_keys import ApiKey
    from lore.records.records import Records

__all__ = ["register"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(mcp)
    group = typer.Typer(name="keys", help="Keys of the JSON API: create, list, revoke.", no_args_is_help=True)
    group.command()(create)
    group.command("list")(list_keys)
    group.command()(revoke)
    app.add_typer(group)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8765,
    public: Annotated[bool, typer.Option("--public", help="Let everybody ask who reaches the address.")] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Answer who sends a key that `lore keys create` made.")] = False,
) -> None:
    """Serve the web page and the JSON API until stopped."""
    from lore.errors import require
    from lore.settings import load_settings

    require("fastapi", "web", "The web page")
    from lore.web.serve import serve as run

    def ready(url: str) -> None:
        message(f"Lore answers at {url}")

    run(load_settings(), host=host, port=port, public=public, keys=keys, on_ready=ready)


def mcp(
    audience: Annotated[
        list[str] | None, typer.Option("--audience", "-a", help="Whom it reads as, besides public; may be repeated.")
    ] = None,
) -> None:
    """Serve agents by the Model Context Protocol on standard input and output, until the input ends."""
    from lore.errors import require
    from lore.settings import load_settings
    from lore.types import PUBLIC

    require("mcp", "web", "Serving agents")
    from lore.web.agents.mcp_server import serve_stdio

    serve_stdio(load_settings(), tuple(dict.fromkeys((PUBLIC, *(audience or ())))))


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Who or what uses the key.")],
    audience: Annotated[
        list[str] | None, typer.Option("--audience", "-a", help="Who it reads as, besides public; may be repeated.")
    ] = None,
    rate: Annotated[int, typer.Option("--rate", min=0, help="Questions in ten minutes; 0: no limit.")] = 60,
    json: Json = False,
) -> None:
    """Make a key and print it; it can't be shown again."""
    with _records() as records:
        key, text = records.api_keys().create(name, audience or (), rate)
    message(f"Key {key.id} reads as {', '.join(key.audiences)}. Keep it: it isn't shown again.")
    if json:
        print_json({**_row(key), "key": text})
    else:
        print_text(text)


def list_keys(json: Json = False) -> None:
    """List the keys, oldest first, without their secret texts."""
    with _records() as records:
        keys = records.api_keys().all()
    if json:
        print_json({"keys": [_row(key) for key in keys]})
    elif keys:
        rows = [
            (key.id, key.name, ", ".join(key.audiences), str(key.rate or "none"), f"{key.created_at:%Y-%m-%d}")
            for key in keys
        ]
        print_table(("id", "name", "audiences", "rate", "created"), rows, ("rate",))
    else:
        message("There are no keys. Make one with: lore keys create NAME")


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", show_default=False, help="The key's id.")], json: Json = False
) -> None:
    """Revoke a key: servers that run refuse it from now on."""
    with _records() as records:
        records.api_keys().revoke(key_id)
    message(f"Revoked key {key_id}.")
    if json:
        print_json({"revoked": key_id})


def _row(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "audiences": list(key.audiences),
        "rate": key.rate,
        "created_at": key.created_at.isoformat(),
    }


def _records() -> Records:
    from lore.settings import load_settings
    from lore.wiring.records import open_records

    return open_records(load_settings(), make=True)
