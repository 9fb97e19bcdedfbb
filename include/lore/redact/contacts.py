"""E-mail addresses and telephone numbers in a text, by conservative patterns."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

__all__ = ["find_emails", "find_phones"]

LOCAL = string.ascii_letters + string.digits + "._+-"
"""Characters before the @ in real addresses; the others that RFC 5322 allows belong to code around it."""

LONGEST_LOCAL = 64
DOMAIN = re.compile(r"@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24})(?![\w-])")
RESERVED = re.compile(r"(?:^|\.)(?:example(?:\.\w+)?|test|invalid|localhost)$", re.IGNORECASE)
"""Domains reserved for examples (RFC 2606)."""

LOGIN = re.compile(r"://[^\s/@]*\Z")
"""Beginning of a password at a host, which isn't an address."""

PHONE = re.compile(r"\+[1-9](?:[ .\-\u00a0/]{0,2}\(?\d\)?){7,14}(?![\w-])")
WITHIN = re.compile(r"[\w+]")
SEPARATOR = re.compile(r"[ .\-()\u00a0/]")


def find_emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of e-mail addresses, except those in example domains and `git@HOST:`, which is a login."""
    place = text.find("@")
    while place >= 0:
        after = place + 1
        if match := DOMAIN.match(text, place):
            after = match.end()
            before = text[max(0, place - LONGEST_LOCAL) : place]
            local = before[len(before.rstrip(LOCAL)) :]
            if before[: -len(local) or None].endswith("\\") and local[:1] in ("n", "r", "t"):  # an escaped line end
                local = local[1:]
            local = local.lstrip("._+-")
            start = place - len(local)
            is_login = local == "git" or LOGIN.search(text, max(0, start - 100), start)
            if local and not is_login and not RESERVED.search(match[1]):
                yield start, after
        place = text.find("@", after)


def find_phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of international numbers: `+`, then 8 to 15 digits (E.164), in groups or at least ten."""
    place = text.find("+")
    while place >= 0:
        after = place + 1
        if not WITHIN.search(text, max(0, place - 1), place) and (match := PHONE.match(text, place)):
            digits = sum(letter.isdigit() for letter in match[0])
            if digits >= 10 or SEPARATOR.search(match[0]):
                yield match.span()
                after = match.end()
        place = text.find("+", after)
