"""Headings keep their anchors, whatever the site was made with, and sections are not taken for the layout."""

from __future__ import annotations

import pytest
from lore.convert import ANCHORS, convert
from lore.types import Document

from tests.fakes import make_document

PROSE = "The scheduler reads every file in the folder and starts what is due, once a minute by default."


def page(body: str) -> Document:
    text = f"<html><head><title>Page</title></head><body><main><h1>Page</h1><p>{PROSE}</p>{body}</main></body></html>"
    return convert(make_document(text=text, format="html", title=""))


@pytest.mark.parametrize(
    "markup",
    [
        '<section id="set-up"><h2>Set up<a class="headerlink" href="#set-up" title="Link">¶</a></h2>{}</section>',
        '<div class="section" id="x"><i id="y"></i><h2>Set up<a class="headerlink" href="#set-up">#</a></h2>{}</div>',
        '<h2 id="set-up">Set up<a class="hash-link" href="#set-up" aria-label="Direct link">​</a></h2>{}',
        '<h2 id="set-up" tabindex="-1">Set up <a class="header-anchor" href="#set-up">​</a></h2>{}',
        '<h2 id="user-content"><a id="x" class="anchor" href="#set-up"></a>Set up</h2>{}',
        '<h2><a name="set-up"></a>Set up</h2>{}',
        '<h2><span class="mw-headline" id="set-up">Set up</span><span>[<a href="/edit">edit</a>]</span></h2>{}',
        '<div id="set-up"><h2>Set up</h2>{}</div>',
    ],
)
def test_every_generator(markup: str) -> None:
    converted = page(markup.format(f"<p>{PROSE}</p>"))
    assert [anchor for words, anchor in converted.metadata[ANCHORS]] == ["set-up"]
    assert converted.metadata[ANCHORS][0][0].startswith("Set up")
    assert "\n## Set up" in converted.text
    assert "set-up" not in converted.text


@pytest.mark.parametrize("anchor", ["", "a b", "x" * 500])
def test_no_anchor(anchor: str) -> None:
    assert ANCHORS not in page(f'<h2 id="{anchor}">Set up</h2><p>{PROSE}</p>').metadata


def test_a_page_cannot_set_the_marks_itself() -> None:
    assert ANCHORS not in page(f'<h2 data-lore-anchor="x" data-lore-permalink="x">A</h2><p>{PROSE}</p>').metadata


@pytest.mark.parametrize("words", ["related-work", "navigation", "recommendations", "breadcrumbs", "share", "comments"])
@pytest.mark.parametrize(
    "markup",
    [
        '<section id="{0}"><h2>{0}</h2><p>What this section says.</p></section>',
        '<div class="section" id="{0}"><h2>{0}<a href="#{0}">¶</a></h2><p>What this section says.</p></div>',
        '<h4 id="{0}">{0}</h4><p>What this section says.</p>',
        '<dl><dt id="{0}">{0}</dt><dd>What this section says.</dd></dl>',
    ],
)
def test_a_section_is_no_part_of_the_layout(words: str, markup: str) -> None:
    text = page(markup.format(words)).text
    assert words in text
    assert "What this section says." in text


def test_names_of_the_layout_still_count() -> None:
    body = (
        '<div id="related"><h2>Related pages</h2><p>Other things to read here.</p></div><div id="share">Share it</div>'
    )
    assert page(body).text == f"# Page\n\n{PROSE}\n"
