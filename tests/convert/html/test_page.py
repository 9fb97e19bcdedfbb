from __future__ import annotations

import pytest
from lore.convert import ANCHORS, convert
from lore.errors import ConversionError
from lore.types import Document

from tests.convert.html.pages import text_around
from tests.fakes import make_document

PROSE = "The scheduler reads every file in the folder and starts what is due, once a minute by default."


def html(body: str, head: str = "", **changes: object) -> Document:
    text = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
    return convert(make_document(text=text, format="html", **({"title": ""} | changes)))


def test_only_the_main_content_is_kept() -> None:
    page = html(
        f"""
        <div class="cookie-consent">We use cookies to make this better for you and everyone.</div>
        <nav><a href="/">Home</a> <a href="/docs">Docs</a></nav>
        <header><div>Site header that is long enough to be a sentence.</div></header>
        <main><h1>Scheduler</h1><p>{PROSE}</p>
          <div class="share-buttons">Share this page with all of your friends</div>
          <script>var secret = function() {{ return 1 }}</script><style>.a {{ color: red }}</style>
          <noscript>Please enable JavaScript to see this page.</noscript>
          <p hidden>A hidden note that nobody sees in a browser.</p>
          <p style="display: none">Another hidden note that nobody sees.</p>
        </main>
        <aside>Other things to read on this wonderful site today.</aside>
        <div id="sidebar">Popular posts of the week, chosen by an editor.</div>
        <footer>Copyright by the company that made this website.</footer>"""
    )
    assert page.text == f"# Scheduler\n\n{PROSE}\n"


@pytest.mark.parametrize(
    "page",
    [
        "<!doctype html><title>S</title><main><h1>A</h1><p>One text of it.</p></main>",
        "<html><head><title>S</title><link rel=x href=y><meta name=z><section><h1>A</h1><p>One text of it.</section>",
        "<title>S</title><article><h1>A</h1></article>One text of it.",
        "<title>S</title>\n<doc-page><h1>A</h1><p>One text of it.</p></doc-page><script>no()</script>",
        "<html><head><title>S</title><header><h1>A</h1></header></head><body>One text of it.</body></html>",
    ],
)
def test_a_page_may_leave_out_its_body_tag(page: str) -> None:
    assert convert(make_document(text=page, format="html", title="")).text == "# S\n\n# A\n\nOne text of it.\n"


def test_without_a_main_element_the_densest_part_is_found() -> None:
    links = "".join(f'<li><a href="/{i}">Some other page of the site {i}</a></li>' for i in range(30))
    page = html(f"<div><div><div><p>{PROSE}</p><p>{PROSE}</p></div></div><div><ul>{links}</ul></div></div>")
    assert page.text.count(PROSE) == 2
    assert "Some other page" not in page.text


def test_a_listing_of_posts_is_its_longest_post_but_sections_stay_together() -> None:
    listing = html(
        f"<main><article><p>{PROSE * 5}</p></article>" + "<article><p>Another short post here.</p></article>" * 3
    )
    assert "Another short post" not in listing.text
    sections = html("<main>" + "".join(f"<article><p>{PROSE} {i}</p></article>" for i in range(6)) + "</main>")
    assert sections.text.count(PROSE) == 6


def test_a_page_whose_every_part_is_named_like_boilerplate_keeps_its_text() -> None:
    page = html("<main>" + "".join(f'<div class="widget"><p>{PROSE} {i}</p></div>' for i in range(5)) + "</main>")
    assert page.text.count(PROSE) == 5


def test_the_licence_of_a_page_travels_with_its_text() -> None:
    licence = '<div>This work is licensed under <a rel="license" href="https://l.example">CC BY 4.0</a>.</div>'
    assert (
        "This work is licensed under CC BY 4.0." in html(f"<main><p>{PROSE}</p></main><footer>{licence}</footer>").text
    )


@pytest.mark.parametrize(
    "markup",
    [
        '<pre><code class="language-python">{}</code></pre>',
        '<pre class="lang-python">{}</pre>',
        '<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>{}</pre></div></div>',
        '<div class="highlight highlight-source-python"><pre>{}</pre></div>',
        '<pre data-lang="python">{}</pre>',
    ],
)
def test_code_keeps_its_indentation_and_language(markup: str) -> None:
    code = "def f(a):\n    if a:\n\n\n        return a &lt; 1"
    page = html(f"<main><p>{PROSE}</p>{markup.format(code)}</main>")
    assert "```python\ndef f(a):\n    if a:\n\n\n        return a < 1\n```" in page.text


def test_code_survives_highlighters() -> None:
    lines = '<span class="line"><span class="k">def</span> f():</span><br><span class="line">    <b>pass</b></span>'
    assert "```\ndef f():\n    pass\n```" in html(f"<main><p>{PROSE}</p><pre>{lines}</pre></main>").text
    numbered = '<table><tr><td class="linenos"><pre>1\n2</pre></td><td><pre>a\n  b</pre></td></tr></table>'
    text = html(f"<main><p>{PROSE}</p>{numbered}</main>").text
    assert "```\na\n  b\n```" in text
    assert "1\n2" not in text


def test_lines_of_code_that_end_twice_are_not_apart() -> None:
    lines = "".join(f"<div class=token-line><span>{line}</span><br></div>" for line in ("if x:", "    y()"))
    page = html(f'<p>{PROSE}</p><pre class="language-py"><code>{lines}</code></pre>')
    assert "```py\nif x:\n    y()\n```" in page.text


def test_descriptions_of_terms_and_figures_keep_their_parts_apart() -> None:
    caption = "<p>The caption.</p><div class=legend><p>The legend.</p></div>"
    page = html(
        f"<p>{PROSE}</p><dl><dt>port<span class=classifier>int</span></dt><dd>Of the server.</dd></dl>"
        f"<figure><img src=/a.png alt=A><figcaption>{caption}</figcaption></figure>"
        '<dl><dt>run(<abbr title="Keyword-only parameters separator">*</abbr>, share)</dt><dd>Runs.</dd></dl>'
    )
    assert "**port : int**" in page.text
    assert "The caption.\n\nThe legend." in page.text and "*The" not in page.text
    assert "separator" not in page.text


def test_code_with_backticks_gets_a_longer_fence() -> None:
    assert "````\n```\nx\n```\n````" in html(f"<main><p>{PROSE}</p><pre>```\nx\n```</pre></main>").text


def test_tables_stay_tables() -> None:
    table = (
        "<table><tr><th>Name</th><th>Use</th></tr><tr><td><code>a|b</code></td><td>x<br>y</td></tr>"
        '<tr><td colspan="2"><a href="/u">wide</a></td></tr></table>'
    )
    text = html(f"<main><p>{PROSE}</p>{table}</main>").text
    assert "| Name | Use |\n| --- | --- |\n| `a\\|b` | x y |\n| [wide](https://docs.example.com/u) |" in text


def test_financial_tables_lose_their_empty_columns_and_join_their_signs() -> None:
    row = "<tr><td>{}</td><td></td><td>$</td><td>{}</td><td>%</td></tr>"
    table = f"<table>{row.format('Revenue', '1,200')}{row.format('Cost', '300')}</table>"
    assert "| Revenue | $1,200% |\n| --- | --- |\n| Cost | $300% |" in html(f"<main><p>{PROSE}</p>{table}</main>").text


def test_layout_tables_are_opened() -> None:
    bullet = "<table><tr><td>•</td><td>First point</td></tr></table>"
    inner = "<table><tr><td>x</td><td>y</td></tr><tr><td>1</td><td>2</td></tr></table>"
    layout = f"<table><tr><td><h2>Part</h2><pre>a\n  b</pre></td><td>{inner}</td></tr></table>"
    text = html(f"<main><p>{PROSE}</p>{bullet}{layout}</main>").text
    assert "- First point" in text
    assert "## Part\n\n```\na\n  b\n```" in text
    assert "| x | y |\n| --- | --- |\n| 1 | 2 |" in text


def test_links_are_kept_and_made_absolute_and_data_is_dropped() -> None:
    text = html(
        f'<main><p>{PROSE} <a href="../b.html" title="tip">b</a> <a href="javascript:x()">run</a>'
        '<img src="data:image/png;base64,AAAA" alt="inline"> <img src="i.png" alt="Diagram"><img src="j.png">'
        '<a href="/empty"></a></p></main>',
        url="https://docs.example.com/x/a.html",
    ).text
    assert "[b](https://docs.example.com/b.html)" in text
    assert "![Diagram](https://docs.example.com/x/i.png)" in text
    assert "run" in text
    for dropped in ("javascript", "AAAA", "data:", "j.png", "empty", "tip"):
        assert dropped not in text


def test_headings_lose_their_permalinks_even_inside_paragraphs() -> None:
    text = html(f'<main><p><h2>Set up <a class="headerlink" href="#s">¶</a></h2>{PROSE}</p></main>').text
    assert f"## Set up\n\n{PROSE}" in text


def test_admonitions_are_content() -> None:
    assert (
        "Mind the gap" in html(f'<main><p>{PROSE}</p><aside class="admonition note"><p>Mind the gap</p></aside>').text
    )


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>Scheduler — Airflow docs</title>", "<h1>Scheduler</h1>", "Scheduler"),
        ("<title>Scheduler — Airflow docs</title>", "<h1>1</h1>", "Scheduler — Airflow docs"),
        ('<title>Site</title><meta property="og:title" content="Shared name">', "", "Shared name"),
        ("", "<h1>Alone</h1>", "Alone"),
        ("", "", "page"),
    ],
)
def test_the_title(head: str, body: str, title: str) -> None:
    page = html(f"<main>{body}<p>{PROSE}</p></main>", head, id="fake:docs/page.html", url="")
    assert page.title == title
    assert title == "page" or page.text.startswith(f"# {title}\n")


def test_text_that_looks_like_markdown_stays_text() -> None:
    text = html(f"<main><p># no heading</p><p>1. no list</p><p>{PROSE}</p></main>").text
    assert "\\# no heading" in text
    assert "1\\. no list" in text


@pytest.mark.parametrize("tag", ["div", "b", "blockquote", "ul><li"])
def test_deep_nesting_neither_recurses_nor_loses_the_text(tag: str) -> None:
    assert "the deep text" in html(f"<{tag}>" * 600 + "the deep text").text


def test_absurd_nesting_is_an_error_of_the_document() -> None:
    with pytest.raises(ConversionError, match="nests its elements too deeply"):
        html("<div>" * 50_000 + "the deep text")


@pytest.mark.parametrize("text", ["", "   ", "<", "<html", "<!DOCTYPE html>", "&#0;", "<p>\x00", "<![CDATA[x"])
def test_broken_pages_do_not_raise(text: str) -> None:
    assert convert(make_document(text=text, format="html")).format == "markdown"


@pytest.mark.parametrize(
    "code",
    [
        '<div class="language-python highlight"><table class="highlighttable"><tbody><tr><td class="linenos"><div '
        'class="linenodiv"><pre><span></span><span class="normal">1</span></pre></div></td><td class="code"><div><pre>'
        "<span></span><code>run(1)</code></pre></div></td></tr></tbody></table></div>",
        '<div class="highlight-python notranslate"><table class="highlighttable"><tr><td class="linenos"><div '
        'class="linenodiv"><pre><span class="normal">1</span></pre></div></td><td class="code"><div class="highlight">'
        "<pre><span></span>run(1)</pre></div></td></tr></table></div>",
        '<figure class="highlight language-python"><table><tr><td class="gutter"><pre>1</pre></td>'
        '<td class="code"><pre>'
        "run(1)</pre></td></tr></table></figure>",
    ],
    ids=["material", "sphinx", "hexo"],
)
def test_code_with_line_numbers_keeps_its_language(code: str) -> None:
    assert text_around(code) == "```python\nrun(1)\n```"


def test_code_does_not_take_the_language_of_its_page() -> None:
    assert (
        text_around('<div class="language-english"><pre>one</pre><pre>two</pre></div>')
        == "```\none\n```\n\n```\ntwo\n```"
    )


def test_headings_that_lead_back_to_the_contents_stay() -> None:
    links = '<a class="toc-backref" href="#id1" role="doc-backlink">Limits</a><a class="headerlink" href="#x">¶</a>'
    section = f'<section id="x"><h2>{links}</h2><p>Text.</p></section>'
    assert text_around(section) == "## Limits\n\nText."
    page = convert(make_document(text=f"<main><h1>A</h1>{section}</main>", format="html"))
    assert page.metadata[ANCHORS] == [["Limits", "x"]]


@pytest.mark.parametrize(
    "piece",
    [
        '<div class="sd-card"><div class="sd-card-body">Read.</div><div class="sd-card-footer">Words.</div></div>',
        '<div class="sidebar-note docutils container"><p>Read.</p><p>Words.</p></div>',
        '<pre class="mermaid"><code>graph LR\nRead --> Words.</code></pre>',
        '<p>The <abbr title="Words.">Read.</abbr></p>',
    ],
)
def test_parts_of_the_text_with_names_of_the_layout_stay(piece: str) -> None:
    text = text_around(piece)
    assert text.index("Read") < text.index("Words.")


def test_an_abbreviation_is_written_out_once() -> None:
    short = '<abbr title="Domain Name System">DNS</abbr>'
    assert text_around(f"<p>{short} and {short}.</p>") == "DNS (Domain Name System) and DNS."


@pytest.mark.parametrize(
    "piece",
    [
        '<p>run(x)<a class="reference internal" href="m.html"><span class="viewcode-link">[source]</span></a></p>',
        '<p>run(x)<a class="footnote-backref" href="#fnref:1">↩</a></p>',
    ],
)
def test_links_of_the_generator_go(piece: str) -> None:
    assert text_around(piece) == "run(x)"
