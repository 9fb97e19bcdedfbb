from __future__ import annotations

import json

import pytest
from lore.convert import convert
from lore.convert.omissions import OMITTED
from lore.types import Document

from tests.fakes import make_document


def md(text: str, **changes: object) -> Document:
    return convert(
        make_document(text=text, **({"format": "markdown", "title": "", "id": "fake:docs/page.md"} | changes))
    )


def test_markdown_is_a_verbatim_copy() -> None:
    details = "<details><summary>More</summary>\n\n\ttab\n</details>"
    text = f"Intro  \nwith break\n\n\n\n{details}\n\n* a\n* b\n\n```x\n  import a\n```"
    assert md(text).text == text


def test_front_matter_gives_title_and_metadata() -> None:
    page = md("---\ntitle: 'The title'\ntags: [a, b]\ndate: 2024-05-01\nscore: .nan\n---\n\n# Heading\n\nBody\n")
    assert page.title == "The title"
    assert page.text == "# Heading\n\nBody\n"
    assert page.metadata["tags"] == ["a", "b"]
    assert page.metadata["date"] == "2024-05-01"
    json.dumps(dict(page.metadata), allow_nan=False)


def test_toml_front_matter() -> None:
    page = md('+++\ntitle = "From TOML"\ndate = 2024-05-01T10:00:00Z\n+++\nBody')
    assert (page.title, page.text) == ("From TOML", "Body")
    assert page.metadata["date"].startswith("2024-05-01T10:00:00")


def test_front_matter_that_yaml_refuses_is_read_line_by_line() -> None:
    page = md("---\ntitle: Lore: a guide\nsidebar: x\n---\nBody")
    assert page.title == "Lore: a guide"
    assert page.text == "Body"


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA paragraph between rules.\n\n---\n\nMore.",
        "Text first.\n\n---\ntitle: Not front matter\n---\n",
        "```yaml\n---\ntitle: In a fence\n---\n```\n",
        "---\ntitle: never closed\n\nBody",
        "---\n- a list\n- of things\n---\nBody",
    ],
)
def test_what_only_looks_like_front_matter_stays(text: str) -> None:
    page = md(text)
    assert page.text == text
    assert page.title == "page"


def test_a_source_says_more_about_its_documents_than_their_text() -> None:
    assert md("---\npath: /etc\nown: 1\n---\nBody", metadata={"path": "docs/page.md"}).metadata == {
        "path": "docs/page.md",
        "own": 1,
    }


def test_yaml_aliases_do_not_multiply() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    page = md("---\n" + "\n".join(lines) + "\n---\n# Fine\n")
    assert page.title == "Fine"
    assert len(json.dumps(dict(page.metadata))) < 10_000


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# `code` and [a link](http://x) *here* #\n", "code and a link here"),
        ("Setext *title*\n==============\n", "Setext title"),
        ("```sh\n# a comment\n```\n\n# Real\n", "Real"),
        ("~~~~\n```\n# in code\n~~~~\n# Real\n", "Real"),
        ('<h1 align="center"><b>Badge</b> project</h1>\n', "Badge project"),
        ("## Only a second level\n", "page"),
        ("", "page"),
    ],
)
def test_the_title_is_the_first_heading_outside_code(text: str, title: str) -> None:
    assert md(text).title == title


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("Crash on start (#12)", "Crash on start (#12)"),
        ("page", "Heading"),
        ("page.md", "Heading"),
        ("docs/page.md", "Heading"),
        ("", "Heading"),
    ],
)
def test_a_title_of_the_source_goes_before_headings_unless_it_is_the_file_name(given: str, title: str) -> None:
    assert md("# Heading\n", title=given).title == title


MDX = """import Tabs from '@theme/Tabs';
import {
  Note,
} from "../note.jsx"
export const meta = {
  author: 'x'
}

# Set up {/* a comment */}

Use `<Tabs>` or `{braces}`, {' '}see <Link to="/x">the guide</Link> and <https://example.com>.

<Tabs values={[{label: 'Linux and Mac', value: 'unix'}]}>
<TabItem value="unix">

    Indented in MDX is still prose.

</TabItem>
<TabItem value="win" label="Windows">
  ```jsx
  import React from 'react'
  <Tabs>{x}</Tabs>
  ```
</TabItem>
</Tabs>

:::tip My advice
Do it.
:::

<details><summary>More</summary></details>
<div className="x" style={{color: 'red'}}>kept</div>

import the data first, then export it.
"""


@pytest.mark.parametrize("format_name", ["mdx", "markdown"])
def test_mdx_becomes_markdown(format_name: str) -> None:
    text = md(MDX, format=format_name).text
    assert text.startswith("# Set up \n\nUse `<Tabs>` or `{braces}`,  see the guide and <https://example.com>.")
    assert "**Linux and Mac**\n\nIndented in MDX is still prose." in text
    assert "**Windows**\n\n```jsx\nimport React from 'react'\n<Tabs>{x}</Tabs>\n```" in text
    assert "**Tip: My advice**\n\nDo it." in text
    assert "<details><summary>More</summary></details>" in text
    assert "<div>kept</div>" in text
    assert "import the data first, then export it." in text
    for gone in ("@theme", "Note", "author", "comment", "TabItem", ":::", "className", "\n\n\n"):
        assert gone not in text


def test_braces_and_angles_that_are_not_mdx_stay() -> None:
    text = "a < b, {x} and <\n"
    assert md(text, format="mdx").text == text


@pytest.mark.parametrize(
    "piece", ["<A ", "<A {", '<A "', "{", '{"', "{/* ", "`", "import {\n", "export const a = {\n", "<T>\n"]
)
def test_hostile_mdx_takes_no_time(piece: str) -> None:
    assert md(piece * 3000, format="mdx").format == "markdown"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "# Rotate\n\n<!--\n# Old way\nSend the key, password swordfish.\n-->\n\nPress Rotate.\n",
            "# Rotate\n\nPress Rotate.\n",
        ),
        ("Open it. <!-- TODO ask legal --> Press Rotate.", "Open it. Press Rotate."),
        ("<!-- What happened? -->\nIt fails.\n<!-- Your version -->\n2.1\n", "It fails.\n2.1\n"),
        ("- one\n    <!-- hidden -->\n- two", "- one\n- two"),
        ("a<!-- -->b <!--> c <!---> d", "ab c d"),
        ("<!-- \n```\n# not code\n-->\n# Title", "# Title"),
        ("<!-- a --><!-- b -->Text", "Text"),
        ("`<!-- shown -->` and\n\n```html\n<!-- shown -->\n```\n", None),
        ("Shown:\n\n    <!-- an example -->\n", None),
        ("A text with <!-- that is never closed.\n\n# Next", None),
        ("~~~\n<!--\n~~~\n-->", None),
    ],
)
def test_html_comments_are_no_text(text: str, shown: str | None) -> None:
    page = md(text)
    assert page.text == (text if shown is None else shown)
    assert (OMITTED in page.metadata) == (shown is not None and page.text != "ab c d")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<pre>\n# not a heading\nmake\n</pre>\n\nText", "```\n# not a heading\nmake\n```\n\nText"),
        ('<pre lang="sh"><code># a\nb &lt;c&gt;</code></pre>', "```sh\n# a\nb <c>\n```"),
        ('<pre><code class="language-python"># a\nrun(<b>1</b>)\n</code></pre>', "```python\n# a\nrun(1)\n```"),
        ("<td><pre>\n# a\n</pre></td>", "<td>\n```\n# a\n```\n</td>"),
        ("Use <pre>one line</pre> here.", None),
        ("```html\n<pre>\n# a\n</pre>\n```", None),
        ("<pre>\n# never closed", None),
    ],
)
def test_preformatted_text_is_code(text: str, shown: str | None) -> None:
    page = md(text)
    assert page.text == (text if shown is None else shown)
    if shown is not None:
        assert page.title == "page"  # of the file: there is no heading


@pytest.mark.parametrize(
    "block",
    [
        "- a cluster\n- a token",
        "> Never run it twice.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "1. one\n2. two",
        "a | b\n--- | ---\n1 | 2",
        "- a token\ngoes on",
        "<div>x</div>",
        "* one\n  more",
    ],
)
def test_a_rule_below_a_block_is_no_underline(block: str) -> None:
    assert md(f"# Deploy\n\n{block}\n---\n\nText.").text == f"# Deploy\n\n{block}\n\n---\n\nText."


@pytest.mark.parametrize(
    "text", ["Title\n---\n\nText", "A longer\ntitle\n-----\n", "```\n- a\n---\n```", "- a\n\nTitle\n---\n"]
)
def test_underlines_of_headings_stay(text: str) -> None:
    assert md(text).text == text
