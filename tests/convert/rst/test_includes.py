from __future__ import annotations

import pytest
from lore.convert import convert, resolve_includes

from tests.fakes import make_document

EXAMPLE = """import os

# [START here]
@task
def f():
    return 1
# [END here]


class A:
    def m(self):
        pass
"""
FILES = {
    "docs/shared.inc": "Shared *text*.\n\n.. include:: deeper.inc",
    "docs/deeper.inc": "Deeper.",
    "docs/notes.md": "# Markdown",
    "src/example.py": EXAMPLE,
    "docs/loop.inc": "Loop.\n\n.. include:: loop.inc",
    "docs/data.json": '{"a": 1}',
}


def resolve(text: str, path: str = "docs/howto/page.rst") -> str:
    asked: list[str] = []

    def read(place: str) -> str | None:
        asked.append(place)
        return FILES.get(place)

    result = resolve_includes(text, path, read)
    assert not [place for place in asked if place.startswith(("/", "..")) or "/../" in place]
    return result


def test_a_text_without_includes_is_returned_to_the_letter() -> None:
    text = "A\n=\n\n  text\n\n.. note:: x\n\n\n"
    assert resolve(text) == text
    assert resolve("") == ""


def test_include_puts_the_text_in_and_goes_on_from_there() -> None:
    assert resolve("Before.\n\n.. include:: ../shared.inc\n\nAfter.\n") == (
        "Before.\n\nShared *text*.\n\nDeeper.\n\nAfter.\n"
    )


def test_include_keeps_the_indentation_of_its_place() -> None:
    assert resolve("- item\n\n  .. include:: ../deeper.inc\n") == "- item\n\n  Deeper.\n"


def test_an_absolute_target_starts_at_some_folder_above() -> None:
    assert "return 1" in resolve(".. exampleinclude:: /../src/example.py\n   :language: python\n")
    assert "Deeper." in resolve(".. include:: /deeper.inc\n")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (":start-after: [START here]\n   :end-before: [END here]", "@task\ndef f():\n    return 1"),
        (":start-at: def f\n   :end-at: return", "def f():\n    return 1"),
        (":lines: 1, 4-5", "import os\n@task\ndef f():"),
        (":lines: 10-", "class A:\n    def m(self):\n        pass"),
        (":start-line: 3\n   :end-line: 5", "@task\ndef f():"),
        (":pyobject: f", "@task\ndef f():\n    return 1"),
        (":pyobject: A.m", "def m(self):\n    pass"),
        (":start-after: no such text", ""),
        (":pyobject: B", ""),
        (":lines: x", ""),
    ],
)
def test_code_is_chosen_by_the_options_and_becomes_a_block(options: str, code: str) -> None:
    text = resolve(f"Text.\n\n.. literalinclude:: /src/example.py\n   {options}\n\nMore.\n")
    page = convert(make_document(text=text, format="rst")).text
    block = f"```python\n{code}\n```\n\n" if code else ""
    assert page == f"Text.\n\n{block}More.\n"


def test_language_and_caption() -> None:
    page = convert(
        make_document(text=resolve(".. literalinclude:: ../data.json\n   :caption: The data\n"), format="rst")
    )
    assert page.text == '**The data**\n\n```json\n{"a": 1}\n```\n'
    assert ".. code-block:: text" in resolve(".. include:: ../data.json\n   :code: text\n")


@pytest.mark.parametrize(
    "target",
    [
        "missing.rst",
        "../../../../etc/passwd",
        "/../../../etc/passwd",
        "/etc/passwd",
        "<isonum.txt>",
        "..",
        "/",
    ],
)
def test_what_cannot_be_read_is_dropped_with_its_options(target: str) -> None:
    assert resolve(f"A.\n\n.. include:: {target}\n   :start-line: 1\n\nB.\n").split() == ["A.", "B."]


def test_files_that_include_themselves_end() -> None:
    assert 1 < resolve(".. include:: ../loop.inc\n").count("Loop.") < 10


def test_many_includes_are_bounded() -> None:
    big = "x" * 500_000
    text = resolve_includes(".. include:: big.inc\n\n" * 50, "a.rst", lambda place: big)
    assert len(text) < 3_000_000


def test_an_include_that_is_only_shown_stays() -> None:
    text = ".. code-block:: rst\n\n   .. include:: ../shared.inc\n\nLike this::\n\n   .. include:: ../shared.inc\n"
    assert resolve(text) == text
