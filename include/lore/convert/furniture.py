"""What a documentation site adds to the text of each page: questions to the reader, links to edit it, its own contents.

Site generators give such pieces no names that could be relied on, but always the same few words. A piece goes only when
these words are all that it says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore.convert.anchors import has_anchor

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["drop_furniture"]

MAX_SIGNS = 120
"""No piece of furniture is longer, white space not counted."""
MAX_ELEMENTS = 60
MIN_CONTENTS = 2
"""Fewer links are no table of contents."""
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
FURNITURE = re.compile(
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
    """Of an element: its elements with itself, the signs of its text, those of them in local links, and its links.

    Links to headings of the same page are local.
    """

    elements: int = 1
    signs: int = 0
    local_signs: int = 0
    links: int = 0
    local_links: int = 0


def drop_furniture(main: HtmlElement) -> None:
    """Take the pieces out of a page's main content, in place."""
    measures = _measures(main)
    waiting = list(main)
    while waiting:
        element = waiting.pop()
        if not isinstance(element.tag, str) or element.tag in VERBATIM:
            continue
        measure = measures[element]
        if element.tag in BLOCKS and (_is_furniture(element, measure) or _leads_through_the_page(element, measure)):
            element.drop_tree()
        else:
            waiting.extend(element)


def _measures(main: HtmlElement) -> dict[HtmlElement, _Measure]:
    """One pass over all elements, children before their parents: whatever the depth, the time is that of the size."""
    measures = {element: _Measure() for element in main.iter()}
    for element in reversed(list(measures)):
        measure = measures[element]
        if isinstance(element.tag, str):
            measure.signs += _signs(element.text)
        if element.tag == "a":
            measure.links += 1
            if (element.get("href") or "").startswith("#"):
                measure.local_links += 1
                measure.local_signs = measure.signs
        parent = element.getparent()
        if element is not main and parent is not None:
            above = measures[parent]
            above.elements += measure.elements
            above.signs += measure.signs + _signs(element.tail)
            above.local_signs += measure.local_signs
            above.links += measure.links
            above.local_links += measure.local_links
    return measures


def _signs(text: str | None) -> int:
    return len("".join(text.split())) if text else 0


def _is_furniture(element: HtmlElement, measure: _Measure) -> bool:
    if not 0 < measure.signs <= MAX_SIGNS or measure.elements > MAX_ELEMENTS:
        return False
    if element.tag == "a" and (element.get("rel") or "").lower() in ("prev", "next"):
        return True
    if any(child.tag in VERBATIM or child.tag == "img" for child in element.iterdescendants()):
        return False
    if has_anchor(element):  # a section of this name, such as that of a function `copy`
        return False
    if element.tag in INLINE and not _stands_alone(element):
        return False
    return FURNITURE.fullmatch(" ".join(element.text_content().replace("\u200b", "").split())) is not None


def _stands_alone(element: HtmlElement) -> bool:
    """Whether no running text is around it: the word Previous in a sentence is no furniture."""
    parent = element.getparent()
    if (element.tail or "").strip() or parent is None:
        return False
    before = element.getprevious()
    return not ((before.tail if before is not None else parent.text) or "").strip()


def _leads_through_the_page(element: HtmlElement, measure: _Measure) -> bool:
    """Whether it is a list of links to the headings of its own page, and nothing more."""
    return (
        element.tag in ("ul", "ol")
        and measure.links == measure.local_links >= MIN_CONTENTS
        and measure.local_signs >= 0.95 * measure.signs
    )
