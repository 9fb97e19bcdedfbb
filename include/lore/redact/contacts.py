"""E-mail addresses and telephone numbers in a text, by conservative patterns."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

__all__ = ["find_emails", "find_phones"]

LOCAL = string.ascii_letters + string.digits + "._+-"
"""What people have before the @, of all that RFC 5322 allows: the rest are signs of code around it."""

LONGEST_LOCAL = 64
DOMAIN = re.compile(r"@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24})(?![\w-])")
RESERVED = re.compile(r"(?:^|\.)(?:example(?:\.\w+)?|test|invalid|localhost)$", re.IGNORECASE)
"""Domains for examples (RFC 2606): nobody's address."""

LOGIN = re.compile(r"://[^\s/@]*\Z")
"""Before what is a password at a host, and no address."""

PHONE = re.compile(r"\+[1-9](?:[ .\-\u00a0/]{0,2}\(?\d\)?){7,14}(?![\w-])")
WITHIN = re.compile(r"[\w+]")
SEPARATOR = re.compile(r"[ .\-()\u00a0/]")


def find_emails(text: str) -> Iterator[tuple[int, int]]:
    """The places of e-mail addresses, but for those in domains for examples and `git@HOST:`, which is a login."""
    place = text.find("@")
    while place >= 0:
        after = place + 1
        if match := DOMAIN.match(text, place):
            after = match.end()
            before = text[max(0, place - LONGEST_LOCAL) : place]
            local = before[len(before.rstrip(LOCAL)) :]
            if before[: -len(local) or None].endswith("\\") and local[:1] in ("n", "r", "t"):  # of an escaped line end
                local = local[1:]
            local = local.lstrip("._+-")
            start = place - len(local)
            is_login = local == "git" or LOGIN.search(text, max(0, start - 100), start)
            if local and not is_login and not RESERVED.search(match[1]):
                yield start, after
        place = text.find("@", after)


def find_phones(text: str) -> Iterator[tuple[int, int]]:
    """The places of numbers in international form: `+`, then 8 to 15 digits (E.164), in groups or at least ten."""
    place = text.find("+")
    while place >= 0:
        after = place + 1
        if not WITHIN.search(text, max(0, place - 1), place) and (match := PHONE.match(text, place)):
            digits = sum(letter.isdigit() for letter in match[0])
            if digits >= 10 or SEPARATOR.search(match[0]):
                yield match.span()
                after = match.end()
        place = text.find("+", after)
