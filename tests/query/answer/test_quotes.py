"""Citations lead to the section that holds their quote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lore.convert import ANCHORS, PAGES
from lore.query.answer.quotes import at_section, cite
from lore.query.retrieve.passages import SourcePassage
from lore.types import Document

from tests.fakes import make_document
from tests.query.fakes import make_hit

TEXT = "# Keys\n\nAbout keys.\n\n## Rotation\n\nRotate them monthly.\n\n## Limits\n\nFifty keys at most.\n"
URL = "https://docs.example/keys"


def source(page: Document | None, start: int = 0) -> SourcePassage:
    hit = make_hit("keys", TEXT[start:], title="Keys", headings=())
    chunk = replace(hit.chunk, url=URL, start=start, end=len(TEXT))
    return SourcePassage(replace(hit, chunk=chunk), (hit,), page=page)


def page(text: str = TEXT, **metadata: object) -> Document:
    anchors = metadata or {ANCHORS: [["Keys", "keys"], ["Rotation", "rotation"], ["Limits", "limits"]]}
    return make_document(id="keys", title="Keys", text=text, url=URL, metadata=anchors)


@pytest.mark.parametrize(
    ("quote", "url", "headings"),
    [
        ("About keys.", URL, ()),
        ("Rotate them monthly.", f"{URL}#rotation", ("Rotation",)),
        ("Fifty keys at most.", f"{URL}#limits", ("Limits",)),
        ("Not in the passage.", URL, ()),
    ],
)
def test_a_citation_leads_to_the_section_of_its_quote(quote: str, url: str, headings: tuple[str, ...]) -> None:
    citation = at_section(replace(cite(1, source(None).hit, ""), quote=quote), source(page()))
    assert (citation.url, citation.headings) == (url, headings)


def test_pages_of_a_file_are_found_in_joined_passages() -> None:
    found = source(page(**{PAGES: ["# Keys", "## Limits"]}))
    citation = at_section(replace(cite(1, found.hit, ""), quote="Fifty keys at most."), found)
    assert citation.url == f"{URL}#page=2"


@pytest.mark.parametrize("other", [None, page("# Keys\n\nWritten anew.\n")])
def test_a_page_that_is_gone_or_was_changed_meanwhile_leaves_the_passage_its_own(other: Document | None) -> None:
    citation = replace(cite(1, source(None).hit, ""), quote="Fifty keys at most.")
    assert at_section(citation, source(other)) == citation
