"""Draws rendered messages roughly as Slack shows them: python -m tests.slackbot.render.picture OUT.html

A tool for developers. The page needs nothing but itself; a browser makes a picture of it.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

from lore.slackbot.render import notice, phrases, render, unfinished
from lore.slackbot.types import SlackMessage
from markdown_it import MarkdownIt

from tests.slackbot.render.reading import answer, cited
from tests.slackbot.render.samples import CODE, HOSTILE, LISTS, SHAPES, TABLE, matrix
from tests.slackbot.render.test_matrix import BELOW

_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
_LINK = re.compile(r"<(https?:[^|>]+)\|([^>]*)>")

STYLE = """
body{font:15px/1.46 Lato,Arial,sans-serif;color:#1d1c1d;max-width:760px;margin:16px auto;background:#fff}
h3.case{font-size:12px;color:#888;border-top:1px solid #ddd;padding-top:8px;margin:18px 0 4px}
.message{display:grid;grid-template-columns:44px minmax(0,1fr);margin:6px 0}
.face{width:36px;height:36px;border-radius:6px;
background:#4a154b;color:#fff;text-align:center;line-height:36px}.name{font-weight:900}
.app{font-size:10px;background:#eee;
padding:1px 4px;border-radius:2px;margin-left:5px;color:#555}p,ul,ol,pre,table,blockquote,h1,h2,h3,h4,h5,h6
{margin:2px 0 6px}
h1,h2,h3,h4,h5,h6{font-size:18px}code{background:#f6f6f6;border:1px solid #ddd;border-radius:3px;color:#c01343;
font-size:12px;padding:1px 3px}pre{background:#f8f8f8;border:1px solid #ddd;border-radius:4px;padding:8px;overflow:auto;
max-height:260px}pre code{border:0;color:#1d1c1d;background:none;padding:0}table{border-collapse:collapse}
td,th{border:1px solid #ddd;padding:4px 9px;text-align:left}blockquote{border-left:4px solid #ddd;padding-left:10px;
margin-left:0}.context{font-size:12px;color:#616061;margin-top:6px;white-space:pre-wrap}a{color:#1264a3;
text-decoration:none}.buttons{margin-top:5px}.buttons span{border:1px solid #ccc;border-radius:4px;padding:2px 8px;
margin-right:6px;font-size:12px}.clip{max-height:1200px;overflow:hidden}.size{font-size:10px;color:#aaa}
"""


def draw(message: SlackMessage) -> str:
    body = "".join(_DRAWN.get(block["type"], _unknown)(block) for block in message.blocks)
    size = sum(len(block.get("text", "").encode()) for block in message.blocks if block["type"] == "markdown")
    head = '<span class="name">Lore</span><span class="app">APP</span>'
    return (
        f'<div class="message"><div class="face">L</div><div>{head} <span class="size">{size} bytes</span>'
        f'<div class="clip">{body}</div></div></div>'
    )


def page(cases: list[tuple[str, list[SlackMessage]]]) -> str:
    drawn = "".join(
        f'<h3 class="case">{html.escape(name)}</h3>' + "".join(map(draw, messages)) for name, messages in cases
    )
    return f'<!doctype html><meta charset="utf-8"><title>Messages</title><style>{STYLE}</style>{drawn}'


def _markdown(block: dict[str, Any]) -> str:
    return _PARSER.render(block["text"])


def _context(block: dict[str, Any]) -> str:
    return "".join(f'<div class="context">{_mrkdwn(element["text"])}</div>' for element in block["elements"])


def _mrkdwn(text: str) -> str:
    """Its entities are HTML's, so that only its links and marks are to be drawn."""
    drawn = _LINK.sub(r'<a href="\1">\2</a>', text)
    return re.sub(r"(?m)^_(.+)_$", r"<i>\1</i>", re.sub(r"(?m)^\*(.+)\*$", r"<b>\1</b>", drawn))


def _buttons(block: dict[str, Any]) -> str:
    element = block["elements"][0]
    labels = (element[name]["text"]["text"] for name in ("positive_button", "negative_button"))
    return '<div class="buttons">' + "".join(f"<span>{html.escape(label)}</span>" for label in labels) + "</div>"


def _unknown(block: dict[str, Any]) -> str:
    return f"<pre>{html.escape(str(block))}</pre>"


_DRAWN = {"markdown": _markdown, "context": _context, "context_actions": _buttons}


def cases() -> list[tuple[str, list[SlackMessage]]]:
    sources = [
        cited(1, "Scheduler | Airflow *docs*", "https://docs.example/scheduler", "Parsing `dags`"),
        cited(2, HOSTILE),
        cited(3, "No address", ""),
    ]
    usual = (
        "DAG files are parsed every **30 seconds** [1]. Change it with `dag_dir_list_interval` [2]:\n\n"
        f"```python\n{CODE}```\n\n{TABLE}\n## Steps\n\n{LISTS}\n> A quotation with a [link](https://docs.example/x).\n"
    )
    found = [(name, render(answer(text))) for name, text in SHAPES.items() if name not in ("plain", "surrogates")]
    long = dict(matrix())["long_15000_2"]
    return [
        ("a usual answer", render(answer(usual, sources), blocks_below=BELOW)),
        (
            "not found",
            render(answer("The index leases nothing that answers this.", nearest=sources), blocks_below=BELOW),
        ),
        ("many sources", render(answer("Much is said [1].", [cited(n, f"Page {n}") for n in range(1, 15)]))),
        ("unfinished", [unfinished(usual[: usual.index("return")])]),
        *((name, [notice(getattr(phrases, name))]) for name in ("APOLOGY", "WELCOME", "INDEX_UNREADABLE")),
        ("limit", [notice(phrases.rate_limited("person", 20, 200))]),
        *found,
        ("long", render(answer(long, sources), blocks_below=BELOW)),
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(cases()), encoding="utf-8")
