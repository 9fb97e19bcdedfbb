"""Code blocks of HTML: one text in one element, with its language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["simplify_code"]

LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight-source|highlight)-|brush:\s*)(?P<name>[\w+#.-]+)", re.IGNORECASE
)
WRAPPERS = frozenset({"div", "figure", "table", "tbody", "tr", "td", "span"})
MAX_WRAPPERS = 8
"""Elements around a code block that may name its language: a table of line numbers takes six."""
LINE_NUMBERS = frozenset({"linenos", "lineno", "linenodiv", "gutter"})
NOT_LANGUAGES = frozenset({"default", "text", "none", "plaintext", "notranslate", "ltr", "rtl", "source"})


def simplify_code(root: HtmlElement) -> None:
    """Drop line numbers and merge the tokens of each code block: highlighters wrap every token in a span."""
    for element in list(root.iter("td", "span", "div")):
        if element is not root and not LINE_NUMBERS.isdisjoint((element.get("class") or "").split()):
            element.drop_tree()
    for pre in list(root.iter("pre")):
        if pre.getparent() is not None:
            _merge_tokens(pre)


def _merge_tokens(pre: HtmlElement) -> None:
    language = _language(pre)
    for element in reversed(list(pre.iter())):  # a line break before the line that it ends
        if element is pre:
            continue
        ends_line = element.tag in {"div", "p", "li"} and not element.text_content().endswith("\n")
        if element.tag == "br" or ends_line:
            element.tail = "\n" + (element.tail or "")
    text = re.sub(r"\A(?:[ \t]*\n)+", "", pre.text_content()).rstrip()
    tail = pre.tail
    pre.clear()
    pre.tail = tail
    code = pre.makeelement("code", {"class": f"language-{language}"} if language else {})
    code.text = text
    pre.append(code)


def _language(pre: HtmlElement) -> str:
    for element in [*pre.iter("code"), pre, *_wrappers(pre)]:
        name = element.get("data-lang") or element.get("data-language") or ""
        if not name and (match := LANGUAGE.search(element.get("class") or "")):
            name = match["name"]
        if element is pre and element.get("class") == "mermaid":
            return "mermaid"
        if name and name.lower() not in NOT_LANGUAGES and re.fullmatch(r"[\w+#.-]{1,30}", name):
            return name.lower()
    return ""


def _wrappers(pre: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the elements around a code block that hold no other one."""
    for parent, _ in zip(pre.iterancestors(), range(MAX_WRAPPERS), strict=False):
        if parent.tag not in WRAPPERS or len(list(islice(parent.iter("pre"), 2))) > 1:
            return
        yield parent
