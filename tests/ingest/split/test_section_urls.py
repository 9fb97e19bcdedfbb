"""A passage's address leads to the section that it is from."""

from __future__ import annotations

import pytest
from lore.convert import ANCHORS, convert
from lore.ingest.split.splitter import MarkdownSplitter

from tests.fakes import make_document

URL = "https://docs.example.com/guide"
BODY = "Words that fill the section so that no other one fits beside it in a passage.\n\n"


def urls(text: str, anchors: object, url: str = URL) -> list[str]:
    document = make_document(text=text, url=url, title="Guide", metadata={ANCHORS: anchors})
    return [chunk.url.removeprefix(URL) for chunk in MarkdownSplitter(100).split(document)]


def test_sections() -> None:
    text = f"# Guide\n\n{BODY}## Set up\n\n{BODY}### On Linux\n\n{BODY}{BODY}## Run\n\n{BODY}"
    anchors = [["Guide", "guide"], ["Set up", "set-up"], ["On Linux", "on-linux"], ["Run", "run"]]
    assert urls(text, anchors) == ["", "#set-up", "#on-linux", "#on-linux", "#run"]


def test_a_heading_without_an_anchor_has_that_of_the_section_around_it() -> None:
    text = f"# Guide\n\n{BODY}## Set up\n\n{BODY}### On Linux\n\n{BODY}## Run\n\n{BODY}"
    assert urls(text, [["Set up", "set-up"]]) == ["", "#set-up", "#set-up", ""]


def test_headings_of_one_name_have_their_own_anchors() -> None:
    text = f"## Example\n\n{BODY}## Other\n\n{BODY}## Example\n\n{BODY}"
    assert urls(text, [["Example", "a"], ["Dropped", "x"], ["Example", "b"]]) == ["#a", "", "#b"]


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("github", ["", "#set-up-lores-api-v2", "#set-up-lores-api-v2-own", "#logo", "#%C3%BCber-uns", "#run"]),
        ("docusaurus", ["", "#set-up-lores-api-v2", "#own", "#logo", "#%C3%BCber-uns", "#run"]),
        ("mkdocs", ["", "#set-up-lores-api-v2", "#own", "#logo", "#uber-uns", "#run"]),
        ("sphinx", ["", "#set-up-lore-s-api-v2", "#id1", "#logo", "#uber-uns", "#run"]),
        ("jupyter", ["", "#Set-up-Lore's-API-(v2)", "#Logo", "#%C3%9Cber-uns", "#Run"]),
        ("none", [""]),
        ("unheard of", [""]),
        (["github"], [""]),
    ],
)
def test_anchors_are_derived_from_headings_by_what_shows_them(style: object, expected: list[str]) -> None:
    headings = (
        "## Set up **Lore's** `API` (v2)",
        "## Set up Lore's API (v2) {#own}",
        "## Logo ![a picture](logo.png)",
        "### Über uns",
        "Run\n---",
    )
    text = f"# Guide\n\n{BODY}" + "".join(f"{heading}\n\n{BODY}" for heading in headings)
    document = make_document(text=text, url=URL, title="Guide", metadata={"anchor_style": style})
    found = (chunk.url.removeprefix(URL) for chunk in MarkdownSplitter(100).split(document))
    assert list(dict.fromkeys(found)) == expected


def test_a_second_heading_of_the_first_level_is_a_section() -> None:
    text = f"# Guide\n\n{BODY}# Setup\n\n{BODY}## Setup\n\n{BODY}"
    document = make_document(text=text, url=URL, title="Guide", metadata={"anchor_style": "github"})
    found = [chunk.url.removeprefix(URL) for chunk in MarkdownSplitter(100).split(document)]
    assert found == ["", "#setup", "#setup-1"]


def test_anchors_of_the_page_itself_are_not_derived() -> None:
    metadata = {ANCHORS: [["Set up", "s1"]], "anchor_style": "github"}
    document = make_document(text=f"## Set up\n\n{BODY}", url=URL, title="Guide", metadata=metadata)
    assert [chunk.url for chunk in MarkdownSplitter(100).split(document)] == [f"{URL}#s1"]


def test_markup_in_a_heading_makes_no_difference() -> None:
    text = "## The `run_id` of *a* [run](https://x.example)\n\nWords."
    assert urls(text, [["The run_id of a run", "run-id"]]) == ["#run-id"]


@pytest.mark.parametrize(
    ("anchor", "fragment"),
    [("größe", "#gr%C3%B6%C3%9Fe"), ("gr%C3%B6", "#gr%C3%B6"), ('a"<b>', "#a%22%3Cb%3E"), ("a(b):c", "#a(b):c")],
)
def test_an_anchor_is_spelt_as_addresses_are(anchor: str, fragment: str) -> None:
    assert urls(f"## A\n\n{BODY}", [["A", anchor]]) == [fragment]


@pytest.mark.parametrize("anchors", [None, "text", 7, [1], [["A"]], [["A", 1]], {"A": "a"}, [["A", "a", "b"]]])
def test_metadata_of_another_kind_are_no_anchors(anchors: object) -> None:
    assert urls(f"## A\n\n{BODY}", anchors) == [""]


def test_an_address_with_a_fragment_stays() -> None:
    assert urls(f"## A\n\n{BODY}", [["A", "a"]], url=f"{URL}#x") == ["#x"]
    assert urls(f"## A\n\n{BODY}", [["A", "a"]], url="") == [""]


def test_from_page_to_passage() -> None:
    page = f"<main><h1>Guide</h1><p>{BODY}</p><section id='set-up'><h2>Set up</h2><p>{BODY * 2}</p></section></main>"
    converted = convert(make_document(text=page, format="html", url=URL, title=""))
    chunks = MarkdownSplitter(100).split(converted)
    assert [chunk.url for chunk in chunks] == [URL, f"{URL}#set-up", f"{URL}#set-up"]
