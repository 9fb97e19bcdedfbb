from __future__ import annotations

import subprocess
import sys

import pytest
from lore.convert import CONVERTER_VERSION, FORMATS, convert, format_of
from lore.errors import ConversionError

from tests.fakes import make_document


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/a.md", "markdown"),
        ("A.MDX", "mdx"),
        ("x/y.htm", "html"),
        ("index.rst", "rst"),
        ("n.ipynb", "notebook"),
        ("feed.rss", "xml"),
        ("notes.txt", "text"),
        ("README", "text"),
        ("src/a.py", "code:python"),
        ("c:\\x\\b.TS", "code:typescript"),
        ("deploy/Dockerfile", "code:dockerfile"),
        ("values.yaml", "code:yaml"),
        ("photo.png", None),
        ("archive.tar.gz", None),
        (".gitignore", None),
        ("noext", None),
        ("", None),
    ],
)
def test_format_of_a_file_name(path: str, expected: str | None) -> None:
    assert format_of(path) == expected
    assert expected is None or expected in FORMATS


def test_text_is_kept_to_the_letter() -> None:
    assert convert(make_document(text="  a\n\n# b *c*\n", format="text")).text == "  a\n\n# b *c*\n"


def test_code_is_one_fenced_block_of_its_language() -> None:
    page = convert(make_document(text='"""\n```\n"""\nx = 1\n', format="code:python", title=""))
    assert page.text == '````python\n"""\n```\n"""\nx = 1\n````\n'
    assert page.title == "a"


def test_the_result_is_a_markdown_document_without_bytes() -> None:
    document = make_document(text="", data="héllo\r\nworld".encode(), format="text", metadata={"k": 1})
    page = convert(document)
    assert (page.text, page.format, page.data) == ("héllo\nworld", "markdown", None)
    assert page.metadata == {"k": 1}
    assert (page.id, page.url, page.audiences) == (document.id, document.url, document.audiences)
    assert convert(page).text == page.text


def test_errors_name_the_document_and_the_remedy() -> None:
    with pytest.raises(ConversionError, match=r"fake:a.*Unknown format 'odt'") as caught:
        convert(make_document(format="odt"))
    assert "markdown" in caught.value.remedy
    with pytest.raises(ConversionError, match="MB"):
        convert(make_document(text="x" * (33 * 1024 * 1024), format="text"))


def test_any_other_exception_fails_the_document_alone() -> None:
    nested = "\n".join("  " * depth + "- a\n" for depth in range(620))
    with pytest.raises(ConversionError, match="RecursionError") as caught:
        convert(make_document(text=nested, format="rst"))
    assert not caught.value.retryable


def test_importing_the_package_loads_no_parser() -> None:
    heavy = ("lxml", "docutils", "yaml", "html_to_markdown", "charset_normalizer")
    code = f"import sys, lore.convert; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_a_number() -> None:
    assert CONVERTER_VERSION >= 1
