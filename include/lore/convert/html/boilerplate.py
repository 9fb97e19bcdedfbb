"""Boilerplate that documentation sites add to every page: questions to the reader, edit links, tables of contents.

Site generators give such pieces no reliable names, but always the same few words. A piece goes only if it says nothing
else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore.convert.html.anchors import has_anchor

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["drop_boilerplate_text"]

MAX_CHARACTERS = 120
"""Longest piece of boilerplate, white space not counted."""
MAX_ELEMENTS = 60
MIN_CONTENTS = 2
"""Fewest links of a table of contents."""
VERBATIM = frozenset({"pre", "code", "table", "samp", "kbd"})
BLOCKS = frozenset(
    {
        "p", "div", "section", "form", "fieldset", "legend", "label", "span", "small", "strong", "em", "b", "a", "li",
        "ul", "ol", "h2", "h3", "h4", "h5", "h6", "time", "summary", "details", "figure", "header"
    }
)  # fmt: skip
INLINE = frozenset({"span", "strong", "em", "b", "a", "time", "small", "label"})

_PAGE = r"(?:page|article|entry|section|answer|doc(?:ument(?:ation)?)?|guide|content|topic|information|file|tutorial)"
_THIS = rf"(?:(?:this|the|that)\s)?(?:current\s)?{_PAGE}"
_FORGE = r"(?:\s(?:on|in|at|via)\s(?:github|gitlab|bitbucket|codeberg|gitea))"
_VOTES = r"(?:[\s:/|·,]*(?:yes|no|👍|👎|😀|😕|thumbs\s(?:up|down)))*"
BOILERPLATE = re.compile(
    r"(?:"
    rf"(?:was|is|did|has|have|how)\s[\w\s]{{0,30}}\b(?:{_PAGE}|this|it)\b[\w\s]{{0,30}}\b(?:help(?:ed|ful)?|useful)"
    rf"(?:\s(?:to\s)?you)?\s?\??{_VOTES}"
    rf"|how\s(?:help|use)ful\s(?:was|is|did)\s[\w\s]{{0,40}}\?{_VOTES}"
    rf"|did\s(?:this|it)\s(?:{_PAGE}\s)?(?:help|answer\syour\squestions?)(?:\syou)?\s?\??{_VOTES}"
    rf"|(?:please\s)?(?:edit|improve|view|show|see)\s(?:{_THIS}|(?:page|this)?\s?source)(?:\ssource)?{_FORGE}?"
    rf"|(?:edit|view|fork|open|source){_FORGE}"
    rf"|(?:suggest|propose|make|request)\s(?:an?\s)?(?:edits?|changes?|improvements?)(?:\s(?:on|to|for)\s{_THIS})?{_FORGE}?"
    rf"|(?:report|open|create|raise|file|submit)\s(?:an?\s)?(?:documentation\s|project\s|docs\s)?(?:issue|bug|problem)"
    rf"(?:\s(?:with|on|about|for)\s{_THIS})?{_FORGE}?"
    r"|create\schild\spage|print\sentire\ssection"
    r"|(?:send|give|share|provide|leave|submit)\s(?:us\s)?(?:your\s)?feedback(?:\s(?:about|on|for)\s[\w\s]{0,40})?"
    r"|feedback|(?:thanks|thank\syou)\s(?:so\smuch\s)?for\s(?:your\s|the\s)?feedback\s?!?\.?"
    r"|glad\sto\shear\sit!?(?:\splease\stell\sus\show\swe\scan\simprove\.?)?"
    r"|sorry\sto\shear\sthat\.?(?:\splease\stell\sus\show\swe\scan\simprove\.?)?"
    rf"|(?:(?:this|the)\s{_PAGE}\s(?:was|has\sbeen)\s)?(?:last\s)?(?:updated?|modified|edited|changed|reviewed|built)(?:\sat)?(?:\son)?"
    r"\s?:?\s(?=[^.]*\d|[^.]*\bago\b|[^.]*\byesterday\b)[\w\s,:/+-]{3,60}(?:\([\w\s]{3,12}\))?(?:\sby\s[\w\s]{1,40})?\.?"
    r"|copy(?:\s(?:page|link|code|to\sclipboard|as\smarkdown|this\spage))?|copied\s?!?|copy_all|content_copy"
    r"|(?:on|in)\sthis\s(?:page|article|section|topic)\s?:?|(?:page|table\sof)\scontents\s?:?|jump\sto\s(?:section|navigation)"
    r"|back\sto\stop|scroll\sto\stop|return\sto\stop|skip\sto\s(?:main\s)?(?:content|navigation|search)|toggle\s[\w\s]{3,40}"
    r"|(?:«|‹|<|←|⟵|<<)?\s?(?:previous|prev|next)(?:\s(?:page|article|topic|section|chapter))?\s?(?:»|›|>|→|⟶|>>)?"
    r"|ask\s(?:ai|a\squestion)|open\sin\s(?:chatgpt|claude)|powered\sby\s[\w\s.]{3,30}"
    r"|(?:built|made|created|generated)\swith\s[\w\s.-]{3,60}|loading\s?(?:…|\.\.\.)?|share(?:\sthis\spage)?"
    r")",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Measure:
    """Counts for an element: elements with itself, characters of text and of local links, links and local links.

    A local link leads to a heading of the same page.
    """

    elements: int = 1
    characters: int = 0
    local_characters: int = 0
    links: int = 0
    local_links: int = 0


def drop_boilerplate_text(main: HtmlElement) -> None:
    """Remove the pieces from a page's main content, in place."""
    measures = _measures(main)
    waiting = list(main)
    while waiting:
        element = waiting.pop()
        if not isinstance(element.tag, str) or element.tag in VERBATIM:
            continue
        measure = measures[element]
        if element.tag in BLOCKS and (_is_boilerplate(element, measure) or _is_page_contents(element, measure)):
            element.drop_tree()
        else:
            waiting.extend(element)


def _measures(main: HtmlElement) -> dict[HtmlElement, _Measure]:
    """Measure all elements in one pass, children before parents: time is linear whatever the depth."""
    measures = {element: _Measure() for element in main.iter()}
    for element in reversed(list(measures)):
        measure = measures[element]
        if isinstance(element.tag, str):
            measure.characters += _count_characters(element.text)
        if element.tag == "a":
            measure.links += 1
            if (element.get("href") or "").startswith("#"):
                measure.local_links += 1
                measure.local_characters = measure.characters
        parent = element.getparent()
        if element is not main and parent is not None:
            above = measures[parent]
            above.elements += measure.elements
            above.characters += measure.characters + _count_characters(element.tail)
            above.local_characters += measure.local_characters
            above.links += measure.links
            above.local_links += measure.local_links
    return measures


def _count_characters(text: str | None) -> int:
    return len("".join(text.split())) if text else 0


def _is_boilerplate(element: HtmlElement, measure: _Measure) -> bool:
    if not 0 < measure.characters <= MAX_CHARACTERS or measure.elements > MAX_ELEMENTS:
        return False
    if element.tag == "a" and (element.get("rel") or "").lower() in ("prev", "next"):
        return True
    if any(child.tag in VERBATIM or child.tag == "img" for child in element.iterdescendants()):
        return False
    if has_anchor(element):  # a section of this name, such as that of a function `copy`
        return False
    if element.tag in INLINE and not _has_no_text_around(element):
        return False
    return BOILERPLATE.fullmatch(" ".join(element.text_content().replace("\u200b", "").split())) is not None


def _has_no_text_around(element: HtmlElement) -> bool:
    """True if no running text surrounds it: the word Previous in a sentence is content."""
    parent = element.getparent()
    if (element.tail or "").strip() or parent is None:
        return False
    before = element.getprevious()
    return not ((before.tail if before is not None else parent.text) or "").strip()


def _is_page_contents(element: HtmlElement, measure: _Measure) -> bool:
    """True if it is a list of links to headings of its own page and nothing more."""
    return (
        element.tag in ("ul", "ol")
        and measure.links == measure.local_links >= MIN_CONTENTS
        and measure.local_characters >= 0.95 * measure.characters
    )
