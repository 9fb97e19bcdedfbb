"""What is printed controls no terminal, whatever it says."""

from __future__ import annotations

import time

import pytest
from lore.cli.ask import MarkdownPrinter
from lore.cli.output import clean, print_markdown, print_rich, print_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain äöü 日本語 👩‍💻\tx\ny", "plain äöü 日本語 👩‍💻\tx\ny"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07click\x1b]8;;\x1b\\", "click"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x9b31mred", "red"),
        ("a\x1b", "a"),
        ("\x1b]unterminated", "unterminated"),
        ("a\x08\x08b\x07\r\nc\rd", "ab\ncd"),
        ("user\u202eexe.txt\u2066x\u2069", "userexe.txtx"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("one\u2028two", "one\ntwo"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize("piece", ["\x1b]", "\x9d", "\x1b[", "\x1bP\x90", "\x1b[0;"])
def test_clean_takes_linear_time(piece: str) -> None:
    started = time.perf_counter()
    clean(piece * 200_000)
    assert time.perf_counter() - started < 2.0


def test_character_references_are_cleaned_after_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.markdown import Markdown

    print_rich(Markdown("a &#x202e;b &#27;[31m c"))
    shown = capsys.readouterr().out
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    assert "a b" in shown


def test_text_is_never_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("[red]x[/] :smile: [link=https://evil.example]y[/link]")
    assert capsys.readouterr().out == "[red]x[/] :smile: [link=https://evil.example]y[/link]\n"


def test_an_answer_is_printed_block_by_block_to_the_letter(capsys: pytest.CaptureFixture[str]) -> None:
    answer = "First [1].\n\n```python\na = 1\n\n\nb = 2\n```\n\n- one\n\n  more of one\n\n- two\n\nLast."
    printer = MarkdownPrinter()
    shown = []
    for character in answer:
        printer.feed(character)
        shown.append(capsys.readouterr().out)
    printer.finish()
    shown.append(capsys.readouterr().out)
    blocks = [text for text in shown if text]
    assert blocks == [
        "First [1].\n\n",
        "```python\na = 1\n\n\nb = 2\n```\n\n",
        "- one\n\n  more of one\n\n",
        "- two\n\n",
        "Last.\n\n",
    ]


def test_markdown_on_a_terminal_is_flush_left_and_quotes_keep_the_color(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_markdown("# Ports\n\n> The port is 8080.")
    shown = capsys.readouterr().out
    assert "\x1b[35m" not in shown, "no magenta"
    assert clean(shown).splitlines()[0].startswith("Ports")
