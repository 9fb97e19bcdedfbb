"""Interactive parts of pages, made static: tabs, accordions, buttons with text, task lists.

All panels are content, open or not. Each tab's label moves to the top of its own panel.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lore.convert.html.anchors import HEADINGS
from lore.convert.html.tree import replace_by_text

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["NAVIGATION", "expand_widgets", "is_disclosed", "open_panel", "resolve_checkboxes", "take_tags"]

NAVIGATION = frozenset({"nav", "header", "footer", "form", "dialog"})
DISCLOSED = re.compile(
    r"(?:^|[\s_-])(?:tab-?(?:bed)?-?(?:pane|panel|content|block)s?|accordion|collaps(?:e|ible|ed)|disclosure|spoiler|expand(?:er|able|ed)?"
    r"|faq|details)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Class names of panels that a reader opens."""
TAGS = re.compile(r"tags(?:_\w{4,6})?")
"""Class of a list of tags; Docusaurus adds a hash."""
TARGETS = ("aria-controls", "data-bs-target", "data-target", "href")
MAX_LABEL = 200
"""Characters of a tab's label or of a question."""


def expand_widgets(body: HtmlElement) -> None:
    """Label the panels of tabs, and turn buttons that open a panel into text. Changes the tree in place."""
    _unwrap_buttons(body)
    by_id = {element.get("id"): element for element in body.xpath(".//*[@id]")}
    _label_aria_tabs(body, by_id)
    _label_radio_tabs(body, by_id)
    _keep_questions(body, by_id)


def take_tags(body: HtmlElement) -> str:
    """Remove the list of a page's tags and return it as a line, or ""."""
    tags: list[str] = []
    for element in body.xpath(".//*[contains(@class, 'tags')]"):
        classes = element.get("class").split()
        if "md-tags" in classes or (element.tag == "ul" and any(map(TAGS.fullmatch, classes))):
            tags += [_words(tag) for tag in element.iter("a", "span", "li") if tag.find(".//a") is None]
            if element.getparent() is not None:
                element.drop_tree()
    return f"Tags: {', '.join(dict.fromkeys(filter(None, tags)))}" if any(tags) else ""


def is_disclosed(element: HtmlElement) -> bool:
    """True if a hidden element is a closed panel: of an accordion or a tab, or below its heading."""
    if element.get("hidden") == "until-found" or element.get("role") in ("tabpanel", "region"):
        return True
    if DISCLOSED.search(element.get("class") or ""):
        return True
    before = element.getprevious()
    return before is not None and (before.tag in HEADINGS or before.tag == "dt")


def resolve_checkboxes(root: HtmlElement) -> None:
    """Write the state of task list items, `[x]` or `[ ]`, where their checkbox is."""
    for box in list(root.iter("input")):
        if (box.get("type") or "").lower() != "checkbox" or next(box.iterancestors("li"), None) is None:
            continue
        control = box.getparent()
        is_bare = control is not None and control.tag == "label" and not control.text_content().strip()
        mark = "[x] " if box.get("checked") is not None else "[ ] "
        replace_by_text(control if is_bare else box, mark)


def _unwrap_buttons(body: HtmlElement) -> None:
    """Keep the text of headings that are buttons, and of buttons that hold a heading."""
    for button in body.xpath(".//button | .//*[@role='button']"):
        in_heading = next(button.iterancestors(*HEADINGS, "dt", "summary"), None) is not None
        if in_heading or next(button.iter(*HEADINGS), None) is not None:
            if in_heading and _is_tool(button):
                continue
            button.tag = "span" if in_heading else "div"
            button.attrib.pop("role", None)


def _is_tool(button: HtmlElement) -> bool:
    """True for a button beside a heading's text, such as one that copies the link."""
    parent = button.getparent()
    around = "" if parent is None else parent.text_content().replace(button.text_content(), "", 1)
    return bool(around.strip()) and button.get("aria-expanded") is None


def _label_aria_tabs(body: HtmlElement, by_id: dict[str | None, HtmlElement]) -> None:
    """Label panels by what their attributes name, else by their order below a list of as many tabs."""
    tabs = body.xpath(".//*[@role='tab']")
    labels: dict[HtmlElement, str] = {}
    for tab in tabs:
        for name in TARGETS:
            panel = by_id.get((tab.get(name) or "").removeprefix("#"))
            if panel is not None and panel not in tabs:
                labels.setdefault(panel, _words(tab))
    for panel in body.xpath(".//*[@role='tabpanel']"):
        tab_of_panel = by_id.get(panel.get("aria-labelledby"))
        if tab_of_panel is not None:
            labels.setdefault(panel, _words(tab_of_panel))
    for tablist in body.xpath(".//*[@role='tablist']"):
        own = [tab for tab in tabs if tablist in tab.iterancestors()]
        panels = _panels_of(tablist)
        if len(panels) == len(own):
            for tab, panel in zip(own, panels, strict=True):
                labels.setdefault(panel, _words(tab))
    for panel, label in labels.items():
        open_panel(panel, label)


def _panels_of(tablist: HtmlElement) -> list[HtmlElement]:
    """Return the panels in the nearest container that the list of tabs shares with any."""
    for ancestor in tablist.iterancestors():
        panels = [panel for panel in ancestor.iterfind(".//*[@role='tabpanel']") if not _is_nested(panel, ancestor)]
        if panels:
            return panels
    return []


def _is_nested(panel: HtmlElement, container: HtmlElement) -> bool:
    """True if the panel is inside another panel of the container."""
    for ancestor in panel.iterancestors():
        if ancestor is container:
            return False
        if ancestor.get("role") == "tabpanel":
            return True
    return False


def _label_radio_tabs(body: HtmlElement, by_id: dict[str | None, HtmlElement]) -> None:
    """Label tabs made of radio buttons: labels in a row above the panels, or each before its own."""
    for label in list(body.iter("label")):
        radio = by_id.get(label.get("for"))
        parent = label.getparent()
        if parent is None or radio is None or (radio.get("type") or "").lower() != "radio":
            continue
        follower = label.getnext()
        if follower is not None and follower.tag in ("div", "section"):
            label.tag = "p"
            label.attrib.clear()
            _embolden(label)
            open_panel(follower)
        elif (panels := parent.getnext()) is not None:
            row = [child for child in parent if child.tag == "label"]
            blocks = [child for child in panels if isinstance(child.tag, str)]
            if len(row) == len(blocks) and label is row[0]:
                for each, block in zip(row, blocks, strict=True):
                    open_panel(block, _words(each))
                parent.drop_tree()


def _keep_questions(body: HtmlElement, by_id: dict[str | None, HtmlElement]) -> None:
    """Turn buttons that open a panel of the text into bold lines."""
    for button in list(body.iter("button")):
        if button.get("aria-expanded") is None or button.get("role") == "tab" or not _words(button):
            continue
        if next(button.iterancestors(*NAVIGATION), None) is not None:
            continue
        panel = by_id.get(button.get("aria-controls"))
        if panel is None:
            panel = button.getnext()
        if panel is None or panel.tag not in ("div", "section", "p", "dd") or not panel.text_content().strip():
            continue
        if panel.get("role") in ("menu", "listbox", "dialog") or panel.find(".//form") is not None:
            continue
        button.tag = "p"
        button.attrib.clear()
        _embolden(button)
        open_panel(panel)


def open_panel(panel: HtmlElement, label: str = "") -> None:
    """Make a panel visible, with its label above its content."""
    panel.attrib.pop("hidden", None)
    if "none" in (panel.get("style") or ""):
        panel.attrib.pop("style")
    if not label:
        return
    line = panel.makeelement("p")
    strong = panel.makeelement("strong")
    strong.text = label
    line.append(strong)
    line.tail, panel.text = panel.text, None
    panel.insert(0, line)


def _embolden(line: HtmlElement) -> None:
    strong = line.makeelement("strong")
    strong.text, line.text = _words(line), None
    for child in list(line):
        line.remove(child)
    line.append(strong)


def _words(element: HtmlElement) -> str:
    return " ".join(element.text_content().split())[:MAX_LABEL]
