"""AsciiDoc, with files that it includes, and texts made to take for ever."""

from __future__ import annotations

import pytest
from lore.convert import ANCHORS, OMITTED, convert, format_of, resolve_includes
from lore.errors import ConversionError
from lore.types import Document

from tests.fakes import make_document

FILES = {
    "docs/limits.adoc": "At most 4200 jobs.\n",
    "docs/run.py": "# tag::main[]\nrun(1)\n# end::main[]\nrun(2)\n",
    "docs/loop.adoc": "Loop.\n\ninclude::loop.adoc[]\n",
}
PAGE = """// a comment
= Limits of Tide
Jane Doe <jane@example.com>
:toc:
:limit: 4200

Intro with *bold*, `code` and {limit} jobs. See https://example.com[the site] and <<plans>>.

////
A long
comment.
////

[[plans]]
== Plans

NOTE: Ask first.

[WARNING]
====
Never on a *Friday*.
====

.Jobs by plan
[options="header"]
|===
|Plan |Jobs
|Free |100
|Team |5000
|===

[source,python]
----
def run(x):
    return x
----

term:: its definition

image::a.png[A picture]

ifdef::cloud[]
In the cloud.
endif::[]

=== Powers

* 10^6^ and CO~2~
** nested

[TIP]
Read on.
"""


def adoc(text: str) -> Document:
    resolved = resolve_includes(text, "docs/page.adoc", FILES.get, "asciidoc")
    return convert(make_document(text=resolved, format="asciidoc", title="", id="fake:docs/page.adoc"))


def test_a_page() -> None:
    page = adoc(PAGE)
    for kept in (
        "# Limits of Tide\n\nIntro with **bold**, `code` and 4200 jobs. See [the site](https://example.com) and Plans.",
        "\n## Plans\n\n**Note**\n\nAsk first.\n\n**Warning**\n\nNever on a **Friday**.\n",
        "*Jobs by plan*\n\n| Plan | Jobs |\n| --- | --- |\n| Free | 100 |\n| Team | 5000 |",
        "```python\ndef run(x):\n    return x\n```",
        "**term**\n\nits definition",
        "![A picture](a.png)",
        "In the cloud.",
        "### Powers\n\n- 10^6 and CO_2\n  * nested",
        "**Tip**\n\nRead on.",
    ):
        assert kept in page.text, kept
    for dropped in ("comment", "ifdef", "endif", ":toc:", "[[plans]]", "|==="):
        assert dropped not in page.text, dropped
    assert page.title == "Limits of Tide"
    assert ["Powers", "_powers"] in page.metadata[ANCHORS]
    assert page.metadata[OMITTED]["comments"] > 0


@pytest.mark.parametrize(
    ("include", "text"),
    [
        ("include::limits.adoc[]", "At most 4200 jobs."),
        (":root: .\n\ninclude::{root}/limits.adoc[]", "At most 4200 jobs."),
        ("----\ninclude::run.py[tag=main]\n----", "```\nrun(1)\n```"),
        ("----\ninclude::run.py[lines=4..4]\n----", "```\nrun(2)\n```"),
        ("Text.\n\ninclude::../../etc/passwd[]", "Text."),
        ("Text.\n\ninclude::https://example.com/x.adoc[]", "Text."),
        ("Text.\n\ninclude::/etc/passwd[]", "Text."),
    ],
)
def test_includes(include: str, text: str) -> None:
    assert adoc(f"{include}\n").text.strip() == text


def test_files_that_include_themselves_end() -> None:
    assert 1 < adoc("include::loop.adoc[]\n").text.count("Loop.") < 10


def test_nothing_is_read_by_the_converter() -> None:
    text = "Text.\n\ninclude::/etc/passwd[]\n\nimage::/etc/passwd[]\n\n++++\n<script>x()</script>\n++++\n"
    page = convert(make_document(text=text, format="asciidoc"))
    assert page.text.strip() == "Text."


def test_a_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ConversionError, match="limit for AsciiDoc"):
        adoc("Text.\n\n" * 150_000)


def test_names() -> None:
    assert [format_of(name) for name in ("a.adoc", "b.asciidoc", "c.asc")] == ["asciidoc"] * 3
