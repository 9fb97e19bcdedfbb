"""A static site from a folder of Markdown: one page for each file, with the widget's tag."""

from __future__ import annotations

import posixpath
import shutil
from html import escape
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from lore.convert.markdown.slugs import heading_slugs
from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["build"]

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="stylesheet" href="/style.css">
<script src="{lore}/widget.js" data-title="Ask the studio" data-theme="light" defer></script>
</head>
<body>
<header><a href="/">Saltmarsh Studio</a></header>
<main>
{body}
</main>
<footer>An example of Lore. The studio and its harbour are fictional.
<a href="{lore}/" data-lore-ask="">Ask a question</a></footer>
</body>
</html>
"""


def build(content: Path, style: Path, target: Path, lore: str) -> None:
    """Write the site into an empty `target`; `lore` is the address of `lore serve`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copy(style, target / "style.css")
    for file in sorted(content.rglob("*.md")):
        path = PurePosixPath(file.relative_to(content).as_posix())
        folder = target / _address(path).strip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(_page(file.read_text(encoding="utf-8"), path, lore), encoding="utf-8")


def _address(path: PurePosixPath) -> str:
    """Return the address of a file's page, as the source's declaration has it."""
    return "/" if path.name == "index.md" else f"/{path.with_suffix('')}"


def _page(text: str, path: PurePosixPath, lore: str) -> str:
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>")
    tokens = markdown.parse(text)
    words = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    openings = [token for token in tokens if token.type == "heading_open"]
    slugs = heading_slugs(zip(words, words, strict=True), "github")
    for token, slug in zip(openings, slugs, strict=True):
        token.attrSet("id", slug)
    for token in tokens:
        for child in token.children or ():
            _lead_to_page(child, path)
    body = markdown.renderer.render(tokens, markdown.options, {})
    return PAGE.format(title=escape(words[0]), body=body, lore=escape(lore))


def _lead_to_page(token: Token, path: PurePosixPath) -> None:
    address = urlsplit(str(token.attrs.get("href", "")))
    if not address.netloc and address.path.endswith(".md"):
        there = PurePosixPath(posixpath.normpath(f"/{path.parent}/{address.path}")).relative_to("/")
        token.attrSet("href", address._replace(path=_address(there)).geturl())
