"""Dates in a question, as bounds on the last change of a passage."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from lore.types import Filters

__all__ = ["dates_by_rules", "mentions_time", "parse_dates"]

EARLIEST_YEAR = 1990

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    r"(?:(?P<iso>(?:19|20)\d\d-\d\d(?:-\d\d)?)"
    rf"|(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+)?(?P<month>{_MONTH})\.?\s+(?:(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?"
    r"(?P<year>(?:19|20)\d\d)|(?P<only_year>(?:19|20)\d\d))(?![\w-])"
)
_BOUND = re.compile(rf"\b(?P<word>since|after|before|until|till)\s+{_DATE}", re.IGNORECASE)
_SPAN = re.compile(
    r"\bin (?:the )?(?:last|past) (?P<number>\d{1,3})? ?(?P<unit>day|week|month|year)s?\b", re.IGNORECASE
)
_CHANGE = re.compile(
    r"\b(?:chang(?:ed|es)|updated?s?|edited|added|new|written|posted|said|asked|discuss(?:ed|ions?)|decided|decisions?|"
    r"announc(?:ed|ements?)|released?s?|reported|opened|closed|mentioned|messages?)\b",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(r"\W*(?:how|can|could|do|does|is|are|should|why)\b", re.IGNORECASE)
_TIME = re.compile(
    r"(?:19|20)\d\d"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|today|yesterday|recent\w*|lately|newest|latest"
    r"|(?:last|past|this|previous) (?:\w+ )?(?:day|week|month|quarter|year)s?"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|heute|gestern|letzte\w*|vergangene\w*|seit|neueste\w*"
    r"|aujourd|hier|dernier\w*|depuis|récent\w*|hoy|ayer|últim\w*|desde|reciente\w*)\b"
    r"|[今昨先去来][日週月年]|以降|以来|最近|最新|\d月",
    re.IGNORECASE,
)
"""Time words of five languages; in any other, only a year in digits bounds a question."""


def dates_by_rules(text: str, today: date, *, of_a_source: bool = False) -> Filters:
    """Return the bounds in a question that clearly mean the time of writing or change.

    "What was changed since March 2024?" has such a bound, "How do I list the runs since March 2024?" has none.
    `of_a_source` means that the question also names a source, which removes the doubt as well.
    """
    if _INSTRUCTION.match(text) or not (of_a_source or _CHANGE.search(text)):
        return Filters()
    after: date | None = None
    before: date | None = None
    for found in _BOUND.finditer(text):
        if (period := _period(found)) is None:
            continue
        match found["word"].lower():
            case "since":
                after = period[0]
            case "after":
                after = period[1]
            case "before":
                before = period[0]
            case _:
                before = period[1]
    if after is None and (span := _SPAN.search(text)):
        after = today - timedelta(days=int(span["number"] or 1) * UNIT_DAYS[span["unit"].lower()])
    return _bounds(after, before, today)


def parse_dates(after: str, before: str, today: date) -> Filters:
    """Parse the ISO dates that a language model wrote; invalid and implausible ones are left out."""
    return _bounds(_iso(after), _iso(before), today)


def mentions_time(text: str) -> bool:
    """Return True if a text mentions any time; without one, a model invented its bound."""
    return bool(_TIME.search(text))


def _bounds(after: date | None, before: date | None, today: date) -> Filters:
    """Return the bounds as filters, without bounds in the future and contradictory ones."""
    if after is not None and (after > today or after.year < EARLIEST_YEAR):
        after = None
    if before is not None and (before > today or before.year < EARLIEST_YEAR):
        before = None
    if after is not None and before is not None and after >= before:
        return Filters()
    return Filters(updated_after=_midnight(after), updated_before=_midnight(before))


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)


def _period(found: re.Match[str]) -> tuple[date, date] | None:
    """Return the first day of a matched period and the first day after it, or None for an invalid date."""
    try:
        if found["only_year"]:
            year = int(found["only_year"])
            return date(year, 1, 1), date(year + 1, 1, 1)
        if found["iso"]:
            parts = [int(part) for part in found["iso"].split("-")]
        else:
            parts = [int(found["year"]), MONTHS.index(found["month"][:3].lower()) + 1]
            if day := found["day"] or found["day_after"]:
                parts.append(int(day))
        start = date(parts[0], parts[1], parts[2] if len(parts) > 2 else 1)
    except ValueError:
        return None
    if len(parts) > 2:
        return start, start + timedelta(days=1)
    return start, date(start.year + start.month // 12, start.month % 12 + 1, 1)


def _iso(text: str) -> date | None:
    found = re.match(r"\s*(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?![\d-])", text)
    if not found:
        return None
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None
