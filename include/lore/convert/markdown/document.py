"""Conversion of Markdown, which mostly stays as it is, and of MDX, which loses its JavaScript."""

from __future__ import annotations

from lore.convert.markdown.embedded_html import resolve_html, separate_rules
from lore.convert.markdown.front_matter import split_front_matter
from lore.convert.markdown.headings import first_heading
from lore.convert.markdown.mdx import is_mdx, strip_mdx
from lore.convert.omissions import Omissions
from lore.convert.result import Converted

__all__ = ["convert_markdown", "convert_mdx"]

TITLE_KEYS = ("title", "Title")


def convert_markdown(text: str) -> Converted:
    """Return the text without front matter and HTML comments. A `.md` file that holds MDX is read as MDX."""
    metadata, body = split_front_matter(text)
    omissions = Omissions()
    body = resolve_html(body, omissions)
    return _converted(metadata, strip_mdx(body, omissions) if is_mdx(body) else body, omissions)


def convert_mdx(text: str) -> Converted:
    """Return the text without front matter, imports, exports, expressions and component tags.

    The content between tags is kept, and so are the facts in their properties.
    """
    metadata, body = split_front_matter(text)
    omissions = Omissions()
    return _converted(metadata, strip_mdx(resolve_html(body, omissions), omissions), omissions)


def _converted(metadata: dict[str, object], body: str, omissions: Omissions) -> Converted:
    body = separate_rules(body)
    declared = next((str(metadata[key]) for key in TITLE_KEYS if isinstance(metadata.get(key), (str, int, float))), "")
    return Converted(
        body,
        title=first_heading(body),
        declared_title=declared.strip(),
        metadata=metadata,
        omitted=omissions.counts(),
    )
