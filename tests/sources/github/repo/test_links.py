"""Links between a repository's files, made absolute where they lead to a file."""

from __future__ import annotations

import pytest
from lore.sources.github.repo.links import RepositoryLinks

FILES = [
    "README.md",
    "docs/guide.md",
    "docs/a b.md",
    "docs/img/x.png",
    "docs/ref/api.rst",
    "src/lib.py",
    "example.com/a.md",
]
WEB = "https://github.com/octo/demo"
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def links():
    return RepositoryLinks(WEB, FILES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[a](guide.md)", f"[a]({WEB}/blob/release/1.x/docs/guide.md)"),
        ("[a](./guide.md#part-2)", f"[a]({WEB}/blob/release/1.x/docs/guide.md#part-2)"),
        ('[a](../src/lib.py "The title")', f'[a]({WEB}/blob/release/1.x/src/lib.py "The title")'),
        ("[a](/README.md?plain=1)", f"[a]({WEB}/blob/release/1.x/README.md?plain=1)"),
        ("[a](<a b.md>)", f"[a]({WEB}/blob/release/1.x/docs/a%20b.md)"),
        ("[a](a%20b.md)", f"[a]({WEB}/blob/release/1.x/docs/a%20b.md)"),
        ("![x](img/x.png)", f"![x]({WEB}/raw/release/1.x/docs/img/x.png)"),
        ("[![x](img/x.png)](ref/)", f"[![x]({WEB}/raw/release/1.x/docs/img/x.png)]({WEB}/tree/release/1.x/docs/ref)"),
        ("[top](#usage)", f"[top]({WEB}/blob/release/1.x/docs/here.md#usage)"),
        ("[root](..)", f"[root]({WEB}/tree/release/1.x)"),
        ("[id]: guide.md 'T'", f"[id]: {WEB}/blob/release/1.x/docs/guide.md 'T'"),
        ('<img src="img/x.png" width=3>', f'<img src="{WEB}/raw/release/1.x/docs/img/x.png" width=3>'),
        ("see `[a](guide.md)` and [b](guide.md)", f"see `[a](guide.md)` and [b]({WEB}/blob/release/1.x/docs/guide.md)"),
        ("``a`b`` [b](guide.md) `", f"``a`b`` [b]({WEB}/blob/release/1.x/docs/guide.md) `"),
    ],
)
def test_relative_links_of_markdown_become_absolute(links, before, after):
    assert links.markdown(before, "docs/here.md", "release/1.x") == after


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://example.com/guide.md)",
        "[a](//example.com/a.md)",
        "[a](mailto:team@example.com)",
        "[a](javascript:alert(1))",
        "[a](missing.md)",
        "[a](../../outside.md)",
        "[a](../../../etc/passwd)",
        "[a](page/)",
        "[a]()",
        "[a](..\\guide.md)",
        "```\n[a](guide.md)\n```",
        "    x = y[0](guide)",
        "| `a` | `[b](guide.md)` |",
    ],
)
def test_what_leads_nowhere_or_is_code_stays(links, text):
    assert links.markdown(text, "docs/here.md", "release/1.x") == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("See `the guide <guide.md>`_.", f"See `the guide <{WEB}/blob/release/1.x/docs/guide.md>`_."),
        ("`api <ref/api.rst>`__", f"`api <{WEB}/blob/release/1.x/docs/ref/api.rst>`__"),
        (".. _guide: guide.md", f".. _guide: {WEB}/blob/release/1.x/docs/guide.md"),
        (".. image:: img/x.png", f".. image:: {WEB}/raw/release/1.x/docs/img/x.png"),
        (".. |logo| image:: /docs/img/x.png", f".. |logo| image:: {WEB}/raw/release/1.x/docs/img/x.png"),
        (":doc:`ref/api`", ":doc:`ref/api`"),
        ("::\n\n   .. image:: img/x.png\n", "::\n\n   .. image:: img/x.png\n"),
        ("`other <https://example.com>`_", "`other <https://example.com>`_"),
    ],
)
def test_relative_links_of_rst_become_absolute(links, before, after):
    assert links.rst(before, "docs/here.rst", "release/1.x") == after


def test_pages_and_lines_have_addresses(links):
    assert links.page("docs/a b.md", "release/1.x") == f"{WEB}/blob/release/1.x/docs/a%20b.md"
    assert links.page("src/lib.py", COMMIT, (7, 7)) == f"{WEB}/blob/{COMMIT}/src/lib.py#L7"
    assert links.page("src/lib.py", COMMIT, (10, 40)) == f"{WEB}/blob/{COMMIT}/src/lib.py#L10-L40"
    assert links.page(b"caf\xe9#1.md".decode("utf-8", "surrogateescape"), COMMIT).endswith("/caf%E9%231.md")


@pytest.mark.parametrize("piece", ["](", "[a](guide.md", "`", "[x]:", '<img src="', "``` ", "`a <"])
def test_hostile_text_takes_linear_time(links, piece):
    """Time that grew with the square would end at the test's time limit."""
    text = piece * 50_000
    links.markdown(text, "docs/here.md", "release/1.x")
    links.rst(text, "docs/here.rst", "release/1.x")
