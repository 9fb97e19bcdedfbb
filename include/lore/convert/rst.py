"""reStructuredText to Markdown: docutils parses, with Sphinx's directives and roles resolved, and writes HTML."""

from __future__ import annotations

import re

from include.lore.convert.html import parse, tree_to_markdown
from include.lore.convert.includes import outside_literal
from include.lore.convert.markdown import first_heading
from include.lore.convert.result import Converted

__all__ = ["convert_rst"]

DIRECTIVE = re.compile(r"^(?P<indent>\s*)\.\. +[\w:+.-]+ ?::")
PROSE = re.compile(r"^(?P<indent>\s*)(?!\.\. |:[\w-]+:)\S.*$")


def convert_rst(text: str) -> Converted:
    """The text as Markdown. Nothing is read from files, and no directive or role is left in its own notation."""
    from include.lore.convert.rst_tree import read_rst, write_html

    root = parse(write_html(read_rst(_part_directives(text))))
    for link in root.iter("a"):
        if (link.get("href") or "").startswith("#"):
            del link.attrib["href"]
    markdown = tree_to_markdown(root)
    return Converted(markdown, title=first_heading(markdown))


def _part_directives(text: str) -> str:
    """Put the blank line that some authors forget between a paragraph and the directive below it.

    Without it docutils, as it must, reads the directive as more of the paragraph.
    """
    parted: list[str] = []
    before = ""
    for line, literal in outside_literal(text.expandtabs(8).split("\n")):
        if not literal and ".. " in line and (match := DIRECTIVE.match(line)):
            prose = PROSE.match(before)
            if prose and prose["indent"] == match["indent"]:
                parted.append("")
        parted.append(line)
        before = "" if literal else line
    return "\n".join(parted)
