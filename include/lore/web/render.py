"""Markdown of answers and sources as HTML that is safe to show: no markup, script or address of others survives."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import nh3

from lore.markdown import parser
from lore.visible_text import UNSEEN, web_address

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["render_markdown"]

MAX_CHARACTERS = 60_000
"""Longer texts are shown as they are: no answer comes near."""
TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {
    "a": {"href", "class", "data-number", "rel"},
    "span": {"class"},
    "code": {"class"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
}
_CITATION = re.compile(r"\[(\d{1,3})\]")
_DIRECTION = dict.fromkeys((1564, 8206, 8207, *range(8234, 8239), *range(8294, 8298)))


def render_markdown(text: str, citations: Collection[int] = ()) -> str:
    """Return Markdown as HTML. `[n]` with a number of `citations` becomes a link to the source with that number.

    HTML in the text is shown as text, images become links, and addresses other than http(s) are dropped.
    """
    text = text.translate(_DIRECTION)
    if len(text) > MAX_CHARACTERS:
        return f"<pre><code>{escape(text)}</code></pre>"
    tokens = parser().parse(text)
    for token in tokens:
        for child in token.children or ():
            _tame(child)
    html = _renderer().renderer.render(tokens, _renderer().options, {"citations": frozenset(citations)})
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https"}, link_rel=None)


def _tame(token: Token) -> None:
    if token.type == "link_open":
        address = web_address(str(token.attrs.get("href") or ""))
        token.attrs = {"href": address, "rel": "noopener noreferrer nofollow"} if address else {}


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    markdown.add_render_rule("text", _text)
    markdown.add_render_rule("text_special", _text)
    markdown.add_render_rule("html_inline", _as_text)
    markdown.add_render_rule("html_block", lambda *arguments: f"<p>{_as_text(*arguments)}</p>")
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("fence", _code)
    markdown.add_render_rule("code_block", _code)
    return markdown


def _text(_: Any, tokens: list[Token], at: int, __: Any, env: dict[str, Any]) -> str:
    def link(match: re.Match[str]) -> str:
        number = match[1]
        if int(number) not in env["citations"]:
            return match[0]
        return f'<a class="citation" href="#source-{number}" data-number="{number}">{number}</a>'

    return _CITATION.sub(link, escape(tokens[at].content, quote=False))


def _as_text(_: Any, tokens: list[Token], at: int, *__: Any) -> str:
    return escape(tokens[at].content, quote=False)


def _image(_: Any, tokens: list[Token], at: int, *__: Any) -> str:
    words = escape(tokens[at].content or "image", quote=False)
    address = web_address(str(tokens[at].attrs.get("src") or ""))
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">{words}</a>' if address else words


def _code(_: Any, tokens: list[Token], at: int, *__: Any) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import TextLexer, get_lexer_by_name
    from pygments.util import ClassNotFound

    token = tokens[at]
    language = (token.info.split() or [""])[0] if token.type == "fence" else ""
    try:
        lexer = get_lexer_by_name(language) if language else TextLexer()
    except ClassNotFound:
        lexer = TextLexer()
    code = highlight(token.content.translate(UNSEEN), lexer, HtmlFormatter(nowrap=True))
    return f"<pre><code>{code}</code></pre>\n"
