"""Markdown from mrkdwn, the markup of Slack's stored messages.

Typed text stays literal: it is escaped where Markdown would see more in it than Slack shows (a heading, an image, a
tag). Code is never escaped. Emoji keep their names (`:tada:`), so that people can search for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["SlackNames", "escape", "to_markdown", "to_plain"]

CODE = re.compile(r"```(?P<block>.+?)```|(?<![`\w])`(?P<inline>[^`\n]+)`(?!`)", re.DOTALL)
TOKEN = re.compile(r"<([^<>\n]+)>")
TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
LINK_END = re.compile(r"\](?=[(:\[])")
BOLD = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])")
STRIKE = re.compile(r"(?<![\w~])~(?=[^\s~])([^~\n]*[^\s~])~(?![\w~])")
BULLET = re.compile(r"^([ \t]*)[•◦▪‣⁃]\ufe0e?[ \t]+", re.MULTILINE)
HEADING = re.compile(r"^( {0,3})(#{1,6}(?=[ \t]|$)|[=-]{2,}(?=[ \t]*$)|~{3,})", re.MULTILINE)
STASH = re.compile("\ue000([0-9]{1,6})\ue001")
"""Finished pieces wait between two characters of the private use area."""


@dataclass(frozen=True, slots=True)
class SlackNames:
    """Names of users (`U…`) and channels (`C…`) by id. An unknown id stays."""

    users: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)


def to_markdown(text: str, names: SlackNames) -> str:
    """Return a message as Markdown: links, mentions, styles, quotes, lists and code."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ue000", "").replace("\ue001", "")
    stash: list[str] = []

    def keep(piece: str) -> str:
        stash.append(piece)
        return f"\ue000{len(stash) - 1}\ue001"

    def code(match: re.Match[str]) -> str:
        if match["inline"] is not None:
            return keep("`" + _in_code(match["inline"], names) + "`")
        body = _in_code(match["block"], names).strip("\n")
        return "\n" + keep(f"```\n{body}\n```") + "\n"

    def put_back(match: re.Match[str]) -> str:
        return stash[int(match[1])] if int(match[1]) < len(stash) else ""

    text = CODE.sub(code, text)
    text = TOKEN.sub(lambda match: keep(_token(match[1], names)), text)
    text = escape(_entities(_quotes(text)))
    text = STRIKE.sub(r"~~\1~~", BOLD.sub(r"**\1**", text))
    text = re.sub(r"\n{3,}", "\n\n", BULLET.sub(r"\1- ", text))
    text = STASH.sub(put_back, STASH.sub(put_back, text))  # twice: a link's label may contain code
    return text.strip("\n ")


def to_plain(text: str, names: SlackNames) -> str:
    """Return a message as one line without markup, for titles."""
    text = TOKEN.sub(lambda match: _label(match[1], names), text.replace("```", " "))
    return " ".join(BOLD.sub(r"\1", _entities(text)).lstrip("> ").replace("`", "").split())


def escape(text: str) -> str:
    """Escape typed text, so that Markdown shows it literally."""
    text = TAG_START.sub(r"\\<", text)
    text = LINK_END.sub(r"\\]", text).replace("```", r"\`\`\`")
    return HEADING.sub(r"\1\\\2", text)


def _entities(text: str) -> str:
    """Resolve the three entities that Slack uses."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _in_code(text: str, names: SlackNames) -> str:
    return _entities(TOKEN.sub(lambda match: _label(match[1], names), text))


def _quotes(text: str) -> str:
    """Convert quotes: `>` quotes a line, `>>>` the rest; a blank line ends a quote, as Markdown requires."""
    lines: list[str] = []
    rest = quoted = False
    for line in text.split("\n"):
        if line.startswith("&gt;&gt;&gt;"):
            rest, line = True, line.removeprefix("&gt;&gt;&gt;")
            lines += [""] if lines and lines[-1] and not quoted else []
            lines.append(f"&gt; {line.strip()}".rstrip())
        elif rest:
            lines.append(f"&gt; {line}".rstrip())
        elif line.startswith("&gt;"):
            lines.append(f"&gt; {line.removeprefix('&gt;').strip()}".rstrip())
        else:
            lines += [""] if quoted and line else []
            lines.append(line)
        quoted = lines[-1].startswith("&gt;")
    return "\n".join(lines)


def _token(token: str, names: SlackNames) -> str:
    """Convert the content of <…>: a mention or a link."""
    target, _, label = token.partition("|")
    if token[0] in "@#!":
        return escape(_label(token, names))
    url, label = _entities(target), _entities(label).strip()
    if not re.match(r"https?://\S", url, re.IGNORECASE):
        return escape(label or url.removeprefix("mailto:"))
    url = re.sub(r"[\s()<>\\]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), url)
    if not label or label in (url, re.sub(r"^https?://", "", url)):
        return f"<{url}>"
    label = re.sub(r"([\[\]\\])", r"\\\1", label)
    return f"[{TAG_START.sub(r'&lt;', label)}]({url})"


def _label(token: str, names: SlackNames) -> str:
    """Return the text that Slack shows for the token."""
    target, _, label = token.partition("|")
    kind, name = target[0], target[1:]
    if kind == "@":
        return f"@{names.users.get(name) or label or name}"
    if kind == "#":
        return f"#{names.channels.get(name) or label or name}"
    if kind == "!":
        if name.startswith("subteam^"):
            return f"@{label.removeprefix('@') or name.removeprefix('subteam^')}"
        return label or (f"@{name}" if name in ("channel", "here", "everyone") else name)
    return label or target.removeprefix("mailto:")
