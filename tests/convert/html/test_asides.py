"""Callouts, notes and sidebars of authors stay; asides of the layout and what is marked as no snippet go."""

from __future__ import annotations

import pytest
from lore.convert import convert
from lore.convert.omissions import OMITTED

from tests.convert.html.pages import PROSE, text_around
from tests.fakes import make_document

WARNING = "Never restart two nodes at once."


@pytest.mark.parametrize(
    "markup",
    [
        *(f'<aside class="starlight-aside starlight-aside--{kind}"><p>{{}}</p></aside>' for kind in ("tip", "danger")),
        *(
            f'<aside class="{kind}">{{}}</aside>'
            for kind in ("hint", "important", "success", "question", "bug", "seealso")
        ),
        '<aside role="note">{}</aside>',
        '<aside role="doc-tip">{}</aside>',
        '<div role="note">{}</div>',
        '<aside class="callout callout-info" role="complementary">{}</aside>',
        '<aside class="admonition caution"><p class="admonition-title">Caution</p>{}</aside>',
        "<aside><p>{}</p></aside>",
        '<aside class="sidebar"><p class="sidebar-title">Nodes</p><p>{}</p></aside>',
        '<div class="sidebar"><p class="first sidebar-title">Nodes</p><p class="last">{}</p></div>',
        '<div class="admonition-sidebar-title sidebar admonition"><p>{}</p><p class="sidebar-title">Nodes</p></div>',
        '<section><aside class="topic"><p class="topic-title">Nodes</p><p>{}</p></aside></section>',
        '<aside class="footnote brackets" id="id1" role="doc-footnote"><p>{}</p></aside>',
    ],
)
def test_what_an_author_set_apart_stays(markup: str) -> None:
    assert WARNING in text_around(markup.format(WARNING))


@pytest.mark.parametrize(
    "markup",
    [
        '<aside class="toc"><p>{}</p></aside>',
        '<aside class="related-articles"><p>{}</p></aside>',
        '<aside><ul><li><a href="/a">Never restart</a></li><li><a href="/b">two nodes at once.</a></li></ul></aside>',
        '<aside role="complementary"><p>{}</p></aside>',
        '<aside id="newsletter"><p>{}</p></aside>',
        '<div class="sidebar"><p>{}</p></div>',
        "<p data-nosnippet>{}</p>",
        '<div data-nosnippet=""><h2>Prices</h2><p>{}</p></div>',
        "<p>{}</p>".replace("<p>", '<section data-nosnippet="true"><p>') + "</section>",
    ],
)
def test_what_the_layout_adds_goes(markup: str) -> None:
    assert text_around(markup.format(WARNING)) == ""


def test_asides_outside_the_content_go() -> None:
    page = f"<body><main><h1>Page</h1><p>{PROSE}</p></main><aside><p>{WARNING}</p></aside></body>"
    assert WARNING not in convert(make_document(text=page, format="html")).text


def test_omissions_are_counted_by_kind() -> None:
    page = f"""
    <body><nav>Home Docs Blog</nav><main><h1>Page</h1><p>{PROSE}</p><p data-nosnippet>{WARNING}</p>
    <div hidden>Saved for later.</div><p>Was this page helpful?</p></main><p>An odd line at the end.</p></body>
    """
    omitted = convert(make_document(text=page, format="html")).metadata[OMITTED]
    assert omitted == {
        "marked as no snippet": len(WARNING),
        "navigation": 14,
        "hidden": 16,
        "boilerplate": 22,
        "outside the main content": 23,
    }
    plain = convert(make_document(text=f"<main><h1>Page</h1><p>{PROSE}</p></main>", format="html"))
    assert OMITTED not in plain.metadata
