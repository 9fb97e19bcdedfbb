"""Characters of outside text, made safe for Slack: none is invisible, none calls people, graphemes stay whole.

Slack turns `<!channel>`, `<!here>`, `<!everyone>`, `<!subteam^S1>`, `<@U1>` and `<#C1>` into mentions wherever it meets
them, in its own mrkdwn and in standard Markdown; `&lt;` is shown as `<` and never read again. A bare `@here` is text
to its Web API unless a call asks for names to be linked, which Lore's never do. Both are taken out of action, so
that no setting of a call, and no change of Slack's, makes an answer ring in a thousand pockets.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

import regex

from lore.visible_text import UNSEEN

__all__ = [
    "CODE_LESS",
    "CODE_TICK",
    "JOINER",
    "clean",
    "guard_code",
    "guard_names",
    "is_calling",
    "mrkdwn",
    "pieces",
    "shorten",
]

JOINER = "\u2060"
"""The word joiner, without width or line break. Lore puts it between two characters that mean something to Slack only
when they touch; it is removed from outside text first."""

CODE_LESS, CODE_TICK = "‹", "‵"
"""Signs for < and for a grave accent in code where Slack would read its own markup. Both can be seen: somebody
may copy the code, and an invisible character would break it for no visible reason."""

CALLING = ("here", "channel", "everyone", "group", "subteam")
LONGEST_NAME = 64

_AT = re.compile(r"(?<![^\W_])[@＠﹫](?=\S)")
_MARKUP = re.compile(r"[*_~`\\\u034f\u200c\u200d\ufe00-\ufe0f]")
_TOKEN_IN_CODE = re.compile(
    r"<(?=\s*!\s*(?:here|channel|everyone|group|subteam|date)\b|\s*[@#]\s*[A-Z0-9]|(?:https?|mailto|tel|slack):[^<>|\n]*\|)",
    re.IGNORECASE,
)
_LONGEST_CLUSTER = 64


def clean(text: str) -> str:
    """Return a text with line feeds alone and without characters that hide or turn text around.

    Right-to-left scripts need no bidirectional controls to be shown in their order.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(UNSEEN)


def is_calling(following: str) -> bool:
    """Return True if an @ before this text would call a group, also one written `ＨＥＲＥ` or `h&#101;re`."""
    name = _MARKUP.sub("", html.unescape(following[:LONGEST_NAME]).translate(UNSEEN))
    return unicodedata.normalize("NFKC", name).casefold().startswith(CALLING)


def guard_names(text: str, *, before: str = "", after: str = "") -> str:
    """Return a text, between others, in which no @ touches the name of a group."""
    guarded, end, whole = "", 0, text + after
    for at in _AT.finditer(before[-1:] + whole):
        place = at.end() - len(before[-1:])
        if 0 < place <= len(text) and is_calling(whole[place:]):
            guarded, end = guarded + text[end:place] + JOINER, place
    return guarded + text[end:]


def guard_code(code: str) -> str:
    """Return code in which Slack finds no mention and no link with another label.

    A bare `@here` stays as it is in code: it is a decorator there, somebody may copy it, and Slack links no names in
    code. A token in angle brackets gets another bracket, because Slack reads these before it looks for code.
    """
    return _TOKEN_IN_CODE.sub(CODE_LESS, code)


def mrkdwn(text: str) -> str:
    """Return outside text for a mrkdwn text object or the text of a message, where Slack shows it as it is."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return guard_names(escaped)


def pieces(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of at most `most` characters, cut between graphemes unless one is absurdly long."""
    if len(text) <= most:
        yield from (text,) * bool(text)
        return
    piece = ""
    for cluster in regex.findall(r"\X", text):
        for start in range(0, len(cluster), _LONGEST_CLUSTER):
            part = cluster[start : start + _LONGEST_CLUSTER]
            if piece and len(piece) + len(part) > most:
                yield piece
                piece = ""
            piece += part
    if piece:
        yield piece


def shorten(text: str, most: int) -> str:
    """Return a text in one line of at most `most` characters, with an ellipsis if it is cut."""
    line = " ".join(text.translate(UNSEEN).split())
    return line if len(line) <= most else next(pieces(line, most - 1)).rstrip() + "…"
