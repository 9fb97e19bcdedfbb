"""Conversion of AsciiDoc: pandoc writes HTML, which becomes Markdown."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from lore.convert.html.anchors import HEADINGS, heading_anchors, mark_anchors
from lore.convert.html.parsing import parse_html
from lore.convert.html.writer import NOT_CONTENT, tree_to_markdown
from lore.convert.omissions import Omissions
from lore.convert.result import ANCHORS, Converted
from lore.errors import ConversionError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["convert_asciidoc"]

MAX_LENGTH = 1_000_000
MAX_SECONDS = 120
"""pandoc takes about a second for 10 KB, and longer for hostile input."""
MAX_MEMORY = "1500M"
TITLE = re.compile(r"\A(?:\s*(?://.*)?\n)*=[ \t]+(?P<title>\S.*?)[ \t]*\n")
CONDITION = re.compile(r"^(?:ifdef|ifndef|ifeval|endif)::[^\[\n]*\[(?P<text>[^\]\n]*)\][ \t]*$", re.MULTILINE)
IMAGE = re.compile(r"^image::", re.MULTILINE)
MEDIA = re.compile(r"^(?:include|video|audio|toc)::.*$", re.MULTILINE)
ADMONITION = re.compile(
    r"^\[(?P<kind>NOTE|TIP|IMPORTANT|CAUTION|WARNING)[^\]\n]*\]\n(?=[^\s.=*_\-\[])", re.MULTILINE | re.IGNORECASE
)
"""An admonition of one paragraph, which pandoc reads in its other notation only."""
COMMENT = re.compile(r"^/{4,}[ \t]*\n.*?^/{4,}[ \t]*$|^//(?!/)[^\n]*$", re.MULTILINE | re.DOTALL)
INSTALL = 'Install pandoc: pip install "lore-assistant[asciidoc]".'


def convert_asciidoc(text: str) -> Converted:
    """Return the text as Markdown. Reads no files; text under conditions is kept.

    Raises ConversionError without pandoc, and for a text that it would take minutes for.
    """
    if len(text) > MAX_LENGTH:
        raise ConversionError(
            f"The text has {len(text):,} characters; the limit for AsciiDoc is {MAX_LENGTH:,}.",
            remedy="Split it, or leave it out of the source.",
        )
    omissions = Omissions()
    found = TITLE.match(text)
    title = found["title"] if found else ""
    root = parse_html(_pandoc(_prepared(text, omissions)))
    for element in list(root.iter(*NOT_CONTENT)):
        element.drop_tree()
    for link in root.iter("a"):
        if (link.get("href") or "").startswith("#"):
            del link.attrib["href"]
    for pre in root.iter("pre"):
        if language := pre.get("class"):
            pre.set("class", f"language-{language}")
    _write_titles(root)
    mark_anchors(root)
    anchors = heading_anchors(root)
    body = tree_to_markdown(root)
    return Converted(
        f"# {title}\n\n{body}" if title else body,
        title=title,
        metadata={ANCHORS: anchors} if anchors else {},
        omitted=omissions.counts(),
    )


def _prepared(text: str, omissions: Omissions) -> str:
    """Remove comments, conditions and media, and put images into paragraphs: pandoc takes `image::` for a term."""
    for comment in COMMENT.finditer(text):
        omissions.add("comments", comment[0].strip("/"))
    text = COMMENT.sub("", text)
    text = CONDITION.sub(lambda condition: condition["text"], text)
    text = ADMONITION.sub(lambda admonition: f"{admonition['kind'].upper()}: ", text)
    return IMAGE.sub("\nimage:", MEDIA.sub("", text))


def _pandoc(text: str) -> str:
    try:
        import pypandoc  # type: ignore[import-untyped]

        program = pypandoc.get_pandoc_path()
    except (ImportError, OSError) as error:
        raise ConversionError("Converting AsciiDoc needs pandoc.", remedy=INSTALL) from error
    command = [program, "-f", "asciidoc", "-t", "html", "--sandbox", "--shift-heading-level-by=1", "--no-highlight"]
    try:
        done = subprocess.run(  # noqa: S603
            [*command, "+RTS", f"-M{MAX_MEMORY}", "-RTS"],
            input=text.encode("utf-8"),
            capture_output=True,
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConversionError(
            f"Converting the text takes more than {MAX_SECONDS} seconds.", remedy="Split it, or check its markup."
        ) from None
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        raise ConversionError(f"pandoc couldn't read the text: {reason}", remedy="Check its markup.")
    return done.stdout.decode("utf-8", "replace")


def _write_titles(root: HtmlElement) -> None:
    """Make the titles of blocks bold: "Note" above a note, the caption above a listing."""
    for element in list(root.iterfind(".//*[@class]")):
        if element.get("class") != "title" or element.tag in HEADINGS:
            continue
        words = " ".join(element.text_content().split())
        tail = element.tail
        element.clear()
        element.tail = tail
        element.tag = "p"
        strong = element.makeelement("strong")
        strong.text = words
        element.append(strong)
