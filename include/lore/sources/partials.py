"""Markdown files that others import: their text is part of these pages, so they are no documents themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lore.convert import format_of, is_partial, resolve_includes

__all__ = ["without_partials"]


def without_partials(paths: Sequence[str], read: Callable[[str], str | None]) -> list[str]:
    """Return the paths without partials that another of the files includes; a partial without use stays a document.

    `read` returns the text of a path, or None. It is called only if one of the paths is that of a partial.
    """
    partials = set(filter(is_partial, paths))
    included: set[str] = set()

    def read_included(path: str) -> str | None:
        included.add(path)
        return read(path)

    for path in paths if partials else ():
        format_name = format_of(path) or ""
        if format_name in ("markdown", "mdx") and (text := read(path)):
            resolve_includes(text, path, read_included, format_name)
    return [path for path in paths if path not in partials or path not in included]
