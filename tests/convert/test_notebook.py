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
