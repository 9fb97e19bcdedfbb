from __future__ import annotations

import json

import pytest
from lore.convert import convert
from lore.errors import ConversionError
from lore.types import Document

from tests.fakes import make_document


def notebook(**content: object) -> Document:
    text = json.dumps(content)
    return convert(make_document(text=text, format="notebook", title="", id="fake:nb/demo.ipynb"))


def test_cells_in_order_with_language_and_output() -> None:
    page = notebook(
        metadata={"language_info": {"name": "R"}},
        cells=[
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "source": "x <- 1\n",
                "outputs": [{"output_type": "stream", "text": ["one\n", "two\n"]}],
            },
            {"cell_type": "raw", "source": "raw text"},
        ],
    )
    assert page.text == "# Title\ntext\n\n```r\nx <- 1\n```\n\n```\none\ntwo\n```\n\nraw text\n"
    assert page.title == "Title"


def test_outputs_are_short_and_without_pictures() -> None:
    outputs = [
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure at 0x7f>"}},
        {"output_type": "execute_result", "data": {"text/html": "<b>x</b>", "text/plain": ["a  b\n", "1  2"]}},
        {"output_type": "stream", "text": "line\n" * 500},
        {"output_type": "error", "ename": "ValueError", "evalue": "\x1b[31mbad\x1b[0m", "traceback": ["…"]},
        {"output_type": "from the future"},
        "not even a mapping",
    ]
    text = notebook(cells=[{"cell_type": "code", "source": "f()", "outputs": outputs}]).text
    assert "a  b\n1  2" in text
    assert text.count("line\n") == 20
    assert "ValueError: bad\n" in text
    for gone in ("AAAA", "Figure", "image/png", "<b>", "\x1b"):
        assert gone not in text


def test_embedded_images_of_text_cells_are_dropped() -> None:
    source = "See ![a](attachment:x.png)![b](data:image/png;base64,AAAA) and ![c](c.png)"
    assert notebook(cells=[{"cell_type": "markdown", "source": source}]).text == "See  and ![c](c.png)\n"


def test_version_3_has_worksheets_headings_and_input() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Part one"]},
        {
            "cell_type": "code",
            "language": "python",
            "input": ["print(1)"],
            "outputs": [{"output_type": "pyout", "text": "1"}],
        },
    ]
    assert (
        notebook(nbformat=3, worksheets=[{"cells": cells}]).text
        == "## Part one\n\n```python\nprint(1)\n```\n\n```\n1\n```\n"
    )


def test_what_no_schema_allows_still_gives_its_text() -> None:
    cells = [
        {"cell_type": "hologram", "source": "from the future"},
        {"cell_type": "code"},
        {"cell_type": "markdown", "source": None},
        {"source": "no type"},
        "not a cell",
    ]
    assert notebook(cells=cells, metadata=[]).text == "from the future\n\nno type\n"


@pytest.mark.parametrize("text", ["", "not json", "[1]", "{}", "[" * 100_000, '{"cells": 5}'])
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises(ConversionError, match="fake:a") as caught:
        convert(make_document(text=text, format="notebook"))
    assert not caught.value.retryable


TABLE = (
    "<table><thead><tr><th>Plan</th><th>Jobs</th></tr></thead>"
    "<tbody><tr><td>Team</td><td>5000</td></tr></tbody></table>"
)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (
            {"text/markdown": "The limit is **4200** jobs.", "text/plain": "<IPython.core.display.Markdown object>"},
            "The limit is **4200** jobs.",
        ),
        (
            {"text/html": [TABLE], "text/plain": "   Plan  Jobs\n0  Team  5000"},
            "| Plan | Jobs |\n| --- | --- |\n| Team | 5000 |",
        ),
        (
            {"text/html": "<p>Done in <b>7</b> s.</p>", "text/plain": "<IPython.core.display.HTML object>"},
            "Done in **7** s.",
        ),
        ({"text/latex": ["$t=2^n$"], "text/plain": "<IPython.core.display.Math object>"}, "$t=2^n$"),
        ({"text/latex": "$\\displaystyle x^{2}$", "text/plain": "x**2"}, "$\\displaystyle x^{2}$"),
        ({"text/html": "<script>draw()</script>", "text/plain": "<vega.Chart at 0x7f00>"}, ""),
        ({"application/json": {"a": 1}, "text/plain": "<IPython.core.display.JSON object>"}, ""),
    ],
)
def test_rich_outputs_are_text(data: dict[str, object], shown: str) -> None:
    output = {"output_type": "display_data", "metadata": {}, "data": data}
    text = notebook(cells=[{"cell_type": "code", "source": "f()", "outputs": [output]}]).text
    assert text == "```python\nf()\n```\n" + (f"\n{shown}\n" if shown else "")


def test_front_matter_in_a_raw_cell_gives_the_title() -> None:
    raw = {"cell_type": "raw", "source": "---\ntitle: Queue limits\ntags: [jobs]\n---"}
    page = notebook(cells=[raw, {"cell_type": "markdown", "source": "Text."}])
    assert (page.title, page.text, page.metadata["tags"]) == ("Queue limits", "Text.\n", ["jobs"])
