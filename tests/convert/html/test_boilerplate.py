"""Additions of site generators to each page go; the same words inside the text stay."""

from __future__ import annotations

import re
import time

import pytest
from lore.convert import convert

from tests.fakes import make_document

PROSE = "The scheduler reads every file in the folder and starts what is due, once a minute by default."


def text_of(piece: str) -> str:
    body = f"<html><head><title>Page</title></head><body><main><h1>Page</h1><p>{PROSE}</p>{piece}<p>{PROSE}</p></main>"
    return convert(make_document(text=body, format="html", title="")).text


def letters(text: str) -> str:
    return re.sub(r"(?m)^\d+\.|\]\([^)]*\)|\W", "", text)


PLAIN = f"# Page\n\n{PROSE}\n\n{PROSE}\n"


@pytest.mark.parametrize(
    "words",
    [
        "Was this page helpful?",
        "Was this helpful? Yes No",
        "Is this article useful to you?",
        "Did this answer your question?",
        "Did you find this page helpful? 👍 👎",
        "How helpful was this page?",
        "Edit this page",
        "Edit this page on GitHub",
        "Edit on GitHub",
        "View page source",
        "Show Source",
        "Improve this doc",
        "Suggest a change on this page",
        "Suggest edits",
        "Report an issue with this page",
        "Create documentation issue",
        "Open an issue",
        "Send us feedback",
        "Thank you for your feedback!",
        "Glad to hear it! Please tell us how we can improve.",
        "Last updated on May 1, 2024",
        "Last modified 2024-05-01 10:00 by Jane Doe",
        "This page was last edited on 1 May 2024, at 10:00 (UTC).",
        "Last updated 3 months ago",
        "Copy page",
        "On this page",
        "In this article",
        "Table of contents",
        "Back to top",
        "Skip to main content",
        "« Previous",
        "Next →",
        "Previous topic",
        "Ask AI",
        "Powered by GitBook",
        "Built with MkDocs Material",
    ],
)
@pytest.mark.parametrize(
    "markup", ["<p>{}</p>", "<div><div><span>{}</span></div></div>", "<h2>{}</h2>", "<a href='/x'>{}</a>"]
)
def test_boilerplate_goes(words: str, markup: str) -> None:
    assert text_of(markup.format(words)) == PLAIN


@pytest.mark.parametrize("word", ["Copy", "Copied!", "Share", "Feedback", "Previous", "Next", "Loading"])
@pytest.mark.parametrize(
    "markup",
    [
        "<a href='/x'>{}</a>",
        "<p><a href='/x'>{}</a></p>",
        "<div class='copy-toolbar'><span>{}</span></div>",
        "<div class='btn'>{}</div>",
        "<button>{}</button>",
    ],
)
def test_words_of_buttons_go_in_what_is_a_button(word: str, markup: str) -> None:
    assert text_of(markup.format(word)) == PLAIN


def test_a_button_without_a_name_goes_beside_its_code() -> None:
    assert "Copy" not in text_of("<div><span>Copy</span><pre>make demo</pre></div>")


def test_a_heading_goes_with_the_question_below_it() -> None:
    assert text_of("<h2>Feedback</h2><p>Was this page helpful?</p>") == PLAIN


@pytest.mark.parametrize(
    "piece",
    [
        "<p>To edit this page, open a pull request.</p>",
        "<p>Click <b>Next</b> to go on.</p>",
        "<p><b>Copy</b> the file to the folder.</p>",
        "<p>Was this helpful in finding the error? Then tell the team.</p>",
        "<h2>Copy files between buckets</h2>",
        "<h2>Next steps</h2>",
        "<h3 id='copy'>copy</h3>",
        "<section id='feedback'><h2>Feedback</h2></section>",
        "<h2>Feedback loops in a control plane</h2>",
        "<h3>Copy</h3><p>Copies the file to a folder.</p>",
        "<ul><li>Copy</li><li>Share</li></ul>",
        "<ul><li>Copy</li></ul>",
        "<ol><li>Edit this page</li><li>Report an issue</li></ol>",
        "<table><tr><th>Menu</th></tr><tr><td>Share this page</td></tr></table>",
        "<dl><dt>Next</dt><dd>The page after this one.</dd></dl>",
        "<ul><li><a href='copy.html'>copy</a></li><li><a href='move.html'>move</a></li></ul>",
        "<ul><li>Changed the default port to 8080.</li></ul>",
        "<p>Updated dependencies to version 4</p>",
        "<p>Changed on the fly at 10 requests a second.</p>",
        "<h2>2.3</h2><p>Updated on 2024-03-05.</p>",
        "<ul><li>Updated on 5 March 2024.</li></ul>",
        "<dl class='py'><dt class='sig'><span class='descname'><span>copy</span></span>(src)</dt><dd>Copies.</dd></dl>",
        "<dl class='py'><dt class='sig'><span class='descname'><span>next</span></span></dt><dd>Goes on.</dd></dl>",
        f"{'<p>Long.</p>' * 200}<p>Built with Python 3.11 and uv.</p>{'<p>Long.</p>' * 200}",
        "<p>Last updated rows win when two writers meet.</p>",
        "<p>Share this token with nobody.</p>",
        "<pre>Copy</pre>",
        "<p><code>copy</code></p>",
        "<table><tr><td>Next</td><td>Previous</td></tr><tr><td>a</td><td>b</td></tr></table>",
        "<ul><li>Open an issue before you start.</li><li>Next, write a test.</li></ul>",
        '<ul><li><a href="#a">a</a>: what it is for</li><li><a href="#b">b</a>: and this</li></ul>',
        '<ul><li><a href="/a">First page</a></li><li><a href="/b">Second page</a></li></ul>',
    ],
)
def test_what_only_looks_like_it_stays(piece: str) -> None:
    assert letters(text_of(piece)) == letters(re.sub("<[^<>]*>", " ", f"Page {PROSE} {piece} {PROSE}"))


def test_contents_of_the_page_itself_go() -> None:
    links = '<li><a href="#a">Install</a><ul><li><a href="#b">On Linux</a></li></ul></li><li><a href="#c">Run</a></li>'
    assert text_of(f"<p>On this page:</p><ul>{links}</ul>") == PLAIN


def test_a_deep_page_takes_no_longer_than_a_flat_one() -> None:
    started = time.process_time()
    text_of("<div>" * 1500 + "<i></i>" * 20_000 + "deep")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "piece",
    [
        '<div class="theme-doc-version-banner alert">This is unreleased documentation for the next version.</div>',
        '<span class="theme-doc-version-badge">Version: 3.x</span>',
        '<div class="docs-page-meta">Owned by the platform team and its many friends.</div>',
        '<span class="material-icons">content_copy</span>',
        '<div id="onetrust-consent-sdk"><p>We and our partners store cookies on your device.</p></div>',
        '<div id="cookiebot">We and our partners store cookies on your device for this and that.</div>',
        '<form class="md-feedback"><legend>Was this page helpful?</legend><p>Thanks for your feedback!</p></form>',
        '<p class="feedback--response">Sorry to hear that. Please tell us how we can improve.</p>',
        '<a rel="next" href="/b">Chapter 2: Operators of the house</a>',
        '<nav class="pagination-nav"><a href="/a">Previous Setup</a></nav>',
        '<footer><a href="/edit">Edit this page</a></footer>',
        '<div class="rating-container"><div class="rate-top-banner">Was this entry helpful?</div></div>',
    ],
)
def test_pieces_of_known_generators_go(piece: str) -> None:
    assert text_of(piece) == PLAIN


def test_a_title_is_found_beside_its_permanent_link() -> None:
    page = '<title>Dags — Airflow 3</title></head><body><main><h1>Dags<a class="headerlink" href="#dags">#</a></h1>'
    converted = convert(make_document(text=f"<html><head>{page}<p>{PROSE}</p></main>", format="html", title=""))
    assert converted.title == "Dags"
    assert converted.text == f"# Dags\n\n{PROSE}\n"
