"""The widget on a page of another site, in a real browser: with a strict policy, a hostile source, and faults."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lore.web.app import WebOptions
from lore.web.render import render_markdown

from tests.web.test_browser import HOSTILE, QUIET, SIZES
from tests.web.test_render import HOSTILE as PAYLOADS
from tests.web.world import SUGGESTION, Server, World, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

POLICY = (
    "default-src 'none'; script-src {lore}; connect-src {lore}; style-src 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A site</title>
<meta name="viewport" content="width=device-width"><script src="{lore}/widget.js" {data}></script></head>
<body><main><h1>A site</h1><p><a href="/other">Other page</a>
<a href="{lore}" data-lore-ask="{question}">Ask this</a></p>
<label>Name <input></label></main></body></html>"""

RAW = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<a href=\"javascript:document.title='owned'\" onclick=\"document.title='owned'\">x</a>",
    '<a href="https://a.example/?a=1&amp;b=&quot;>&quot;" style="position:fixed">x</a>',
    "<svg><a href=\"https://a.example/\"><iframe srcdoc='x'></iframe></a></svg>",
    '<p><form action="https://a.example/"><button>x</button></form>',
    "</div></section></dialog><p>x",
    "<" * 5_000 + "<p " * 5_000,
)
ORDINARY = (
    '# A\n\n1. one\n2. `a < b && c > "d"`\n   - *two* ~~three~~\n\n---\n\nline  \nbroken [1]',
    "| a | b |\n| --- | :-: |\n| 1 < 2 | `x\\|y` |",
    "```python\nif a < b and \"&lt;\" > '<p>':\n    return 1\n```",
    "[a](https://a.example/?q=%22&x=<y>) &amp;lt; &nbsp; <b>bold</b> ![image](https://a.example/i.png) \u202ex",
    "> quoted\n>\n> ```\n> code\n> ```\n\n5. five",
)
COMPARE = """async (html) => {
  const { safeNodes } = await import("/static/safe_html.js");
  const shape = (node) => node.nodeType === 3 ? node.data : node.localName + JSON.stringify(
    Object.fromEntries([...node.attributes].map(({ name, value }) => [name, value]).sort())) + children(node);
  const children = (node) => "(" + [...node.childNodes].map(shape).join("") + ")";
  const made = document.createElement("div");
  made.append(safeNodes(html));
  const parsed = new DOMParser().parseFromString(html, "text/html").body;
  for (const link of parsed.querySelectorAll("a[href^=http]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const link of parsed.querySelectorAll("a.citation")) link.removeAttribute("href");
  return [children(made), children(parsed), made.querySelectorAll(
    "script, img, svg, iframe, form, button, [style], [onclick], [onerror], a[href]:not([href^=http])").length];
}"""


class Site:
    """A site of somebody else, whose pages have the widget's tag and a policy without exceptions."""

    def __init__(self) -> None:
        self.lore, self.data, self.policy = "", "", POLICY
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = PAGE.format(lore=site.lore, data=site.data, question=SUGGESTION).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Security-Policy", site.policy.format(lore=site.lore))
                self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Visitor:
    """Somebody on that site, with what the console said."""

    def __init__(self, browser: Any, url: str, *, width: int = 1200, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.errors: list[str] = []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{url}/")
        self.open = self.page.locator("#lore-widget #open")
        self.dialog = self.page.locator("#lore-widget dialog")
        self.open.wait_for()

    def ask(self, question: str = SUGGESTION) -> None:
        self.dialog.locator("textarea").fill(question)
        self.dialog.locator("textarea").press("Enter")

    def answered(self, number: int = 1) -> Any:
        turn = self.dialog.locator(".turn").nth(number - 1)
        turn.locator(".actions").wait_for()
        return turn


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.stop()


def world_for(site: Site, folder: Path, **others: Any) -> World:
    return World(folder, options=WebOptions(sites=(site.url,)), **others)


@pytest.fixture
def world(site: Site, tmp_path: Path) -> Iterator[World]:
    made = world_for(site, tmp_path)
    yield made
    made.close()


@pytest.fixture
def server(world: World, site: Site) -> Iterator[Server]:
    with served(world) as running:
        site.lore = running.url
        yield running


@pytest.fixture
def visitor(chromium: Any, server: Server, site: Site) -> Iterator[Visitor]:
    opened = Visitor(chromium, site.url)
    yield opened
    assert opened.errors == []
    opened.context.close()


def test_ask_cite_follow_up_and_judge(visitor: Visitor, world: World) -> None:
    visitor.open.click()
    visitor.dialog.get_by_role("button", name=SUGGESTION).click()
    turn = visitor.answered()
    assert "Rotate the API key under Settings" in turn.locator(".answer").inner_text()
    assert "changed Jan 2, 2026" in turn.locator(".place").first.inner_text()
    turn.locator(".citation").first.click()
    assert turn.locator(".source.lit").count() == 1
    turn.get_by_role("button", name="Not helpful").click()
    turn.get_by_label("What was wrong?").fill("The command is outdated.")
    turn.get_by_role("button", name="Send").click()
    turn.locator("[aria-pressed=true]").wait_for()
    assert turn.locator(".reason").count() == 0
    visitor.ask("And how many calls does it allow?")
    second = visitor.answered(2).bounding_box()["y"]
    assert second - visitor.dialog.locator("#talk").bounding_box()["y"] < 60  # the new question is at the top
    assert world.pipeline.questions[1].history[0].content == SUGGESTION
    address = turn.get_by_role("link", name="Open as a page").get_attribute("href") or ""
    assert world.records
    [opinion] = world.records.get(address.rpartition("/")[2]).feedback
    assert (opinion.helpful, opinion.reason) == (False, "The command is outdated.")


def test_keys_open_it_keep_the_focus_inside_and_give_it_back(visitor: Visitor) -> None:
    page = visitor.page
    page.locator("input").focus()
    page.keyboard.press("Control+k")
    visitor.dialog.locator("textarea").wait_for()
    inside = "document.activeElement.id === 'lore-widget' || document.activeElement === document.body"
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(inside)
    page.keyboard.press("Escape")
    visitor.dialog.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.localName") == "input"
    page.keyboard.press("Control+k")
    visitor.dialog.wait_for()
    page.keyboard.press("Control+k")
    visitor.dialog.wait_for(state="hidden")


def test_the_conversation_goes_along_to_the_next_page_until_a_new_one(visitor: Visitor, world: World) -> None:
    visitor.page.get_by_text("Ask this").click()
    visitor.answered()
    visitor.page.keyboard.press("Escape")
    visitor.page.get_by_text("Other page").click()
    visitor.page.wait_for_url("**/other")
    visitor.open.click()
    assert visitor.answered().locator("h3").inner_text() == SUGGESTION
    assert len(world.pipeline.questions) == 1
    visitor.dialog.get_by_role("button", name="New conversation").click()
    visitor.page.reload()
    visitor.open.click()
    visitor.dialog.get_by_role("button", name=SUGGESTION).wait_for()
    assert visitor.dialog.locator(".turn").count() == 0


def test_an_answer_is_stopped_and_tried_again(visitor: Visitor, world: World) -> None:
    visitor.open.click()
    world.pipeline.gate.clear()
    visitor.ask()
    visitor.dialog.locator(".answer p").first.wait_for()
    visitor.dialog.get_by_role("button", name="Stop").click()
    visitor.dialog.get_by_role("alert").filter(has_text="Stopped.").wait_for()
    world.pipeline.gate.set()
    visitor.dialog.get_by_role("button", name="Try again").click()
    assert visitor.answered().locator(".notice").count() == 0


def test_a_server_that_dies_is_told(chromium: Any, site: Site, world: World) -> None:
    with served(world) as server:
        site.lore = server.url
        visitor = Visitor(chromium, site.url)
        visitor.open.click()
        world.pipeline.gate.clear()
        visitor.ask()
        visitor.dialog.locator(".answer p").first.wait_for()
        server.stop()
        told = visitor.dialog.get_by_role("alert").inner_text()
        assert "broke before the answer was complete" in told or "can't be reached" in told
        world.pipeline.gate.set()
        visitor.context.close()


def test_a_site_that_is_not_allowed_gets_a_link_instead(chromium: Any, site: Site, tmp_path: Path) -> None:
    world = World(tmp_path)
    with served(world) as server:
        site.lore = server.url
        visitor = Visitor(chromium, site.url)
        visitor.open.click()
        visitor.page.locator("#lore-widget a#open").wait_for()
        assert any("LORE_WEB_SITES" in line and site.url in line for line in visitor.errors)
        visitor.context.close()
    world.close()


def test_nothing_of_a_hostile_source_runs(chromium: Any, site: Site, tmp_path: Path) -> None:
    world = world_for(site, tmp_path, text=HOSTILE)
    with served(world) as server:
        site.lore = server.url
        visitor = Visitor(chromium, site.url)
        visitor.open.click()
        visitor.ask("How do I rotate the API key <b>now</b>?")
        turn = visitor.answered()
        assert turn.locator("h3").inner_text() == "How do I rotate the API key <b>now</b>?"
        for link in visitor.dialog.locator("a").all():
            assert (link.get_attribute("href") or "http").startswith("http")  # a refused address leaves its words
        assert visitor.dialog.locator("script, img").count() == 0
        assert visitor.page.title() == "A site"
        assert visitor.errors == []
        visitor.context.close()
    world.close()


def test_html_becomes_the_same_nodes_without_innerhtml_and_nothing_else_does(chromium: Any, server: Server) -> None:
    page = chromium.new_page()
    page.goto(server.url)
    for text in (*ORDINARY, *PAYLOADS):
        made, parsed, unsafe = page.evaluate(COMPARE, render_markdown(text, [1]))
        assert made == parsed and unsafe == 0, text
    for html in RAW:
        assert page.evaluate(COMPARE, html)[2] == 0, html
    assert "owned" not in page.title()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_it_is_accessible_and_fits(chromium: Any, server: Server, site: Site, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    visitor = Visitor(chromium, site.url, width=width, scheme=scheme)

    def check(view: str) -> None:
        visitor.page.wait_for_timeout(QUIET)
        found = Axe().run(visitor.page)
        assert found.violations_count == 0, f"{view}: {found.generate_report()}"
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert visitor.dialog.evaluate("panel => panel.scrollWidth <= panel.clientWidth"), view

    visitor.open.click()
    visitor.dialog.get_by_role("button", name=SUGGESTION).wait_for()
    check("welcome")
    visitor.ask()
    visitor.answered()
    check("answer")
    assert visitor.errors == []
    visitor.context.close()


def test_a_policy_with_a_nonce_needs_nothing_else_for_scripts(chromium: Any, server: Server, site: Site) -> None:
    site.policy, site.data = "default-src 'none'; script-src 'nonce-r4nd0m'; connect-src {lore}", 'nonce="r4nd0m"'
    visitor = Visitor(chromium, site.url)
    visitor.open.click()
    visitor.ask()
    visitor.answered()
    assert visitor.errors == []
    visitor.context.close()


def test_what_the_site_chose_counts(chromium: Any, server: Server, site: Site, world: World) -> None:
    site.data = 'data-title="Ask the docs" data-position="left" data-shortcut="none" data-sources="wiki, docs" defer'
    visitor = Visitor(chromium, site.url)
    assert visitor.open.inner_text().strip() == "Ask the docs"
    assert visitor.open.bounding_box()["x"] < 100
    visitor.page.keyboard.press("Control+k")
    assert visitor.dialog.count() == 0
    visitor.open.click()
    visitor.ask()
    visitor.answered()
    assert world.pipeline.questions[0].sources == ("wiki", "docs")
    visitor.context.close()
