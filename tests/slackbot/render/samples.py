"""Answers in every shape that a model or a page may give them, generated from fixed seeds."""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["HOSTILE", "SHAPES", "matrix", "soup"]

CODE = "def run(x: list[int]) -> str:\n    # | not | a table |\n    return '<b>' if x[0] < 2 && y else \"**no**\"\n"
TABLE = "| Setting | Default | Meaning |\n| :-- | --: | --- |\n| `a` | 1 | first [1] |\n| b\\|c | **2** | second |\n"
LISTS = (
    "- one\n  - two\n    - three\n      1. four\n      2. five\n- six\n\n  more of six\n- [ ] open\n- [x] done\n"
    "1. first\n2. second\n   - inner\n"
)
HOSTILE = (
    "Call <!channel> and <!here|here> now, <!everyone>! Ask <@U012AB3CD>, <@W1|bob>, <!subteam^S01|@team>, <#C024|x>.\n"
    "Also @channel, @here, @everyone; ＠here, @ｈｅｒｅ, @HERE, @he\u200bre, @\u200dhere, &#64;channel, \\@here,\n"
    "&lt;!here&gt; &#60;!channel&#62; <https://evil.example|https://bank.example> [run](javascript:alert(1))\n"
    "[d](data:text/html,x)\n"
    "![pic](https://img.example/@here.png) [`a|b`](https://ok.example/a?b=c&d=e_f_(g)) <b onclick=x>bold</b> <br/>\n"
    "in code `@here <!channel> <@U012AB3CD> <https://evil.example|x>` and `` a`b ``; mail@here.example; x@channel\n"
)
SHAPES: dict[str, str] = {
    "plain": "A DAG is parsed every 30 seconds [1]. Set `dag_dir_list_interval` to change it [2].",
    "headings": "# Deploy\n\n## Before\nText.\n### After\n\nMore text [1].\n" + "## " + "long " * 60 + "\n",
    "code": f"Use this:\n\n```python\n{CODE}```\n\nThen go on [1].",
    "tilde_code": "~~~sh\n```\nls ~~~ -l\n```\n~~~\nend",
    "table": f"The settings:\n\n{TABLE}\nThat is all [2].",
    "table_in_code": f"```\n{TABLE}```\n",
    "wide_table": "|" + " a |" * 25 + "\n|" + " - |" * 25 + "\n|" + " 1 |" * 25,
    "lists": LISTS,
    "code_in_list": "1. Run\n   ```bash\n   make up\n     indented\n   ```\n2. Then\n   - ```\n     x\n     ```\n",
    "quotes": "> quoted *text* here\n>\n> ```yaml\n> a: <b>\n> ```\n>\n> > deeper\n\n— *Page › Part* [1]",
    "open_quoted_code": "> ```\n> a\nthe quotation ended",
    "links": "See [a|b](https://x.example/p|q), [c] (d), [e][f], [g]: https://h.example, <https://i.example/j>.\n"
    "[l]: https://m.example\n[n [o](https://p.example) q](https://r.example) [s](<https://t.example/u v>)\n"
    "[w](mailto:a@b.example) [](https://k.example)",
    "rtl": "يتم تحليل DAG كل 30 ثانية [1]. \u202eevil\u202c שלום \u2067x\u2069 world",
    "emoji": "Done :tada: 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 e\u0301 q\u0323\u0307 กำ " + "👩‍👩‍👧‍👦" * 20,
    "hostile": HOSTILE,
    "hostile_code": f"```\n{HOSTILE}```\n",
    "unclosed": "**bold *italic `code [link](https://x.example ~~gone\n\n- item **open\n```py\nprint(1)\n",
    "unclosed_tick": "a ` b\nc ``` d\n\n`e\nf`",
    "emphasis": "**bold *both* bold** *it* _it_ snake_case_name 2 * 3 * 4 **kwargs ~~no~~ ***all*** __init__ a**b**c",
    "html": "<details><summary>Hi</summary>\n\n<p>x &amp; y &copy; &nbsp;z &lt;script&gt;</p>\n<!-- <!here> -->\n",
    "crlf": "# T\r\n\r\nline one\r\nline two\r\r- a\r\n- b\r\n```\r\nc\r\n```\r\n",
    "controls": "a\x00b\x07c\x1b[31md\u200be\u2028f\ufeffg\U000e0041h\tj\x85k",
    "surrogates": "half \ud83d and \udc4d end",
    "rules": "a\n---\nb\n***\n\n* * *\nTitle\n===\n",
    "indented": "text\n\n    four spaces\n\ttab\n\n        eight\nend",
    "math": "a < b > c & d && e <= f -> g => h <- i &lt j &unknown; 5 > 3",
    "cjk": "DAGは30秒ごとに解析されます[1]。設定で変えられます！本当？はい、そうです。",
    "markers": "- \n1.\n# \n>\n+ x\n* y\n#nohead\n1986. A year\n- - nested\n",
    "footnotes": "Text[^1].\n\n[^1]: A note.\n[2]: not a definition",
    "escapes": r"\*not\* \_it\_ \[x\](y) \# \`z\` \\ \<!here\> \&amp; 1\. a\|b",
}


def soup(seed: int, length: int) -> str:
    """Fragments of Markdown in any order: mostly unfinished."""
    choose = random.Random(seed)
    words = ["word ", "two. ", "naïve ", "日本。", "👩‍👩‍👧", "e\u0301", "here", "channel ", "x_y ", "1 "]
    marks = [
        *"*_`[]()<>!@#|~\\&:-+\t",
        "**",
        "```",
        "~~~",
        "&lt;",
        "&#64;",
        "](",
        "![",
        "https://a.example/b ",
        "javascript:",
    ]
    lines = [
        "\n",
        "\n\n",
        "\r\n",
        "\n- ",
        "\n  - ",
        "\n1. ",
        "\n> ",
        "\n## ",
        "\n|a|b|\n|-|-|\n|",
        "\n---\n",
        "\n    ",
        "\n```js\n",
    ]
    calls = ["<!here>", "@channel", "<@U01AB>", "\u202e", "\u200b", "\u2060", "<#C01|x>", "<!subteam^S1>"]
    kinds = (words, words, words, marks, lines, calls)
    return "".join(choose.choice(choose.choice(kinds)) for _ in range(length))


def _long(seed: int, characters: int) -> str:
    """A long answer of real parts: sections, paragraphs, lists, tables, code."""
    choose = random.Random(seed)
    parts, length = [], 0
    while length < characters:
        number = len(parts)
        part = choose.choice(
            (
                f"## Section {number}\n\nIt begins [1].\n\n",
                " ".join(f"Sentence {number} number {n} says **something** of `x{n}` [2]." for n in range(12)) + "\n\n",
                "".join(f"- item {number}.{n} with [a link](https://docs.example/{n})\n" for n in range(9)) + "\n",
                "| k | v |\n|---|---|\n" + "".join(f"| {number}.{n} | <v{n}> |\n" for n in range(7)) + "\n",
                "```python\n" + "".join(f"call({number}, {n})  # <!here>\n" for n in range(15)) + "```\n\n",
            )
        )
        parts.append(part)
        length += len(part)
    return "".join(parts)


def matrix() -> Iterator[tuple[str, str]]:
    """Named answers: every shape, shapes after one another, long and endless ones, unfinished ones, soup."""
    yield from SHAPES.items()
    names = list(SHAPES)
    for number, name in enumerate(names):
        other = names[(number * 7 + 3) % len(names)]
        yield f"{name}_then_{other}", f"{SHAPES[name]}\n\n{SHAPES[other]}"
        text = SHAPES[name]
        yield f"{name}_cut", text[: len(text) * 2 // 3]
    yield from _endless()
    for seed in range(6):
        yield f"long_15000_{seed}", _long(seed, 15_000)
    yield "long_40000", _long(9, 40_000)
    for seed in range(80):
        yield f"soup_{seed}", soup(seed, 30 + seed * 3)


def _endless() -> Iterator[tuple[str, str]]:
    yield "empty", ""
    yield "blank", " \n\t\r\n  "
    yield "unseen", "\u200b\u202e\x00"
    yield "one_line", "A long line of words that goes on, [1] and `code`; " * 280
    yield "no_spaces", "x" * 14_000
    yield "no_spaces_cjk", "漢字かな交じり文" * 1_800
    yield "graphemes", "👩‍👩‍👧‍👦" * 1_500
    yield "combining", "e" + "\u0301" * 5_000
    yield "giant_code", "```sql\n" + "".join(f"SELECT {n} FROM t WHERE a < {n};\n" for n in range(800)) + "```\nend"
    yield "giant_code_line", "```\n" + "ab<!here>" * 1_700 + "\n```"
    yield "giant_span", "`" + "code <!channel> " * 900 + "`"
    yield "giant_table", "| n | text |\n|---|---|\n" + "".join(f"| {n} | row {n} `c` |\n" for n in range(900))
    yield "giant_row", "| n | text |\n|---|---|\n| 1 | " + "cell " * 2_600 + "|\n| 2 | end |"
    yield "giant_quote", "".join(f"> line {n} of it [1]\n" for n in range(900))
    yield "giant_link", f"[x](https://long.example/{'a' * 9_000}) and https://long.example/{'b' * 9_000}"
    yield "giant_bold", "**" + "bold words " * 1_300 + "**"
    yield "deep_lists", "".join("  " * n + f"- level {n}\n" for n in range(60))
    yield "deep_quotes", ">" * 60 + " deep"
    yield "many_items", "Steps:\n\n" + "".join(f"{n}. step {n}\n   - detail {n}\n" for n in range(1, 500))
    yield "many_headings", "".join(f"# H{n}\n\ntext {n}\n\n" for n in range(120))
    yield "many_links", "".join(f"[page {n}](https://docs.example/{n}/page) " for n in range(600))
    yield "many_brackets", "[" * 700 + "`" * 31 + "<" * 300 + "@" * 200 + "*" * 99
    yield "many_blank_lines", "a" + "\n" * 3_000 + "b"
