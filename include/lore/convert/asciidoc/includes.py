"""Inclusion of other files in an AsciiDoc text."""

from __future__ import annotations

import re

from lore.convert.included_files import MAX_DEPTH, IncludedFiles, Read, select_lines

__all__ = ["resolve_asciidoc_includes"]

INCLUDE = re.compile(r"^include::(?P<target>[^\[\n]+)\[(?P<attributes>[^\]\n]*)\][ \t]*$", re.MULTILINE)
ATTRIBUTE = re.compile(r"(?P<name>\w+)=(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^,\]]*))")
ENTRY = re.compile(r"^:(?P<name>[\w-]+):[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE)
REFERENCE = re.compile(r"\{(?P<name>[\w-]+)\}")
TAG = re.compile(r"\b(?:tag|end)::[\w-]+\[\]")


def resolve_asciidoc_includes(text: str, path: str, read: Read) -> str:
    """Return the text with the files of its `include` directives put in place; unreadable ones are dropped.

    `path` and `read` are those of `includes.resolve_includes`.
    """
    return _expand(text, path, IncludedFiles(read), 0)


def _expand(text: str, path: str, files: IncludedFiles, depth: int) -> str:
    if "include::" not in text:
        return text
    values = {entry["name"]: entry["value"] for entry in ENTRY.finditer(text)}

    def included(include: re.Match[str]) -> str:
        target = REFERENCE.sub(lambda name: values.get(name["name"], ""), include["target"]).strip()
        found = files.find(target, path) if depth < MAX_DEPTH and not re.match(r"https?:", target) else None
        if found is None:
            return ""
        place, content = found
        return _expand(_selected(content, include["attributes"]), place, files, depth + 1)

    return INCLUDE.sub(included, text)


def _selected(content: str, attributes: str) -> str:
    """Return the lines of a file that `lines` or `tag` select, without the marks of tags."""
    options = {match["name"]: match["quoted"] or match["bare"] or "" for match in ATTRIBUTE.finditer(attributes)}
    lines = content.split("\n")
    if options.get("lines"):
        lines = select_lines(lines, {"lines": options["lines"].replace("..", "-").replace(";", ",")})
    names = re.split(r"[;,]", options.get("tag") or options.get("tags") or "")
    if names != [""] and "*" not in "".join(names):
        lines = [
            line
            for name in names
            for line in select_lines(lines, {"start-after": f"tag::{name}[]", "end-before": f"end::{name}[]"})
        ]
    return "\n".join(line for line in lines if not TAG.search(line))
