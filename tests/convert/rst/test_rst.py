from __future__ import annotations

import pytest
from lore.convert import convert
from lore.errors import ConversionError
from lore.types import Document

from tests.fakes import make_document


def rst(text: str) -> Document:
    return convert(make_document(text=text, format="rst", title="", id="fake:docs/page.rst"))


def test_sections_title_and_dropped_licence() -> None:
    page = rst(
        " .. Licensed to somebody under one\n    or more agreements.\n\n:orphan:\n\n"
        "The Title\n#########\n\n.. a comment\n\nPart\n====\n\nText\nover two lines.\n\nSub\n---\n\nEnd.\n"
    )
    assert page.text == "# The Title\n\n## Part\n\nText over two lines.\n\n### Sub\n\nEnd.\n"
    assert page.title == "The Title"


@pytest.mark.parametrize("name", ["code-block", "code", "sourcecode"])
def test_code_keeps_language_and_indentation(name: str) -> None:
    text = rst(
        f".. {name}:: python\n   :emphasize-lines: 1\n   :linenos:\n\n   def f():\n       return '<b>'\n\n\n   x\n"
    ).text
    assert text == "```python\ndef f():\n    return '<b>'\n\n\nx\n```\n"


def test_literal_blocks_show_directives_as_they_are() -> None:
    text = rst("Write::\n\n    .. note:: like this\n    with :ref:`x`\n\nDone.\n").text
    assert text == "Write:\n\n```\n.. note:: like this\nwith :ref:`x`\n```\n\nDone.\n"


@pytest.mark.parametrize(
    ("source", "markdown"),
    [
        (".. note:: Mind\n   the gap.\n\n   More.", "**Note:** Mind the gap.\n\nMore."),
        (".. warning::\n\n   Hot.", "**Warning:** Hot."),
        (".. seealso:: :doc:`Other </x/other>`", "**See also:** Other"),
        (".. versionadded:: 2.1", "**Added in version 2.1**"),
        (".. deprecated:: 2.2 Use **b**.", "**Deprecated since version 2.2:** Use **b**."),
        (".. admonition:: My title\n\n   Body.", "**My title**\n\nBody."),
        (".. tab-set::\n\n   .. tab-item:: Linux\n\n      Do it.", "**Linux**\n\nDo it."),
        (".. envvar:: LORE_HOME\n\n   Where it lives.", "`LORE_HOME`\n\nWhere it lives."),
        (".. py:function:: f(a, b=1)\n\n   Adds.", "`f(a, b=1)`\n\nAdds."),
        (".. no:such-thing:: arg\n   :option: 1\n\n   Its **text**.", "**arg**\n\nIts **text**."),
        (".. only:: html\n\n   Shown.", "Shown."),
        (".. image:: a.png\n   :alt: A diagram\n   :nonsense: 1", "![A diagram](a.png)"),
        (".. figure:: a.png\n\n   The caption.", "The caption."),
        (".. math:: a^2", "```math\na^2\n```"),
        (".. glossary::\n\n   DAG\n     A graph.", "**DAG**\n\nA graph."),
        (".. mermaid::\n\n   graph TD", "```mermaid\ngraph TD\n```"),
    ],
)
def test_directives_become_their_text(source: str, markdown: str) -> None:
    assert rst(source + "\n").text == markdown + "\n"


@pytest.mark.parametrize("name", ["toctree", "contents", "spelling", "jinja", "automodule", "index", "rst-class"])
def test_directives_without_a_text_of_their_own_are_dropped(name: str) -> None:
    assert rst(f"Before.\n\n.. {name}:: x\n   :maxdepth: 2\n\n   a/b\n   c\n\nAfter.\n").text == "Before.\n\nAfter.\n"


@pytest.mark.parametrize(
    ("source", "markdown"),
    [
        (":ref:`Some title <label>`", "Some title"),
        (":doc:`/howto/index`", "/howto/index"),
        (":class:`~airflow.models.DAG`", "`DAG`"),
        (":py:meth:`!x.y`", "`x.y`"),
        (":envvar:`HOME`", "`HOME`"),
        (":no-such-role:`plain words`", "plain words"),
        ("``a_b``", "`a_b`"),
        ("**b** *i*", "**b** *i*"),
        ("`link <https://x.example>`_", "[link](https://x.example)"),
        ("https://x.example", "<https://x.example>"),
        ("|sub| it\n\n.. |sub| replace:: Put", "Put it"),
        ("|undefined|", "|undefined|"),
        ("Broken_ *start", "Broken\\_ \\*start"),
        ("See [1]_.\n\n.. [1] The note.", "See [1].\n\n[1] The note."),
    ],
)
def test_inline_markup(source: str, markdown: str) -> None:
    assert rst(source + "\n").text.replace("\\", "") == markdown.replace("\\", "") + "\n"


def test_a_reference_within_the_document_shows_the_title() -> None:
    assert "See My section." in rst("See :ref:`here`.\n\n.. _here:\n\nMy section\n==========\n\nText.\n").text


def test_a_directive_right_below_a_paragraph_is_not_read_as_text() -> None:
    text = rst("Do these steps:\n.. code-block:: bash\n\n   make it\n\n- item\n  .. note:: x\n").text
    assert "Do these steps:\n\n```bash\nmake it\n```" in text
    assert ".. " not in text


def test_tables() -> None:
    grid = "+-----+------+\n| a   | b    |\n+=====+======+\n| 1   | ``2``|\n|     | x    |\n+-----+------+\n"
    assert "| a | b |\n| --- | --- |\n| 1 | `2` x |" in rst(grid).text
    listed = (
        ".. list-table:: Title\n   :header-rows: 1\n   :no-such-option:\n\n   * - a\n     - b\n   * - 1\n     - 2\n"
    )
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |" in rst(listed).text
    assert "| 1 | `x` |" in rst("== =====\nA  B\n== =====\n1  ``x``\n== =====\n").text


def test_a_simple_table_of_plain_words_stays_as_it_was_drawn() -> None:
    text = rst("======  =====\nName    State\n======  =====\none     on\ntwo\n======  =====\n").text
    assert text == "```\nName    State\none     on\ntwo\n```\n"


def test_a_simple_table_in_a_list_stays_as_it_was_drawn() -> None:
    table = "  ======  =====\n  Name    State\n  ======  =====\n  one     on\n  two\n  ======  =====\n"
    assert "  Name    State\n  one     on\n  two\n" in rst(f"- States:\n\n{table}").text


def test_files_and_raw_html_are_not_let_in() -> None:
    secret = "include:: /etc/passwd\n\n.. csv-table::\n   :file: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd"
    text = rst(
        f"Text.\n\n.. {secret}\n\n.. raw:: html\n\n   <script>x</script>\n\n.. literalinclude:: /etc/passwd\n"
    ).text
    assert text == "Text.\n\nTable in /etc/passwd\n"


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    rst("Title\n==\n\n*open\n\n.. image::\n\n.. code-block::\n\n:bad:`x` |y| z_\n\n  odd indent\n back\n")
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_a_date_does_not_make_the_text_change_from_day_to_day() -> None:
    assert rst("Of |today|.\n\n.. |today| date::\n").text.startswith("Of ")
    assert "20" not in rst("Of |today|.\n\n.. |today| date:: %Y\n").text


@pytest.mark.parametrize(
    "text",
    [
        ("*a **b `c ``d |e " * 10 + "\n") * 800,
        "x" * 60_000,
        "\n".join(f".. |a{i}| replace:: |a{i + 1}| |a{i + 1}|" for i in range(40)) + "\n.. |a40| replace:: x\n\n|a0|\n",
    ],
)
def test_what_would_take_docutils_forever_is_refused(text: str) -> None:
    with pytest.raises(ConversionError, match="fake:docs/page"):
        rst(text)


def test_a_role_cannot_let_raw_html_in() -> None:
    text = rst(".. role:: html(raw)\n   :format: html\n\nSome :html:`<u>words</u>` here.\n").text
    assert text == "Some words here.\n"
    assert rst(".. role:: html(raw)\n   :format: html\n\n:html:`<script>x()</script>`\n").text == "x()\n"
