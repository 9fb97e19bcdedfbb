"""HTML of answers: what Markdown means, and nothing that runs, hides or leads astray."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from lore.web.render import ATTRIBUTES, TAGS, render_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=//evil.example></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>*{display:none}</style>",
    "<form action=//evil.example><input name=q></form>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style></mglyph></math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<!--><img src=x onerror=alert(1)>-->",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/static/page.js)",
    '[x](https://a.example/" onmouseover="alert(1))',
    "[x](https://a.example/'onclick='alert(1))",
    '[x](<https://a.example/"><script>alert(1)</script>>)',
    '![x](https://a.example/i.png" onerror="alert(1))',
    "![x](javascript:alert(1))",
    "![<script>alert(1)</script>](https://a.example/i.png)",
    "<https://a.example/<script>>",
    "<javascript:alert(1)>",
    "```<script>\nalert(1)\n```",
    "```html\n<script>alert(1)</script>\n```",
    '```"><img src=x onerror=alert(1)>\nx\n```',
    "`<script>alert(1)</script>`",
    "| <script>alert(1)</script> | b |\n| --- | --- |\n| <img src=x onerror=alert(1)> | d |",
    "[1]<script>alert(1)</script>[1](javascript:alert(1))",
    "# <img src=x onerror=alert(1)>",
    "> <details open ontoggle=alert(1)>x</details>",
    "a <b id=question name=send class=citation data-number=1 style='position:fixed'>b</b>",
]


class Reader(HTMLParser):
    """Elements and attributes as a browser's parser finds them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_text_or_harmless_links(text: str) -> None:
    for written in (text, f"Word {text} word", f"- item\n\n  {text}", f"> {text}"):
        for tag, attributes in Reader(render_markdown(written, {1})).elements:
            assert tag in TAGS and tag not in ("script", "img", "style")
            assert attributes.keys() <= ATTRIBUTES.get(tag, set())
            href = attributes.get("href")
            assert href is None or href.startswith(("https://", "#source-1"))


def test_markup_of_the_text_is_shown_as_it_was_written() -> None:
    assert "<script>alert(1)</script>" in Reader(render_markdown("a <script>alert(1)</script> b")).text
    assert "<div onclick=x>hi</div>" in Reader(render_markdown("<div onclick=x>hi</div>")).text


def test_a_citation_is_a_link_where_it_cites_and_text_elsewhere() -> None:
    html = render_markdown("Run it [1], not [2] or `x[1]`.\n\n```\ny[1]\n```\n", {1})
    assert html.count('class="citation"') == 1
    assert '<a class="citation" href="#source-1" data-number="1">1</a>' in html
    assert "[2]" in html and "x[1]" in html and "y[1]" in Reader(html).text


def test_markdown_keeps_its_structure_and_code_its_colours() -> None:
    html = render_markdown("1. a\n2. b\n\n| h |\n| --- |\n| c |\n\n```python\ndef f(): pass\n```\n\n~~old~~ **new**")
    for piece in ("<ol>", "<th>h</th>", '<span class="k">def</span>', "<s>old</s>", "<strong>new</strong>"):
        assert piece in html


def test_text_that_turns_around_is_set_straight() -> None:
    assert Reader(render_markdown("invoice‮fdp.exe⁦x")).text.strip() == "invoicefdp.exex"


def test_a_huge_text_ends_soon() -> None:
    assert len(render_markdown("[" * 70_000)) < 80_000
    assert render_markdown("> " * 25_000) is not None
