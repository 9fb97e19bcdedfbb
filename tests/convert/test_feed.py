from __future__ import annotations

import pytest
from lore.convert import convert
from lore.errors import ConversionError
from lore.types import Document

from tests.fakes import make_document


def xml(text: str) -> Document:
    return convert(make_document(text=text, format="xml", title="", id="fake:feed.xml"))


def test_rss_with_html_in_cdata_and_escaped() -> None:
    page = xml(
        """<?xml version="1.0" encoding="windows-1251"?>
        <rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
        <title>News &amp; more</title><description>All of it</description>
        <item><title>First &lt;b&gt;thing&lt;/b&gt;</title><link>https://n.example/1</link>
          <pubDate>Mon, 02 Jan 2006</pubDate><description>Short &lt;i&gt;words&lt;/i&gt;&lt;br&gt;here</description>
          <content:encoded><![CDATA[<h2>Inner</h2><p>Long <a href="https://x.example">text</a></p>
          <script>evil()</script><img src="data:image/png;base64,AA" alt="x">]]></content:encoded></item>
        </channel></rss>"""
    )
    assert page.title == "News & more"
    assert page.text.startswith(
        "# News & more\n\nAll of it\n\n## First **thing**\n\nMon, 02 Jan 2006 · <https://n.example/1>\n\n"
        "#### Inner\n\nLong [text](https://x.example)"
    )
    assert "Short *words*" in page.text
    assert "evil" not in page.text
    assert "base64" not in page.text


def test_a_description_that_the_content_repeats_is_said_once() -> None:
    item = "<title>t</title><encoded>One two three four</encoded><description>One two three</description>"
    assert xml(f"<rss><channel><item>{item}</item></channel></rss>").text.count("One two") == 1


def test_atom_and_rdf() -> None:
    atom = xml(
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><title>E</title>'
        '<link href="https://a.example/e"/><updated>2024-01-01</updated>'
        "<summary>Sum</summary></entry></feed>"
    )
    assert atom.text == "# A\n\n## E\n\n2024-01-01 · <https://a.example/e>\n\nSum\n"
    rdf = xml(
        '<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/"><channel><title>R</title></channel><item><title>I</title></item></rdf:RDF>'
    )
    assert rdf.text == "# R\n\n## I\n"


def test_other_xml_is_code_and_xhtml_a_page() -> None:
    assert xml("<config><a>1</a></config>").text == "```xml\n<config><a>1</a></config>\n```\n"
    assert xml("<html><body><h1>Hi</h1><p>A page in XHTML.</p></body></html>").text == "# Hi\n\nA page in XHTML.\n"


def test_entities_are_not_expanded_and_files_not_read() -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    text = xml(f"{bomb}<rss><channel><title>T &b; &f;</title></channel></rss>").text
    assert "aaaa" not in text
    assert "root:" not in text


@pytest.mark.parametrize("text", ["", "   ", "plain words"])
def test_what_is_no_xml_is_refused(text: str) -> None:
    with pytest.raises(ConversionError, match="isn't valid XML"):
        xml(text)
