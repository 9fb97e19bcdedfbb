"""Outside text without characters that hide text, reverse it or control a terminal."""

from __future__ import annotations

import re

__all__ = ["UNSEEN", "visible", "web_address"]

_CONTROLS = {code: None for code in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if code not in (9, 10)}
_INVISIBLE = dict.fromkeys(
    (0xAD, 0x61C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
)
UNSEEN = _CONTROLS | _INVISIBLE | {0x2028: " ", 0x2029: " "} | dict.fromkeys(range(0xE0000, 0xE0080))
"""A table for `str.translate` that removes invisible characters. Joiners stay, because scripts need them."""


def visible(text: str) -> str:
    """Return the text in one line, without invisible characters."""
    return " ".join(text.translate(UNSEEN).split())


def web_address(url: str) -> str:
    """Return an http(s) address with spaces and brackets percent-encoded, or "" for any other."""
    url = re.sub(r"[\t\n]", "", url.translate(UNSEEN)).strip()  # browsers drop these, too
    if not re.match(r"https?://[^\s/]", url, re.IGNORECASE):
        return ""
    return re.sub(r"[\s<>\"`|\\^{}]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), url)
