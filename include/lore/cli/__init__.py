"""The `lore` command: one file per group of commands, each importing what it needs only when it runs."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process; never returns."""
    from lore.cli.startup import skip_unused_packages

    skip_unused_packages()
    from lore.cli.app import app

    app()
