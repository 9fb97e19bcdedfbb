"""Cells show what people see in Excel."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest
from lore.convert.office.number_formats import shown

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (0.075, "0.0%", "7.5%"),
        (0.075, "0%", "8%"),
        (1, "0%", "100%"),
        (42, "00000", "00042"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (-1234.5, '"$"#,##0.00', "-$1,234.50"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, "#,##0.00\\ [$kr-41D]", "1,234.50 kr"),
        (-5, "0;(0)", "(5)"),
        (-5, "#,##0;[Red]-#,##0", "-5"),
        (0, '0;-0;"none"', "none"),
        (1234.5, ACCOUNTING, "$1,234.50"),
        (-1234.5, ACCOUNTING, "$(1,234.50)"),
        (0, ACCOUNTING, "$-"),
        (1500000, '0.0,,"M"', "1.5M"),
        (12, '0 "km"', "12 km"),
        (4915112345, "0", "4915112345"),
        (0.5, "#.##", ".5"),
        (2.5, "0.##", "2.5"),
        (3, "0.##", "3"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (0.1 + 0.2, "General", "0.3"),
        (0.1 + 0.2, "0.00", "0.30"),
        (2.5, "0", "3"),
        (7, "General", "7"),
        (7, "@", "7"),
        (0.5, "# ?/?", "0.5"),
        (7, "[>100]0.0;0", "7"),
        ("text", "0.00", "text"),
        (True, "0", "TRUE"),
        (None, "0", ""),
        (timedelta(hours=30, minutes=15), "[h]:mm", "30:15"),
        (timedelta(hours=30, minutes=15, seconds=5), "[h]:mm:ss", "30:15:05"),
        (timedelta(minutes=95), "[mm]:ss", "95:00"),
        (timedelta(minutes=-95), "[h]:mm", "-1:35"),
        (time(9, 30), "h:mm AM/PM", "09:30"),
        (date(2026, 3, 15), "mm/dd/yyyy", "2026-03-15"),
        (datetime(2026, 3, 15, 9, 30), "dd.mm.yy hh:mm", "2026-03-15 09:30"),
        (1, "0" * 10_000, "1"),
    ],
)
def test_a_value_in_its_format(value: object, number_format: str, text: str) -> None:
    assert shown(value, number_format) == text
