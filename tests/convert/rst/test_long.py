"""Very long reStructuredText, a page with most of its constructs, and texts made to take for ever."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from lore.convert.rst.document import MAX_LENGTH, convert_rst
from lore.errors import ConversionError

SECTIONS = 1200

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


def test_every_construct_of_a_page() -> None:
    markdown = convert_rst(PAGE).text
    assert headings(markdown) == ["# Handbook", "## Deploying", "### UI"]
    for kept in (
        "Set the *executor* of a pool in `airflow.cfg`, by `DAG`, `run` and [its page](https://docs.example.com/page).",
        "**Note:** Ask first.",
        "**Warning:** Never on a **Friday**.",
        "**Added in version 2.3:** The pool of a step.",
        "Run this:\n\n```\nlore sync --all\n    # indented\n```",
        "```python\ndef run(x):\n    return x\n```",
        "- first\n\n  ```bash\n  make demo\n  ```",
        "- second\n  goes on",
        "1. one",
        "a       first\nb       second\n```",
        "x\n\ny",
        "**Linux**\n\nUse apt.",
        "[1] A footnote.",
        "The end.",
    ):
        assert kept in markdown, kept
    for dropped in ("comment", "toctree", ".. ", ":linenos:", "_top"):
        assert dropped not in markdown, dropped


def test_a_very_long_text_is_read_whole() -> None:
    section = "\nStep {n}\n--------\n\nSet :ref:`step-{n}` first.\n\n.. code-block:: sh\n\n   lore step {n}\n"
    text = "Steps\n=====\n" + "".join(section.format(n=n) for n in range(SECTIONS))
    converted = convert_rst(text)
    assert converted.title == "Steps"
    assert headings(converted.text) == ["# Steps", *(f"## Step {n}" for n in range(SECTIONS))]
    assert converted.text.count("```sh\nlore step ") == SECTIONS
    assert ":ref:" not in converted.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["`" * 500_000, "*" * 500_000, "- " * 250_000, ("  " * 90 + "- x\n") * 2_300, "=\n" * 250_000, ".. " * 170_000,
     "".join(" " * (depth % 400) + "- x\n\n" for depth in range(2_400)), "::\n\n " * 100_000, "`a <" * 125_000,
     ":a:`" * 125_000, "+-" * 250_000, "| a\n" * 20_000, "``a`" * 125_000],
    ids=["ticks", "stars", "dashes", "deep", "rules", "dots", "stairs", "literals", "links", "roles", "grids", "lines",
         "spans"],
)  # fmt: skip
def test_hostile_texts_come_to_an_end(text: str) -> None:
    start = time.process_time()
    with suppress(ConversionError, RecursionError):  # conversion reports either as the document's failure
        assert len(convert_rst(text).text) < 4 * len(text) + 100
    assert time.process_time() - start < 30


def test_a_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ConversionError, match="limit for reStructuredText"):
        convert_rst("A paragraph.\n\n" * (MAX_LENGTH // 14 + 1))
