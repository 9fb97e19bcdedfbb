"""Conversion of reStructuredText: docutils parses it, with Sphinx's directives and roles, and writes HTML."""

from __future__ import annotations

import re

from lore.convert.html.parsing import parse_html
from lore.convert.html.writer import NOT_CONTENT, tree_to_markdown
from lore.convert.markdown.headings import first_heading
from lore.convert.omissions import Omissions
from lore.convert.result import Converted
from lore.convert.rst.includes import outside_literal
from lore.errors import ConversionError

__all__ = ["convert_rst"]

MAX_LENGTH = 2_500_000
"""Characters. docutils takes some three seconds for a megabyte and ten for two; the longest page we know has 0.7 MB."""
MAX_LINE = 50_000
MAX_EXPANSION = 5_000_000
"""Characters that a text's substitutions may expand to: a few lines that name each other can stand for billions."""
MAX_EFFORT = 100_000_000
"""Characters times marks of a paragraph, in sum: docutils searches the whole paragraph for the end of each mark.

Real texts stay below a hundredth of it; at the limit, the search takes some seconds.
"""
MAX_RULES = 500
"""Consecutive lines of punctuation, each a possible heading: docutils takes quadratic time for them."""
SUBSTITUTION = re.compile(r"^[ \t]*\.\. \|(?P<name>[^|\n]+)\| replace::(?P<body>.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
REFERENCE = re.compile(r"\|([^|\s][^|\n]*)\|")
REMEDY = "Check that the file is reStructuredText, or leave it out of the source."
MARK = re.compile(r"[*`|]+|_(?!\w)|:(?=\w)")
RULES = re.compile(rf"(?:^[!-/:-@\[-`{{-~]+[ \t]*\n){{{MAX_RULES}}}", re.MULTILINE)

DIRECTIVE = re.compile(r"^(?P<indent>\s*)\.\. +[\w:+.-]+ ?::")
PROSE = re.compile(r"^(?P<indent>\s*)(?P<marker>(?:[-*+]|\w{1,3}[.)])\s+)?(?!\.\. |:[\w-]+:)\S")


def convert_rst(text: str) -> Converted:
    """Return the text as Markdown, with every directive and role resolved. Reads no files.

    Raises ConversionError for a text that docutils would take minutes for.
    """
    from lore.convert.rst.doctree import read_rst, write_html

    _refuse_endless(text)
    omissions = Omissions()
    root = parse_html(write_html(read_rst(_separate_directives(text), omissions)))
    for element in list(root.iter(*NOT_CONTENT)):  # of included Markdown
        element.drop_tree()
    for link in root.iter("a"):
        if (link.get("href") or "").startswith("#"):
            del link.attrib["href"]
    markdown = tree_to_markdown(root)
    return Converted(markdown, title=first_heading(markdown), omitted=omissions.counts())


def _refuse_endless(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise ConversionError(
            f"The text has {len(text):,} characters; the limit for reStructuredText is {MAX_LENGTH:,}.",
            remedy="Split it, or leave it out of the source.",
        )
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise ConversionError(f"A line is longer than {MAX_LINE:,} characters.", remedy=REMEDY)
    if RULES.search(text):
        raise ConversionError(f"The text has {MAX_RULES} lines of punctuation in a row.", remedy=REMEDY)
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
    """Return the characters that a text's substitutions expand to, also within each other."""
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


def _separate_directives(text: str) -> str:
    """Insert the blank line that some authors forget between a paragraph and the directive below it.

    Without it docutils reads the directive as part of the paragraph.
    """
    separated: list[str] = []
    before = ""
    for line, literal in outside_literal(text.expandtabs(8).split("\n")):
        if not literal and ".. " in line and (match := DIRECTIVE.match(line)):
            prose = PROSE.match(before)
            if prose and len(match["indent"]) in {len(prose["indent"]), len(prose["indent"] + (prose["marker"] or ""))}:
                separated.append("")
        separated.append(line)
        before = "" if literal else line
    return "\n".join(separated)
