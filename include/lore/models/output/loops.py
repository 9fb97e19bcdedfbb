"""Outputs that repeat themselves without end."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["is_looping"]

TAIL_CHARACTERS = 1_600
MIN_LOOP_CHARACTERS = 240
MIN_LOOP_ROUNDS = 5
LONGEST_PERIOD = 300
LINE_CHARACTERS = 20


def is_looping(text: str) -> bool:
    """Return True if the end of a text is one piece, or one line, again and again."""
    tail = text[-TAIL_CHARACTERS:]
    for period in range(1, min(LONGEST_PERIOD, len(tail) // MIN_LOOP_ROUNDS) + 1):
        unit = tail[-period:]
        rounds = max(MIN_LOOP_ROUNDS, -(-MIN_LOOP_CHARACTERS // period))
        if (
            period * rounds <= len(tail)
            and tail.endswith(unit * rounds)
            and (re.search(r"\w", unit) or period * rounds > 400)
        ):
            return True
    lines = [re.sub(r"^\s*(?:[-*+]|\d+[.)])\s*", "", line).strip() for line in tail.split("\n")[:-1]]
    counts = Counter(line for line in lines if len(line) >= LINE_CHARACTERS and len(line.split()) > 2)
    return any(count >= MIN_LOOP_ROUNDS for count in counts.values())
