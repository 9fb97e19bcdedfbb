"""Conversion of Word files: text, headings, lists, tables, notes and links."""

from __future__ import annotations

import io

from lore.convert.html.writer import fragment_to_markdown
from lore.convert.markdown.headings import first_heading
from lore.convert.office.package import open_package
from lore.convert.office.word_xml import FORMULA_STYLE, HEADING_STYLE, rewrite
from lore.convert.result import Converted

__all__ = ["convert_docx"]

STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Code'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Preformatted Text'] => pre:separator('\\n')
p[style-name='macro'] => pre:separator('\\n')
p[style-name='Quote'] => blockquote:fresh
p[style-name='Intense Quote'] => blockquote:fresh
r[style-name='Verbatim Char'] => code
r[style-name='HTML Code'] => code
r[style-name='Source Text'] => code
"""
"""Styles of Word, LibreOffice and pandoc for titles, quotes and code that mammoth doesn't map by itself."""
OUTLINE = "\n".join(
    [*(f"p.{HEADING_STYLE}{level} => h{level}:fresh" for level in range(1, 7)), f"r.{FORMULA_STYLE} => code"]
)
"""Styles that `word_xml.rewrite` gives to headings and formulas."""


def convert_docx(data: bytes) -> Converted:
    """Return a Word file as Markdown. Raises ConversionError for an invalid or oversized file.

    mammoth reads styles, numbering, notes and tracked changes into plain HTML. Pictures are left out.
    """
    import mammoth  # type: ignore[import-untyped]

    with open_package(data, "docx") as package:
        rewritten = rewrite(data, package)
    html = mammoth.convert_to_html(
        io.BytesIO(rewritten),
        style_map=STYLES + OUTLINE,
        include_embedded_style_map=False,  # the file's own map could hide or rename anything
        convert_image=lambda image: [],
    ).value
    markdown = fragment_to_markdown(html).strip() + "\n"
    return Converted(markdown, title=first_heading(markdown))
