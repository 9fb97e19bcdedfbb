"""Boilerplate that documentation sites add to every page: questions to the reader, edit links, tables of contents.

Site generators give such pieces no reliable names, but always the same few words. A piece goes only if it says nothing
else, and only where such a piece can be: its words may also be a list item, a function's name or a line of a changelog.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lore.convert.html.anchors import HEADINGS, has_anchor

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from lore.convert.omissions import Omissions

__all__ = ["drop_boilerplate_text"]

MAX_CHARACTERS = 120
"""Longest piece of boilerplate, white space not counted."""
MAX_ELEMENTS = 60
MIN_CONTENTS = 2
"""Fewest links of a table of contents."""
EDGE = 400
"""Characters from a page's start or end, within which a line may date the page."""
VERBATIM = frozenset({"pre", "code", "table", "samp", "kbd"})
BLOCKS = frozenset(
    {
        "p", "div", "section", "form", "fieldset", "legend", "label", "span", "small", "strong", "em", "b", "a", "li",
        "ul", "ol", "h2", "h3", "h4", "h5", "h6", "time", "summary", "details", "figure", "header"
    }
)  # fmt: skip
INLINE = frozenset({"span", "strong", "em", "b", "a", "time", "small", "label"})
ITEMS = frozenset({"li", "td", "th", "dt", "dd"})
CONTROL = re.compile(
    r"(?:^|[\s_-])(?:btn|buttons?|copy|clipboard|share|pager|pagination|prev(?:ious)?|next|feedback|toolbar|actions?|tooltip)(?:$|[\s_-])",
    re.IGNORECASE,
)

_PAGE = r"(?:page|article|entry|section|answer|doc(?:ument(?:ation)?)?|guide|content|topic|information|file|tutorial)"
_THIS = rf"(?:(?:this|the|that)\s)?(?:current\s)?{_PAGE}"
_FORGE = r"(?:\s(?:on|in|at|via)\s(?:github|gitlab|bitbucket|codeberg|gitea))"
_VOTES = r"(?:[\s:/|·,]*(?:yes|no|👍|👎|😀|😕|thumbs\s(?:up|down)))*"
PHRASE = re.compile(
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
    r"|(?:thanks|thank\syou)\s(?:so\smuch\s)?for\s(?:your\s|the\s)?feedback\s?!?\.?"
    r"|glad\sto\shear\sit!?(?:\splease\stell\sus\show\swe\scan\simprove\.?)?"
    r"|sorry\sto\shear\sthat\.?(?:\splease\stell\sus\show\swe\scan\simprove\.?)?"
    r"|copy\s(?:page|link|code|to\sclipboard|as\smarkdown|this\spage)|copy_all|content_copy|share\sthis\spage"
    r"|(?:on|in)\sthis\s(?:page|article|section|topic)\s?:?|(?:page|table\sof)\scontents\s?:?|jump\sto\s(?:section|navigation)"
    r"|back\sto\stop|scroll\sto\stop|return\sto\stop|skip\sto\s(?:main\s)?(?:content|navigation|search)"
    r"|(?:«|‹|<|←|⟵|<<)\s?(?:previous|prev)|(?:next)\s?(?:»|›|>|→|⟶|>>)"
    r"|(?:«|‹|<|←|⟵|<<)?\s?(?:previous|prev|next)\s(?:page|article|topic|section|chapter)\s?(?:»|›|>|→|⟶|>>)?"
    r"|ask\s(?:ai|a\squestion)|open\sin\s(?:chatgpt|claude)|loading\s?(?:…|\.\.\.)"
    r")",
    re.IGNORECASE,
)
"""Lines that belong to no text, wherever they are."""
WORD = re.compile(r"copy|copied\s?!?|share|feedback|previous|prev|next|loading", re.IGNORECASE)
"""Words of buttons that are also ordinary words."""
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s)?"
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4})|\d{4}年\d{1,2}月\d{1,2}日"
    rf"|{_MONTH}\s(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s)?\d{{4}}|\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?{_MONTH},?\s\d{{4}}"
    r"|(?:an?|\d{1,3}|a\sfew|several)\s(?:second|minute|hour|day|week|month|year)s?\sago|yesterday|today)"
)
_TIME = r"(?:[T,\s]+(?:at\s)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?(?:\s?(?:utc|gmt|z|[+-]\d{2}:?\d{2}|[a-z]{3,4}))?)?"
EDGE_LINE = re.compile(
    rf"(?:(?:this|the)\s{_PAGE}\s(?:was|has\sbeen)\s)?(?:last\s)?"
    rf"(?:updated?|modified|edited|changed|reviewed|built|generated|published)(?:\sat)?(?:\son)?\s?:?\s{_DATE}{_TIME}"
    r"(?:\s?\([\w\s]{2,12}\))?(?:\sby\s[\w\s.-]{1,40})?\.?"
    r"|powered\sby\s[\w\s.]{3,30}|(?:built|made|created|generated)\swith\s[\w\s.-]{3,60}|toggle\s[\w\s]{3,40}",
    re.IGNORECASE,
)
"""Lines about the page at its start or end: its date, its tools."""


class _Counts(NamedTuple):
    """Counts up to a point of the text: elements, characters, characters of local links, links and local links.

    A local link leads to a heading of the same page.
    """

    elements: int
    characters: int
    local_characters: int
    links: int
    local_links: int


class _Place(NamedTuple):
    """The counts at an element's start and end."""

    start: _Counts
    end: _Counts


class _Measure(NamedTuple):
    """An element's own counts, and the characters of the page before and after it."""

    own: _Counts
    before: int
    after: int


def drop_boilerplate_text(main: HtmlElement, omissions: Omissions) -> None:
    """Remove the pieces from a page's main content, in place, and count their text."""
    places = _places(main)
    total = places[main].end.characters
    waiting = list(reversed(main))  # in document order
    while waiting:
        element = waiting.pop()
        if not isinstance(element.tag, str) or element.tag in VERBATIM:
            continue
        if element.tag in BLOCKS:
            start, end = places[element]
            own = _Counts(*(after - before for before, after in zip(start, end, strict=True)))
            measure = _Measure(own, start.characters, total - end.characters)
            if _is_boilerplate(element, measure) or _is_page_contents(element, own):
                omissions.drop(element, "boilerplate")
                continue
        waiting.extend(reversed(element))


def _places(main: HtmlElement) -> dict[HtmlElement, _Place]:
    """Measure all elements in one pass, so that the time is linear whatever the depth."""
    from lxml import etree

    elements = characters = local_characters = links = local_links = 0
    starts: dict[HtmlElement, _Counts] = {}
    places: dict[HtmlElement, _Place] = {}
    for event, element in etree.iterwalk(main, events=("start", "end")):
        if event == "start":
            starts[element] = _Counts(elements, characters, local_characters, links, local_links)
            elements += 1
            if element.text:
                characters += _count_characters(element.text)
            continue
        start = starts[element]
        if element.tag == "a":
            links += 1
            if (element.get("href") or "").startswith("#"):
                local_links += 1
                local_characters += characters - start.characters
        places[element] = _Place(start, _Counts(elements, characters, local_characters, links, local_links))
        if element.tail and element is not main:
            characters += _count_characters(element.tail)
    return places


def _count_characters(text: str) -> int:
    return len("".join(text.split()))


def _is_boilerplate(element: HtmlElement, measure: _Measure) -> bool:
    own = measure.own
    if not 0 < own.characters <= MAX_CHARACTERS or own.elements > MAX_ELEMENTS:
        return False
    if element.tag == "a" and (element.get("rel") or "").lower() in ("prev", "next"):
        return True
    if any(child.tag in VERBATIM or child.tag == "img" for child in element.iterdescendants()):
        return False
    if has_anchor(element):  # a section of this name, such as that of a function `copy`
        return False
    if element.tag in INLINE and not _has_no_text_around(element):
        return False
    words = _words(element)
    if PHRASE.fullmatch(words):
        return own.links > 0 or not _is_item(element)
    if WORD.fullmatch(words):
        return not _is_item(element) and (_is_control(element) or _is_beside_code(element))
    is_edge = min(measure.before, measure.after) <= EDGE and not _is_under_heading(element)
    return is_edge and not _is_item(element) and EDGE_LINE.fullmatch(words) is not None


def _is_item(element: HtmlElement) -> bool:
    """True for an item of a list or table, which its author wrote."""
    if any(child.tag in ITEMS for child in element.iter()):
        return True
    return next(element.iterancestors(*ITEMS), None) is not None


def _is_control(element: HtmlElement) -> bool:
    """True for a link or a part of what is named like a button, and for a heading above nothing but such pieces."""
    if element.tag == "a" or (len(element) == 1 and element[0].tag == "a"):
        return True
    near = [
        element,
        *element.iter("a", "span"),
        *(parent for parent, _ in zip(element.iterancestors(), "ab", strict=False)),
    ]
    if any(CONTROL.search(each.get("class") or "") for each in near):
        return True
    follower = element.getnext()
    return follower is not None and PHRASE.fullmatch(_words(follower)) is not None


def _is_beside_code(element: HtmlElement) -> bool:
    return any(each is not None and each.tag == "pre" for each in (element.getprevious(), element.getnext()))


def _is_under_heading(element: HtmlElement) -> bool:
    """True for the first line of a section: the date of a release rather than of the page."""
    before = element.getprevious()
    return before is not None and before.tag in HEADINGS[1:]


def _words(element: HtmlElement) -> str:
    return " ".join(element.text_content().replace("\u200b", "").split())


def _has_no_text_around(element: HtmlElement) -> bool:
    """True if no running text surrounds it: the word Previous in a sentence is content."""
    parent = element.getparent()
    if (element.tail or "").strip() or parent is None:
        return False
    before = element.getprevious()
    return not ((before.tail if before is not None else parent.text) or "").strip()


def _is_page_contents(element: HtmlElement, own: _Counts) -> bool:
    """True if it is a list of links to headings of its own page and nothing more."""
    return (
        element.tag in ("ul", "ol")
        and own.links == own.local_links >= MIN_CONTENTS
        and own.local_characters >= 0.95 * own.characters
    )
