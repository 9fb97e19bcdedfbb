"""A report as one self-contained HTML file: no network, no script, readable in light and dark.

The contents come from documents and models. Everything passed as text is escaped here, and the page's content security
policy blocks whatever would still get through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

__all__ = ["block", "details", "page", "paragraph", "section", "shown", "table"]

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")

STYLE = """
:root { color-scheme: light dark; --ink: #1b2330; --soft: #5b6675; --line: #d9dee6; --paper: #ffffff; --band: #f4f6f9;
  --best: #e5f4ea; --s0: #2f6fde; --s1: #e07b1f; --s2: #2a9d63; --s3: #a24bc7; --s4: #c93a4b; --s5: #0f9aa8;
  --s6: #8a6d1f; --s7: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #323b48; --paper: #12161c;
  --band: #1a2029; --best: #173324; --s0: #6ea1ff; --s1: #f4a259; --s2: #5cc98f; --s3: #c98be6; --s4: #ef7582;
  --s5: #4fc4d0; --s6: #cbb063; --s7: #9aa5b4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 1080px; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; } p { margin: .4rem 0; max-width: 75ch; } .soft { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .85rem; } td.n, th.n { text-align: right; white-space: nowrap; }
tr:nth-child(even) td { background: var(--band); } td.best { background: var(--best) !important; font-weight: 600; }
figure { margin: .75rem 0; } svg[role=img] { width: 100%; height: auto; display: block; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; text-anchor: middle; }
svg .tick, svg .axis { fill: var(--soft); }
svg .end { text-anchor: end; } svg .start { text-anchor: start; } svg .value { font-size: 11px; }
svg .grid { stroke: var(--line); stroke-width: 1; } .point { fill-opacity: .85; stroke: var(--paper); stroke-width: 1; }
.s0 { fill: var(--s0); } .s1 { fill: var(--s1); } .s2 { fill: var(--s2); } .s3 { fill: var(--s3); }
.s4 { fill: var(--s4); } .s5 { fill: var(--s5); } .s6 { fill: var(--s6); }
.s7 { fill: var(--s7); } .shape { fill: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; font-size: .85rem; color: var(--soft); }
.legend span { display: inline-flex; align-items: center; gap: .4rem; } .key { width: 12px; height: 12px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 0 2rem; }
details { border-bottom: 1px solid var(--line); padding: .5rem 0; } summary { cursor: pointer; font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; padding: .5rem .75rem; background: var(--band);
  border-radius: 6px; font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; max-height: 24rem;
  overflow-y: auto; }
ul { margin: .4rem 0; padding-left: 1.2rem; }
"""


def shown(text: str) -> str:
    """Escape text for the page."""
    return escape(_CONTROLS.sub("", text))


def page(title: str, lead: str, body: Sequence[str]) -> str:
    """Return the whole file: `title` and `lead` are text, `body` holds pieces made by these functions."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{shown(title)}</h1>\n<p class="soft">{shown(lead)}</p>\n' + "\n".join(body) + "\n</body>\n</html>\n"
    )


def section(heading: str, *pieces: str) -> str:
    """Return a heading with its contents."""
    return f"<h2>{shown(heading)}</h2>\n" + "\n".join(pieces)


def paragraph(text: str, *, soft: bool = False) -> str:
    """Return a paragraph of text."""
    return f'<p class="soft">{shown(text)}</p>' if soft else f"<p>{shown(text)}</p>"


def block(text: str) -> str:
    """Return preformatted text."""
    return f"<pre>{shown(text)}</pre>"


def details(summary: str, *pieces: str) -> str:
    """Return contents that open on a click."""
    return f"<details><summary>{shown(summary)}</summary>\n" + "\n".join(pieces) + "</details>"


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text_columns: int = 1,
    best: Sequence[tuple[int, int]] = (),
) -> str:
    """Return a table whose first `text_columns` hold text and the others numbers; `best` are (row, column) to
    highlight.
    """
    head = "".join(f"<th{_number(column, text_columns)}>{shown(name)}</th>" for column, name in enumerate(headings))
    body = ""
    for number, row in enumerate(rows):
        cells = "".join(
            f"<td{_number(column, text_columns, best=(number, column) in best)}>{shown(cell)}</td>"
            for column, cell in enumerate(row)
        )
        body += f"<tr>{cells}</tr>\n"
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _number(column: int, text_columns: int, *, best: bool = False) -> str:
    names = [name for name, given in (("n", column >= text_columns), ("best", best)) if given]
    return f' class="{" ".join(names)}"' if names else ""
