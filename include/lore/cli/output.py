"""All output of the commands: results to stdout, progress and messages to stderr.

Titles, passages and answers are outside text. Before display they lose whatever a terminal would obey (escape
sequences, other control characters) and whatever disguises text (bidirectional controls, tags).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lore.errors import LoreError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.theme import Theme

__all__ = [
    "clean",
    "fits",
    "is_terminal",
    "message",
    "one_line",
    "print_json",
    "print_markdown",
    "print_rich",
    "print_table",
    "print_text",
    "progress",
    "show_error",
    "stages",
    "stderr_console",
]

# CSI, OSC/DCS/SOS/PM/APC with their terminators, and two-character escapes; then C0 without tab and newline, DEL, C1,
# bidirectional controls, invisible operators, byte order mark, tags, lone surrogates.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Return the text with only printable characters, tabs and newlines."""
    text = text.replace("\r\n", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return CONTROLS.sub("", ESCAPES.sub("", text))


def one_line(text: str) -> str:
    """Return the text in one line, without terminal controls."""
    return " ".join(clean(text).split())


def is_terminal() -> bool:
    """Return True if stdout is a terminal that can show styles."""
    return ("FORCE_COLOR" in os.environ or sys.stdout.isatty()) and _console(stderr=False).is_terminal


def print_text(text: str, end: str = "\n") -> None:
    """Print to stdout, unwrapped and without styles."""
    _write(clean(text) + end)


def print_json(value: Any) -> None:
    """Print one JSON value to stdout and nothing else; in ASCII, so that it can't control a terminal."""
    _write(json.dumps(value, indent=2) + "\n")


def print_rich(renderable: RenderableType, theme: Theme | None = None) -> None:
    """Print a rich renderable to stdout without blank lines around it: styled and fitted on a terminal, plain and wide
    elsewhere.
    """
    from rich.segment import Segment, Segments

    console = _console(stderr=False)
    if theme is not None:
        console.push_theme(theme)
    # Cleaned once more after rendering: Markdown turns character references into characters.
    rendered = console.render(renderable, console.options)
    segments = (Segment(clean(segment.text), segment.style) for segment in rendered if not segment.control)
    lines = list(Segment.split_lines(segments))
    blank = [not "".join(segment.text for segment in line).strip() for line in lines]
    first = blank.index(False) if False in blank else len(lines)
    last = len(lines) - blank[::-1].index(False) if False in blank else 0
    for line in lines[first:last]:
        console.print(Segments([*line, Segment.line()]), end="")


def print_markdown(text: str) -> None:
    """Print Markdown to a terminal: headings flush left, quotations in the terminal's own color behind a bar."""
    from rich.markdown import Heading, Markdown
    from rich.text import Text
    from rich.theme import Theme

    class LeftHeading(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Text.styled(self.text.plain, f"markdown.{self.tag}")

    class Plain(Markdown):
        elements = Markdown.elements | {"heading_open": LeftHeading}

    theme = Theme({"markdown.block_quote": "default", "markdown.h1": "bold", "markdown.h2": "bold"})
    print_rich(Plain(clean(text), code_theme="ansi_dark", hyperlinks=False), theme)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()) -> None:
    """Print rows as a table, or as labelled lines if the terminal is too narrow.

    `numbers` names the headings of right-aligned columns.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numbers else "left")
    for row in rows:
        table.add_row(*map(clean, row))
    if fits(table):
        print_rich(table)
        return
    width = max(map(len, headings)) + 2
    for row in rows:
        first, *others = zip(headings, row, strict=True)
        print_text(f"{first[0]} {one_line(first[1])}")
        for heading, cell in others:
            if cell:
                print_text(f"  {heading:<{width}}{one_line(cell)}")


def fits(renderable: RenderableType) -> bool:
    """Return True if the terminal is wide enough; without a terminal, everything fits."""
    from rich.measure import Measurement

    console = _console(stderr=False)
    unbounded = console.options.update(max_width=10_000)
    return not console.is_terminal or Measurement.get(console, unbounded, renderable).maximum <= console.width


def message(text: str) -> None:
    """Print a message to stderr."""
    sys.stderr.write(clean(text) + "\n")
    sys.stderr.flush()


def show_error(error: LoreError) -> None:
    """Print an error and its remedy to stderr."""
    message(f"Error: {error.message}" + (f"\n  {error.remedy}" if error.remedy else ""))


def stderr_console() -> Console:
    """Return the console of progress bars."""
    return _console(stderr=True)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()  # so that a closed pipe is noticed here, where it is handled, and not at exit


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console = Console(file=stream, markup=False, emoji=False, highlight=False, width=200)
    return console


@contextmanager
def stages(name: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a progress bar on a terminal and yield the function that moves it: stage, number done, total. Elsewhere show
    nothing, as a summary follows. `name` is shown until the first stage.
    """
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr_console(), transient=True) as bars:
        task = bars.add_task(name, total=None)
        yield lambda stage, done, total: bars.update(task, description=stage, completed=done, total=total)


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar of one stage."""
    with stages(name) as tell:
        yield lambda done, total: tell(name, done, total)
