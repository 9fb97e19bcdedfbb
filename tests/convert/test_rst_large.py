"""Very long reStructuredText: read line by line, and read as docutils reads it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from lore.convert.rst import DOCUTILS_LENGTH, convert_rst
from lore.convert.rst_large import read_large_rst

PAGE = """
.. _top:

========
Handbook
========

Set the *executor* of :doc:`a pool <pool>` in ``airflow.cfg``, by :class:`~airflow.models.dag.DAG`, :func:`!run`
and `its page <https://docs.example.com/page>`_.

Deploying
---------

.. note:: Ask first.

.. warning::

   Never on a **Friday**.

.. versionadded:: 2.3
   The `pool`_ of a step.

Run this::

    lore sync --all
        # indented

.. code-block:: python
   :linenos:

   def run(x):
       return x

UI
~~

- first

  .. code-block:: bash

     make demo

- second
  goes on

1. one
2. two

======  =======
key     meaning
======  =======
a       first

b       second
======  =======

+-----+-----+
| x   | y   |
+-----+-----+

.. a comment
   of two lines

.. toctree::

   pool

.. image:: picture.png
   :alt: A picture

.. tab-set::

   .. tab-item:: Linux

      Use apt.

.. [1] A footnote.

----

The end.
"""


def headings(markdown: str) -> list[str]:
    outside = re.sub(r"(?ms)^ *```.*?^ *```$", "", markdown)
    return [line.replace("`", "").replace("\\", "") for line in outside.split("\n") if line.startswith("#")]


def test_a_page_reads_as_docutils_reads_it() -> None:
    markdown = read_large_rst(PAGE)
    assert headings(markdown) == headings(convert_rst(PAGE).text) == ["# Handbook", "## Deploying", "### UI"]
    for kept in (
        "Set the *executor* of a pool in `airflow.cfg`, by `DAG`, `run`\nand [its page](https://docs.example.com/page).",
        "**Note:** Ask first.",
        "**Warning:**\n\nNever on a **Friday**.",
        "**Added in version 2.3:**\n\nThe pool of a step.",
        "Run this:\n\n```\nlore sync --all\n    # indented\n```",
        "```python\ndef run(x):\n    return x\n```",
        "- first\n\n  ```bash\n  make demo\n  ```",
        "- second\n  goes on",
        "1. one",
        "a       first\n\nb       second\n======  =======\n```",
        "```\n+-----+-----+\n| x   | y   |\n+-----+-----+\n```",
        "**Linux**\n\nUse apt.",
        "[1] A footnote.",
        "The end.",
    ):
        assert kept in markdown, kept
    for dropped in ("comment", "toctree", ".. ", "picture.png", ":linenos:", "_top"):
        assert dropped not in markdown, dropped


def test_a_very_long_text_is_read_whole() -> None:
    section = "\nStep {n}\n--------\n\nSet :ref:`step-{n}` first.\n\n.. code-block:: sh\n\n   lore step {n}\n"
    text = "Steps\n=====\n" + "".join(section.format(n=n) for n in range(DOCUTILS_LENGTH // 60))
    assert len(text) > DOCUTILS_LENGTH
    converted = convert_rst(text)
    assert converted.title == "Steps"
    assert headings(converted.text) == ["# Steps", *(f"## Step {n}" for n in range(DOCUTILS_LENGTH // 60))]
    assert converted.text.count("```sh\nlore step ") == DOCUTILS_LENGTH // 60
    assert ":ref:" not in converted.text


@pytest.mark.parametrize(
    "text",
    ["`" * 500_000, "*" * 500_000, "- " * 250_000, ("  " * 90 + "- x\n") * 2_300, "=\n" * 250_000, ".. " * 170_000,
     "".join(" " * (depth % 400) + "- x\n\n" for depth in range(2_400)), "::\n\n " * 100_000, "`a <" * 125_000,
     ":a:`" * 125_000, "+-" * 250_000, "| a\n" * 125_000, "``a`" * 125_000],
    ids=["ticks", "stars", "dashes", "deep", "rules", "dots", "stairs", "literals", "links", "roles", "grids", "lines",
         "spans"],
)  # fmt: skip
def test_hostile_texts_come_to_an_end(text: str) -> None:
    assert len(convert_rst(text).text) < 4 * len(text) + 100


def test_airflows_pages_read_the_same(shared_data: Path) -> None:
    words, missing = 0, 0
    pages = sorted((shared_data).rglob("*.rst"))
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8", errors="replace")
        try:
            expected = convert_rst(text).text
        except Exception:  # a hostile one that docutils is not given
            continue
        markdown = read_large_rst(text)
        wanted = headings(expected)  # docutils takes a title right below a paragraph for a mistake, and drops it
        assert [heading for heading in headings(markdown) if heading in wanted] == wanted, page.name
        there = Counter(re.findall(r"\w+", expected))
        words += there.total()
        missing += (there - Counter(re.findall(r"\w+", markdown))).total()
    assert missing < 0.01 * words
