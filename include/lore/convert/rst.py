"""reStructuredText to Markdown: docutils parses, with Sphinx's directives and roles resolved, and writes HTML."""

from __future__ import annotations

import re

from lore.convert.html import parse, tree_to_markdown
from lore.convert.includes import outside_literal
from lore.convert.markdown import first_heading
from lore.convert.result import Converted
from lore.errors import ConversionError

__all__ = ["convert_rst"]

DOCUTILS_LENGTH = 400_000
"""Characters that docutils reads in about a second. What is longer, ten times the longest page of documentation that we
know, is read line by line.
"""
MAX_LINE = 50_000
MAX_EXPANSION = 5_000_000
"""Characters that all substitutions of a text may come to: some lines that name each other stand for billions."""
MAX_EFFORT = 100_000_000
"""Characters times marks of a paragraph, in sum: docutils looks for the end of each mark in the whole paragraph.

Real texts stay below a hundredth of it; at it, the search takes some seconds.
"""
SUBSTITUTION = re.compile(r"^[ \t]*\.\. \|(?P<name>[^|\n]+)\| replace::(?P<body>.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
REFERENCE = re.compile(r"\|([^|\s][^|\n]*)\|")
REMEDY = "Check that the file is reStructuredText, or leave it out of the source."
MARK = re.compile(r"[*`|]+|_(?!\w)|:(?=\w)")

DIRECTIVE = re.compile(r"^(?P<indent>\s*)\.\. +[\w:+.-]+ ?::")
PROSE = re.compile(r"^(?P<indent>\s*)(?P<marker>(?:[-*+]|\w{1,3}[.)])\s+)?(?!\.\. |:[\w-]+:)\S")


def convert_rst(text: str) -> Converted:
    """The text as Markdown. Nothing is read from files, and no directive or role is left in its own notation.

    A very long text is read by `rst_large`. Raises ConversionError for a text that docutils would take minutes for.
    """
    if len(text) > DOCUTILS_LENGTH:
        from lore.convert.rst_large import read_large_rst

        markdown = read_large_rst(text)
        return Converted(markdown, title=first_heading(markdown))
    from lore.convert.rst_tree import read_rst, write_html

    _refuse_endless(text)
    root = parse(write_html(read_rst(_part_directives(text))))
    for link in root.iter("a"):
        if (link.get("href") or "").startswith("#"):
            del link.attrib["href"]
    markdown = tree_to_markdown(root)
    return Converted(markdown, title=first_heading(markdown))


def _refuse_endless(text: str) -> None:
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise ConversionError(f"A line is longer than {MAX_LINE:,} characters.", remedy=REMEDY)
    if _expansion(text) > MAX_EXPANSION:
        raise ConversionError("Its substitutions expand to too much text.", remedy=REMEDY)
    effort = 0
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = (line for line in paragraph.split("\n") if not line.lstrip().startswith(("|", "+")))  # no grid tables
        prose = "\n".join(lines)
        effort += len(prose) * len(MARK.findall(prose))
    if effort > MAX_EFFORT:
        raise ConversionError("A paragraph has more inline marks than can be parsed in a minute.", remedy=REMEDY)


def _expansion(text: str) -> int:
    """How many characters the substitutions of a text come to, those in their own definitions included."""
    bodies = {match["name"].lower(): match["body"] for match in SUBSTITUTION.finditer(text)}
    references = {name: [found.lower() for found in REFERENCE.findall(body)] for name, body in bodies.items()}
    sizes = {name: len(body) for name, body in bodies.items()}
    for _ in range(64):
        grown = {
            name: min(len(bodies[name]) + sum(sizes.get(found, 0) for found in references[name]), MAX_EXPANSION + 1)
            for name in bodies
        }
        if grown == sizes:
            break
        sizes = grown
    return sum(sizes.get(found.lower(), 0) for found in REFERENCE.findall(text)) if bodies else 0


def _part_directives(text: str) -> str:
    """Put the blank line that some authors forget between a paragraph and the directive below it.

    Without it docutils, as it must, reads the directive as more of the paragraph.
    """
    parted: list[str] = []
    before = ""
    for line, literal in outside_literal(text.expandtabs(8).split("\n")):
        if not literal and ".. " in line and (match := DIRECTIVE.match(line)):
            prose = PROSE.match(before)
            if prose and len(match["indent"]) in {len(prose["indent"]), len(prose["indent"] + (prose["marker"] or ""))}:
                parted.append("")
        parted.append(line)
        before = "" if literal else line
    return "\n".join(parted)
