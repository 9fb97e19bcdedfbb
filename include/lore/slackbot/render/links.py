"""Targets of links in answers: where one may lead, and how it is written."""

from __future__ import annotations

import re
from urllib.parse import unquote

from lore.slackbot.render.characters import is_calling
from lore.visible_text import web_address

__all__ = ["LONGEST_LINK", "bare_address", "link", "safe_address"]

LONGEST_LINK = 1_500
"""Slack takes addresses of up to 3,000 characters; nobody follows one this long."""

_MAIL = re.compile(r"mailto:[\w.+\-%]{1,64}@[\w.\-]{1,255}(?:\?[^\s<>|]{0,500})?", re.IGNORECASE)
_PARENTHESES = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D", "*": "%2A"})


def safe_address(target: str) -> str:
    """Return the address if a link may lead there, encoded so that nothing in it ends the link; else ""."""
    address = web_address(target) or (target if _MAIL.fullmatch(target) else "")
    address = re.sub(r"(?<!\w)@", lambda at: _at(unquote(address[at.end() :])), address).translate(_PARENTHESES)
    return address if len(address) <= LONGEST_LINK else ""


def link(label: str, target: str) -> str:
    """Return a link with a label of safe Markdown; "" where it leads nowhere or not where its label says."""
    address = safe_address(target)
    shown = re.match(r"\s*(https?://[^\s/?#]+)", label, re.IGNORECASE)
    if not address or "](" in label or (shown and not address.lower().startswith(shown[1].lower())):
        return ""
    return f"[{label}]({address})" if label.strip() else address


def bare_address(address: str) -> str:
    """Return an address that stands in the text for itself, calling nobody."""
    return re.sub(r"@(?=(\S+))", lambda at: _at(at[1]), address)


def _at(following: str) -> str:
    return "%40" if is_calling(following) else "@"
