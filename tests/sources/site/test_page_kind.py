"""Pages without content, and ordinary pages that look a little like them."""

from __future__ import annotations

import pytest
from lore.convert.html.parsing import parse_html
from lore.sources.site.page_kind import PageKind, kind_of, text_digest

LONG = "<p>" + "The server answers so when it has no page at the address that it was asked for. " * 12 + "</p>"
FORM = "<form><input name=user><input type=password><button>Go</button></form>"


def titled(title: str, body: str = "<p>Sorry.</p>") -> str:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<html></html>",
        titled("Docs", "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>"),
        titled("Docs", "<div id=app>Loading …</div><script>go()</script>"),
        titled("Docs", "<div>This page requires JavaScript. Please turn on JavaScript and reload.</div>"),
        titled("Diagram", '<img src="a.png" alt="a diagram">'),
        titled("Docs", "<header>Docs</header><nav>Home, Guide</nav><main></main><footer>© Example</footer>"),
        titled("Docs", '<div role="navigation">Home</div><svg><text>Docs</text></svg><select><option>en</select>'),
    ],
)
def test_empty(page: str):
    assert kind_of(parse_html(page)) is PageKind.EMPTY


@pytest.mark.parametrize(
    "title",
    [
        "404",
        "Error 404",
        "404 Not Found",
        "Not Found",
        "Page not found | Example Docs",
        "Example Docs - Page Not Found",
        "Oops! That page can't be found.",
        "Sorry, this page isn’t available",
        "The page you are looking for doesn't exist",
        "The requested URL was not found",
        "Seite nicht gefunden",
    ],
)
def test_soft_404(title: str):
    assert kind_of(parse_html(titled(title))) is PageKind.MISSING
    assert kind_of(parse_html(f"<h1>{title}</h1><p>Sorry.</p>"), "/guide/missing") is PageKind.MISSING
    assert kind_of(parse_html(titled(title, LONG))) is PageKind.CONTENT
    assert kind_of(parse_html(titled(title)), "/errors/404") is PageKind.CONTENT
    assert kind_of(parse_html(titled(title)), "/http/not-found.html") is PageKind.CONTENT
    assert kind_of(parse_html(titled(title)), "/404.html") is PageKind.MISSING


def test_login_form():
    assert kind_of(parse_html(titled("Sign in", f"<h1>Sign in</h1>{FORM}<p>Forgot it?</p>"))) is PageKind.LOGIN
    assert kind_of(parse_html(titled("Forms", f"<h1>Forms</h1>{LONG}{FORM}"))) is PageKind.CONTENT


@pytest.mark.parametrize(
    "page",
    [
        titled("Page 5", "<h1>Page 5</h1><p>Text.</p>"),
        titled("Errors when files are not found"),
        titled("Command not found"),
        titled("Module not found: how to fix it"),
        titled("JavaScript", "<p>You need JavaScript 1.5 for this.</p>" + LONG),
        titled("Maintenance", "<p>Maintenance is on Mondays.</p>"),
        titled("Docs", "<main><header><h1>Docs</h1></header><aside>Note this.</aside></main>"),
        titled("Docs", "<section><footer>Only here</footer></section>"),
        titled("Search", "<form><input name=q></form><p>Search the docs.</p>"),
    ],
)
def test_content(page: str):
    assert kind_of(parse_html(page)) is PageKind.CONTENT


def test_texts_are_compared_without_times_and_ids():
    def digest(text: str) -> str:
        return text_digest(parse_html(titled("Docs", f"<nav>{text}</nav><p>{text}</p>")))

    assert digest("Back soon, 09:31:02, request 7f3a9c12d4") == digest("Back soon, 10:00:59, request 99ab33cd21")
    assert digest("Back on 2026-01-06") == digest("Back on 2026-02-11")
    assert digest("Chapter 1") != digest("Chapter 2")
    assert digest("One") != digest("Two")
