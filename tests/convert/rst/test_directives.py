"""Tables in files, options of described objects, Markdown in RST, and code below directives nobody knows."""

from __future__ import annotations

import pytest
from lore.convert import convert, resolve_includes

from tests.fakes import make_document

FILES = {
    "docs/limits.csv": "Plan,Jobs\nFree,100\nTeam,5000\n",
    "docs/data/limits.txt": "Free;100\n",
    "README.md": "---\ntitle: x\n---\n# Tide\n\nRun `tide` with *care*.\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n<script>x()</script>\n",
}


def rst(text: str) -> str:
    resolved = resolve_includes(text, "docs/page.rst", FILES.get)
    return convert(make_document(text=resolved, format="rst", title="")).text


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (".. csv-table:: Jobs\n   :file: limits.csv\n   :header-rows: 1\n", ["| Plan | Jobs |", "| Team | 5000 |"]),
        (
            ".. csv-table::\n   :file: /data/limits.txt\n   :delim: ;\n   :header: Plan;Jobs\n",
            ["| Plan | Jobs |", "| Free | 100 |"],
        ),
        ("- item\n\n  .. csv-table::\n     :file: limits.csv\n     :header-rows: 1\n", ["| Team | 5000 |"]),
        (".. csv-table:: Inline\n   :header: Plan,Jobs\n\n   Free,100\n", ["| Plan | Jobs |", "| Free | 100 |"]),
    ],
)
def test_tables_in_files_beside_the_page(table: str, rows: list[str]) -> None:
    text = rst(f"Before.\n\n{table}\nAfter.\n")
    assert all(row in text for row in rows)
    assert text.strip().endswith("After.")


@pytest.mark.parametrize("option", [":file: missing.csv", ":url: https://example.com/limits.csv"])
def test_a_table_that_cannot_be_read_is_named(option: str) -> None:
    assert "Jobs (table in " in rst(f".. csv-table:: Jobs\n   {option}\n")


@pytest.mark.parametrize(
    ("described", "facts"),
    [
        (
            ".. confval:: max_runs\n   :type: int\n   :default: ``5``\n\n   How many.\n",
            "`max_runs`\n\n- type: int\n- default: `5`\n\nHow many.",
        ),
        (
            ".. py:data:: LIMIT\n   :type: int\n   :value: 42\n   :no-index:\n\n   A limit.\n",
            "`LIMIT`\n\n- type: int\n- value: 42\n\nA limit.",
        ),
        (".. py:function:: run(x)\n   :async:\n   :module: tide\n\n   Runs.\n", "`run(x)`\n\n- async\n\nRuns."),
        (".. option:: --limit N\n\n   How many.\n", "`--limit N`\n\nHow many."),
    ],
)
def test_options_of_described_objects_are_facts(described: str, facts: str) -> None:
    assert rst(described).strip() == facts


@pytest.mark.parametrize(
    "include",
    [
        ".. include:: ../README.md\n   :parser: myst_parser.sphinx_\n",
        ".. include:: ../README.md\n",
        ".. include:: /README.md\n",
    ],
)
def test_included_markdown_is_text(include: str) -> None:
    assert rst(f"About\n=====\n\n{include}\nEnd.\n") == (
        "# About\n\n# Tide\n\nRun `tide` with *care*.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nEnd.\n"
    )


@pytest.mark.parametrize(
    ("directive", "code"),
    [
        (
            ".. click:example::\n\n   @click.command()\n   def cli(*names):\n       pass\n",
            "```\n@click.command()\ndef cli(*names):\n    pass\n```",
        ),
        (
            ".. exec_code::\n   :language: python\n\n   x = [\n     1,\n   ]\n   print(x)\n",
            "```python\nx = [\n  1,\n]\nprint(x)\n```",
        ),
        (
            ".. code-tab:: bash Linux\n\n   make demo  # *not* emphasis\n",
            "**Linux**\n\n```bash\nmake demo  # *not* emphasis\n```",
        ),
        (".. tide-session::\n\n   $ tide run *.yaml\n   done\n", "```\n$ tide run *.yaml\ndone\n```"),
        (".. showcase::\n\n   limit = run(a_b, **options)\n", "```\nlimit = run(a_b, **options)\n```"),
        (
            ".. showcase:: Three nodes\n\n   Take *three* nodes (or more).\n",
            "**Three nodes**\n\nTake *three* nodes (or more).",
        ),
        (
            ".. card:: Limits\n\n   run(x) is what you want, then wait.\n",
            "**Limits**\n\nrun(x) is what you want, then wait.",
        ),
    ],
)
def test_code_below_directives_that_nobody_knows_stays_code(directive: str, code: str) -> None:
    assert rst(directive).strip() == code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A queue holds 10\\ :sup:`6` jobs.", "A queue holds 10^6 jobs."),
        ("CO\\ :sub:`2` is a gas.", "CO_2 is a gas."),
        ("So :math:`t=2^n` seconds.", "So `t=2^n` seconds."),
        ("See `pool`_ and `the page <page>`__.", "See pool and [the page](page)."),
    ],
)
def test_roles(text: str, shown: str) -> None:
    assert rst(text).strip() == shown
