"""Files that Markdown imports, includes or quotes, put in place while the source can read them."""

from __future__ import annotations

import pytest
from lore.convert import INCLUDING_FORMATS, convert, is_partial, resolve_includes

from tests.fakes import make_document

FILES = {
    "docs/_limits.mdx": "---\nid: x\n---\nAt most 4200 jobs a day.\n",
    "docs/guide/_plan.md": "import Limits from '../_limits.mdx';\n\nOn {props.plan}: <Limits />",
    "snippets/note.mdx": "Ask first.",
    "docs/run.py": "# [start:main]\ndef run():\n    return 1\n# [end:main]\n",
    "docs/loop.mdx": "import Loop from './loop.mdx';\n\nLoop. <Loop />",
    "docs/notes.md": "# --8<-- [start:a]\nThe wheel was built in 2019.\n# --8<-- [end:a]\nMore.",
    "README.md": "# Tide\n\nText.",
}


def mdx(text: str, format: str = "mdx") -> str:
    resolved = resolve_includes(text, "docs/page.mdx", FILES.get, format)
    return convert(make_document(text=resolved, format=format, title="")).text.strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("import Limits from './_limits.mdx';\n\n# Limits\n\n<Limits />", "# Limits\n\nAt most 4200 jobs a day."),
        (
            "import Limits from './_limits.mdx'\n\n<Limits></Limits>\n\n<Limits/>",
            "At most 4200 jobs a day.\n\nAt most 4200 jobs a day.",
        ),
        ("import Plan from './guide/_plan.md';\n\n<Plan plan=\"Team\" />", "On Team: At most 4200 jobs a day."),
        ("import Note from '/snippets/note.mdx';\n\n<Note />", "Ask first."),
        ("import Limits from '@site/docs/_limits.mdx';\n\n<Limits />", "At most 4200 jobs a day."),
        (
            "import run from '!!raw-loader!./run.py';\n\n<CodeBlock language=\"python\">{run}</CodeBlock>",
            "```python\n# [start:main]\ndef run():\n    return 1\n# [end:main]\n```",
        ),
        ("import Gone from './gone.mdx';\n\nText. <Gone />", "Text."),
        ("import Out from '../../etc/passwd.md';\n\nText. <Out />", "Text."),
    ],
)
def test_imported_partials_are_put_in_place(text: str, shown: str) -> None:
    assert mdx(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```{include} ../README.md\n```", "# Tide\n\nText."),
        ("```{include} ../README.md\n:start-after: Tide\n```", "Text."),
        ("```{literalinclude} run.py\n:pyobject: run\n```", "```python\ndef run():\n    return 1\n```"),
        ('--8<-- "notes.md:a"', "The wheel was built in 2019."),
        ('--8<-- "README.md"', "# Tide\n\nText."),
        ('```py\n--8<-- "docs/run.py:2:3"\n```', "```py\ndef run():\n    return 1\n```"),
        ('--8<-- "missing.md"', '--8<-- "missing.md"'),
        ("```{include} missing.md\n```", "```{include} missing.md\n```"),
    ],
)
def test_directives_and_snippets(text: str, shown: str) -> None:
    assert mdx(text, "markdown") == shown


def test_files_that_import_themselves_end() -> None:
    assert 1 < mdx("import Loop from './loop.mdx';\n\n<Loop />").count("Loop.") < 10


def test_partials_have_no_page_of_their_own() -> None:
    assert is_partial("docs/_limits.mdx") and is_partial("_x.md")
    assert not any(map(is_partial, ("docs/_index.md", "docs/limits.mdx", "_build/a.md", "_x.rst")))
    assert frozenset({"asciidoc", "rst", "markdown", "mdx"}) == INCLUDING_FORMATS
