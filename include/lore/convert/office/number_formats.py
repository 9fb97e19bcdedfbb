"""Cells of Excel as their number formats show them (ECMA-376, part 1, 18.8.31)."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

__all__ = ["shown"]

PARTS = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<bracket>[^\]]*)\]'
)
CONDITION = re.compile(r"\[[<>=]")
DIGITS = re.compile(r"[0#?][0#?,]*(?:\.[0#?]*,*)?|\.[0#?]+,*")
SCIENTIFIC = re.compile(r"[0#?][0#?.]*E[+-]0+", re.IGNORECASE)
ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
MAX_FORMAT = 200


def shown(value: object, number_format: str) -> str:
    """Return a cell's value as text: numbers in their format, dates and times in ISO 8601."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            return f"{value:%Y-%m-%d}" if value.time() == time() else f"{value:%Y-%m-%d %H:%M}"
        case date():
            return f"{value:%Y-%m-%d}"
        case time():
            return f"{value:%H:%M:%S}" if value.second else f"{value:%H:%M}"
        case timedelta():
            return _elapsed(value, number_format)
        case int() | float():
            return _number(value, number_format)
    return str(value)


def _elapsed(value: timedelta, number_format: str) -> str:
    """Return a duration in the largest unit that the format counts, hours by default."""
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    counted = ELAPSED.search(number_format)
    unit = counted[1][0].lower() if counted else "h"
    if unit == "s":
        return f"{sign}{seconds}"
    minutes, rest = divmod(seconds, 60)
    if unit == "m":
        return f"{sign}{minutes}:{rest:02}"
    text = f"{sign}{minutes // 60}:{minutes % 60:02}"
    return f"{text}:{rest:02}" if rest or "s" in number_format.lower() else text


def _number(value: int | float, number_format: str) -> str:
    sections = _sections(number_format)
    if not sections or CONDITION.search(number_format):
        return _general(value)
    negative = value < 0 and len(sections) > 1
    section = sections[1] if negative else sections[2] if value == 0 and len(sections) > 2 else sections[0]
    return _formatted(abs(value) if negative else value, section)


def _sections(number_format: str) -> list[str]:
    """Return the parts of a format for positive, negative and zero values; [] for a general or unusable format."""
    if number_format.strip().casefold() in ("", "general", "@", "standard") or len(number_format) > MAX_FORMAT:
        return []
    return re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', number_format)[:3]


def _formatted(value: int | float, section: str) -> str:
    bare = PARTS.sub("", section)
    if scientific := SCIENTIFIC.search(bare):
        digits = scientific[0].partition("E")[0].partition(".")[2]
        return f"{value:.{len(digits)}E}"
    pattern = DIGITS.search(bare)
    if pattern is None or "/" in bare:  # a text, such as "none" for zero, or a fraction
        text = _literals(section)
        return text if text and pattern is None else _general(value)
    number = _digits(value, pattern[0], bare)
    # the literals around the digits, whose commas and points are theirs
    place = re.search(re.escape(pattern[0]), PARTS.sub(lambda part: "\0" * len(part[0]), section))
    if place is None:
        return number
    before, after = _literals(section[: place.start()]), _literals(section[place.end() :])
    sign, number = ("-", number[1:]) if number.startswith("-") else ("", number)
    return f"{sign}{before}{number}{after}".strip()


def _digits(value: int | float, pattern: str, section: str) -> str:
    """Return the digits of a number: percent, thousands, decimal places, leading zeros."""
    unscaled = pattern.rstrip(",")
    whole, _, decimals = unscaled.partition(".")
    amount = Decimal(str(value)) * 100 ** section.count("%") / 1000 ** (len(pattern) - len(unscaled))
    required, allowed = decimals.count("0"), len(decimals)
    amount = amount.quantize(Decimal(1).scaleb(-allowed), rounding=ROUND_HALF_UP)
    text = f"{abs(amount):,f}" if "," in whole else f"{abs(amount):f}"
    before, _, after = text.partition(".")
    while len(after) > required and after.endswith("0"):
        after = after[:-1]
    before = before.zfill(whole.count("0"))
    if not whole.count("0") and before == "0":
        before = ""
    sign = "-" if amount < 0 else ""
    return f"{sign}{before}.{after}" if after else f"{sign}{before}"


def _literals(section: str) -> str:
    """Return the text that a part of a format shows beside the digits."""

    def text(part: re.Match[str]) -> str:
        return part["quoted"] or part["escaped"] or part["currency"] or (" " if part[0].startswith("_") else "")

    pieces: list[str] = []
    position = 0
    for part in PARTS.finditer(section):
        pieces += [re.sub(r"[0#?,.]", "", section[position : part.start()]), text(part)]
        position = part.end()
    return "".join([*pieces, re.sub(r"[0#?,.]", "", section[position:])])


def _general(value: int | float) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
