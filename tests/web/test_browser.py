"""A reader's journeys in a real browser: ask, follow up, look at sources, judge, come back; with faults; accessible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lore.errors import StoreError
from lore.web.app import WebOptions

from tests.web.world import SUGGESTION, Server, World, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SIZES = (320, 768, 1440)
QUIET = 200
HOSTILE = (
    "# Keys\n\nRotate the API key <script>document.title='owned'</script> now "
    "<img src=x onerror=\"document.title='owned'\"> [click](javascript:document.title='owned') ![i](https://a.example/i.png)"
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    with served(world) as running:
        yield running


class Reader:
    """A page, with what its console said."""

    def __init__(self, browser: Any, url: str, *, width: int = 1200, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.errors: list[str] = []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.url = url
        self.page.goto(f"{url}/")
        self.page.wait_for_selector("#known-list li")

    def ask(self, question: str = SUGGESTION) -> None:
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")

    def answered(self, number: int = 1) -> Any:
        """The turn with that number, once it is complete."""
        turn = self.page.locator(".turn").nth(number - 1)
        turn.locator(".actions").wait_for()
        return turn


@pytest.fixture
def reader(chromium: Any, server: Server) -> Iterator[Reader]:
    opened = Reader(chromium, server.url)
    yield opened
    assert opened.errors == []
    opened.context.close()


def test_ask_look_at_a_source_judge_and_share(reader: Reader, world: World) -> None:
    page = reader.page
    page.get_by_role("button", name=SUGGESTION).click()
    turn = reader.answered()
    assert "Rotate the API key under Settings" in turn.locator(".answer").inner_text()
    turn.locator(".citation").first.hover()
    assert "Handbook" in page.locator("#popover").inner_text()
    assert "changed Jan 2, 2026" in turn.locator(".source-place").first.inner_text()
    turn.locator(".citation").first.click()
    assert turn.locator(".source.lit").count() == 1
    turn.get_by_role("button", name="Not helpful").click()
    page.get_by_label("What was wrong or missing?").fill("Which settings?")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("The maintainers can read this.").wait_for()
    turn.get_by_role("button", name="Copy answer").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert "lore key rotate" in page.evaluate("navigator.clipboard.readText()")
    answer = page.url.rpartition("/")[2]
    assert world.records
    assert [(one.helpful, one.reason) for one in world.records.get(answer).feedback] == [(False, "Which settings?")]


def test_follow_ups_permalink_history_and_the_back_button(reader: Reader, world: World) -> None:
    page = reader.page
    reader.ask()
    reader.answered()
    first = page.url
    reader.ask("And how many calls does it allow?")
    reader.answered(2)
    assert world.pipeline.questions[1].history[0].content == SUGGESTION
    page.go_back()
    page.wait_for_url(first)
    reader.answered()
    assert page.locator(".turn > h2").all_inner_texts() == [SUGGESTION]
    page.reload()
    reader.answered()
    assert len(world.pipeline.questions) == 2  # shown again, not asked again
    page.get_by_role("button", name="History").click()
    assert page.locator("#history-list a").all_inner_texts() == [SUGGESTION, "And how many calls does it allow?"]
    page.get_by_role("button", name="Delete all").click()
    page.get_by_role("button", name="History").click()
    assert page.locator("#history-list a").count() == 0


def test_words_come_as_they_are_written_and_can_be_stopped(reader: Reader, world: World) -> None:
    world.pipeline.gate.clear()
    reader.ask()
    reader.page.locator(".status").filter(has_text="Writing").wait_for()
    reader.page.locator(".answer p").first.wait_for()
    reader.page.get_by_role("button", name="Stop").click()
    reader.page.get_by_role("alert").filter(has_text="Stopped.").wait_for()
    world.pipeline.gate.set()
    reader.page.get_by_role("button", name="Try again").click()
    reader.answered()


def test_a_reload_in_the_middle_asks_again(reader: Reader, world: World) -> None:
    world.pipeline.gate.clear()
    reader.ask()
    reader.page.locator(".answer p").first.wait_for()
    reader.page.reload()
    world.pipeline.gate.set()
    assert reader.answered().locator("h2").inner_text() == SUGGESTION
    assert len(world.pipeline.questions) == 2


def test_an_error_is_told_with_its_remedy_and_a_second_try(reader: Reader, world: World) -> None:
    world.pipeline.failing = StoreError("The index is locked.", remedy="Wait for the sync to end.", retryable=True)
    reader.ask()
    reader.page.get_by_role("alert").filter(has_text="The index is locked. Wait for the sync to end.").wait_for()
    reader.page.get_by_role("button", name="Try again").click()
    assert reader.answered().locator(".notice").count() == 0


def test_a_server_that_dies_in_the_middle(chromium: Any, world: World) -> None:
    with served(world) as server:
        reader = Reader(chromium, server.url)
        world.pipeline.gate.clear()
        reader.ask()
        reader.page.locator(".answer p").first.wait_for()
        server.stop()
        reader.page.get_by_role("alert").wait_for()
        told = reader.page.get_by_role("alert").inner_text()
        assert "broke before the answer was complete" in told or "can't be reached" in told
        world.pipeline.gate.set()
        reader.context.close()


def test_not_found_is_said_with_the_nearest_pages(reader: Reader) -> None:
    reader.ask("Who won the GraphQL championship?")
    turn = reader.answered()
    assert "holds nothing" in turn.locator(".answer").inner_text()
    assert turn.locator(".sources h3").all_inner_texts() in ([], ["Nearest pages"])


def test_only_chosen_sources_are_searched(reader: Reader, world: World) -> None:
    reader.page.locator("#filter summary").click()
    reader.page.get_by_label("Wiki").uncheck()
    assert reader.page.locator("#filter-label").inner_text() == "Only Handbook"
    reader.ask()
    reader.answered()
    assert world.pipeline.questions[0].sources == ("docs",)


def test_an_unknown_permalink_says_so(reader: Reader) -> None:
    reader.page.goto(f"{reader.url}/a/{'0' * 32}")
    reader.page.get_by_role("alert").filter(has_text="There is no such answer.").wait_for()
    reader.errors.clear()  # the browser reports the 404


def test_nothing_of_a_hostile_source_runs(chromium: Any, tmp_path: Path) -> None:
    world = World(tmp_path, text=HOSTILE)
    with served(world) as server:
        reader = Reader(chromium, server.url)
        reader.ask("How do I rotate the API key <b>now</b>?")
        turn = reader.answered()
        assert turn.locator("h2").inner_text() == "How do I rotate the API key <b>now</b>?"
        for link in reader.page.locator("main a").all():
            assert (link.get_attribute("href") or "#").startswith(("http", "#"))
        assert reader.page.locator("main script, main img").count() == 0
        assert "owned" not in reader.page.title()
        assert reader.errors == []
        reader.context.close()
    world.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_every_view_is_accessible_and_fits(chromium: Any, server: Server, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    reader = Reader(chromium, server.url, width=width, scheme=scheme)
    page = reader.page

    def check(view: str) -> None:
        page.wait_for_timeout(QUIET)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{view}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view

    check("welcome")
    reader.ask()
    reader.answered()
    page.locator(".details summary").click()
    check("answer")
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_label("What was wrong or missing?").wait_for()
    check("reason")
    page.get_by_role("button", name="History").click()
    check("history")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Switch between light and dark").click()
    check("other colours")
    assert reader.errors == []
    reader.context.close()


def test_a_question_is_asked_and_judged_by_keyboard_alone(reader: Reader) -> None:
    page = reader.page
    page.keyboard.press("Tab")
    page.locator("#question").focus()
    page.keyboard.type(SUGGESTION)
    page.keyboard.press("Enter")
    turn = reader.answered()
    turn.locator(".citation").first.focus()
    page.locator("#popover").wait_for()
    page.keyboard.press("Escape")
    page.locator("#popover").wait_for(state="detached")
    turn.get_by_role("button", name="Helpful", exact=True).focus()
    page.keyboard.press("Enter")
    turn.locator("[aria-pressed=true]").wait_for()


def test_a_server_that_asks_for_keys_takes_one_on_the_page(chromium: Any, tmp_path: Path) -> None:
    world = World(tmp_path, options=WebOptions(identified=True))
    assert world.records
    made, key = world.records.api_keys().create("A person", ["board"], 0)
    with served(world) as running:
        page = chromium.new_page(viewport={"width": 320, "height": 800})
        page.set_default_timeout(15_000)
        page.goto(f"{running.url}/?q=Where+is+the+API+key+of+the+board%3F")
        page.fill(".notice input", "lore_wrong")
        page.press(".notice input", "Enter")
        page.get_by_text("invalid or was revoked").last.wait_for()
        page.fill(".notice input", key)
        page.press(".notice input", "Enter")
        page.wait_for_selector(".turn .actions")
        assert "in the safe" in page.locator(".turn .answer").inner_text()
        page.reload()
        page.wait_for_selector(".turn .actions")  # the permalink, with the key
        world.records.api_keys().revoke(made.id)
        page.goto(f"{running.url}/")
        page.wait_for_selector("#key-place input")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.close()
    world.close()
