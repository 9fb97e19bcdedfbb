"""`lore convert`: one file as the Markdown that a sync would index, and what is left out of it."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lore.cli.output import print_table, print_text
from lore.errors import ConfigurationError, ConversionError

if TYPE_CHECKING:
    from lore.types import Document

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(convert)


def convert(
    path: Annotated[Path, typer.Argument(help="The file to convert.")],
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format of the file; default: from its name.")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Print how many characters are left out, by kind, instead of the text.")
    ] = False,
) -> None:
    """Print a file as the Markdown that a sync would index."""
    from lore.convert import OMITTED, format_of
    from lore.convert import convert as to_markdown

    known = _known_formats(format_name)
    if path.is_dir() or path.is_char_device() or path.is_block_device():  # a device may have no end; a pipe has one
        raise ConfigurationError(f"{path} is not a file.", remedy="Name one file; `lore sync` reads whole folders.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Couldn't read {path}: {error.strerror}.") from error
    found = format_name or format_of(path.name)
    if found is None:
        raise ConversionError(
            f"Couldn't tell the format of {path} by its name.", remedy=f"Give it with --format: {known}."
        )
    converted = to_markdown(_document(path, data, found))
    if not report:
        print_text(converted.text.rstrip("\n"))
        return
    omitted: dict[str, int] = dict(converted.metadata.get(OMITTED, {}))
    rows = [("kept", len(converted.text)), *omitted.items()]
    print_table(("kind", "characters"), [(kind, f"{count:,}") for kind, count in rows], numbers=("characters",))


def _known_formats(chosen: str | None) -> str:
    """Return the names of the formats for a message. Raises ConfigurationError for an unknown chosen one."""
    from lore.convert import FORMATS

    known = ", ".join(sorted(name for name in FORMATS if ":" not in name)) + ", or code:LANGUAGE such as code:python"
    if chosen is not None and chosen not in FORMATS:
        near = difflib.get_close_matches(chosen, FORMATS, n=1)
        raise ConfigurationError(
            f"Unknown format {chosen!r}.", remedy=f"Did you mean {near[0]}?" if near else f"Known: {known}."
        )
    return known


def _document(path: Path, data: bytes, format_name: str) -> Document:
    """Return the file with the files that it includes, which must be below the current folder or beside it."""
    from lore.convert import INCLUDING_FORMATS, resolve_includes
    from lore.types import Document

    text = ""
    if format_name in INCLUDING_FORMATS:
        here, file = Path.cwd().resolve(), path.resolve()
        root = here if file.is_relative_to(here) else file.parent

        def read(place: str) -> str | None:
            included = (root / place).resolve()
            try:
                return included.read_text(encoding="utf-8-sig") if included.is_relative_to(root) else None
            except (OSError, ValueError):
                return None

        try:
            text = resolve_includes(
                data.decode("utf-8-sig"), file.relative_to(root).as_posix(), read, format=format_name
            )
        except UnicodeDecodeError:  # conversion detects the charset
            text = ""
    return Document(
        id=f"file:{path}",
        source_id="file",
        url="",
        title=path.stem,
        text=text,
        format=format_name,
        data=None if text else data,
    )
