"""Placeholders that documentation writes instead of secrets, and how secrets differ from them."""

from __future__ import annotations

import math
import re
from collections import Counter

__all__ = ["is_example_login", "is_placeholder", "is_strong_password", "looks_random"]

SHORTEST_RANDOM = 16
WORDS = re.compile(
    r"example|sample|placeholder|change.?me|your[_-]|yours|your(?:api|access|token|pass|secret|key)|dummy|redacted"
    r"|insert[_-]|replace[_-]|foobar|fake[_-]|xxxx|\*{4}|\.{4}|not.?a.?real|123456|abcdef|qwerty|0{6}|1{6}|aaaaa"
    r"|deadbeef|secrethere|[_-]here$|^(?:my|some|the|a|your|test|fake)[_-]",
    re.IGNORECASE,
)
"""Words in made-up values; random ones contain them with a probability of one in a million."""

PUBLISHED = ("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2n")
"""Beginnings of the public keys of Azure's emulators."""

LOGIN_WORDS = re.compile(
    r"pass|pwd|secret|user|login|name|admin|root|guest|test|token|key|credential|airflow|postgres|mysql|redis|rabbit"
    r"|default|anonymous|oauth|host|tiger|hunter2|foo|bar|baz|demo|local|value|string|null|none|true|false",
    re.IGNORECASE,
)
"""Words in passwords of example addresses."""

SYNTAX = re.compile(r"[<>{}\[\]()`…\s]|\$\w|\$\{|%\w?\(|%s|%%|^[$*&@]|^%\w+%$", re.I)
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
BASE64 = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/]+={0,2}")
RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
"""Runs of one kind of letters: long in names ("TableManager" has 2 in 12 letters), short in random texts."""

RESERVED_HOST = re.compile(r"(?:^|\.)(?:example(?:\.(?:com|org|net))?|test|invalid|(?:my|your)[\w-]*(?:\.\w+)*)$", re.I)
"""Hosts that RFC 2606 reserves for examples, and names such as "myhost" or "your-server"."""


def is_placeholder(value: str) -> bool:
    """Return True if the reader should replace the value: `<token>`, `${TOKEN}`, `xxxx`, `your_token`, `…EXAMPLE`."""
    return len(set(value)) < 6 or value.startswith(PUBLISHED) or bool(SYNTAX.search(value) or WORDS.search(value))


def looks_random(value: str) -> bool:
    """Return True if a machine made the value: long, mixed, of high entropy, not words joined by hyphens or dots."""
    if len(value) < SHORTEST_RANDOM or is_placeholder(value):
        return False
    if UUID.fullmatch(value):
        return not value.lower().startswith("123e4567")
    hexadecimal = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value) is not None
    if entropy(value) < (2.8 if hexadecimal else 3.3):
        return False
    if hexadecimal:
        return len(value) >= 32 or (len(value) >= 20 and len(RUNS.findall(value)) >= 6)
    pieces = [max(re.split(r"[-_./~+=:]", value), key=len)]
    if len(value) >= 32 and BASE64.fullmatch(value):  # this alphabet's punctuation doesn't separate words
        pieces.append(value)
    return any(len(piece) >= 12 and _is_mixed(piece) for piece in pieces)


def _is_mixed(piece: str) -> bool:
    runs = RUNS.findall(piece)
    run = len(piece) / max(1, len(runs))
    digits = sum(letter.isdigit() for letter in piece)
    return len(runs) >= 4 and ((run < 3 and digits >= 1) or (run < 4.5 and digits >= 2))


def is_strong_password(value: str) -> bool:
    """Return True if a value named a password looks like a real one: it has three kinds of characters."""
    kinds = (r"[a-z]", r"[A-Z]", r"[0-9]", r"[^\w\s./:-]")
    mixed = sum(re.search(kind, value) is not None for kind in kinds)
    return len(value) >= 8 and mixed >= 3 and not is_placeholder(value) and not LOGIN_WORDS.search(value)


def is_example_login(user: str, password: str, host: str = "") -> bool:
    """Return True if name and password in an address are an example: equal, a placeholder, or at example.com."""
    if password.casefold() in {user.casefold(), host.split(".")[0].casefold()} or len(password) < 4:
        return True
    if RESERVED_HOST.search(host) or SYNTAX.search(password) or WORDS.search(password):
        return True
    return len(set(password)) < 4 or bool(
        LOGIN_WORDS.search(password) and (len(password) <= 20 or not re.search(r"[0-9]", password))
    )


def entropy(value: str) -> float:
    """Return Shannon's entropy of the characters, in bits per character."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
