"""Attachments of Slack messages: link previews, blocks of apps, and files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lore.convert.decoding import clean
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.slack.blocks import added_blocks
from lore.sources.slack.mrkdwn import SlackNames, to_markdown
from lore.sources.slack.values import as_count

__all__ = ["PostFile", "attachment_quotes", "file_lines", "read_file", "read_files"]

TEXT_TYPES = re.compile(
    r"text/(?!rtf\b|richtext\b|calendar\b|vcard\b).*|application/(json|x-?yaml|yaml|toml|sql|xml|x-sh|javascript)"
)
NO_PREVIEW = "[no preview available]"
LANGUAGE = re.compile(r"[a-z][a-z0-9_+-]{0,19}")


@dataclass(frozen=True, slots=True)
class PostFile:
    """A posted file. `label` is its line of Markdown in the message, "" if the message names it already.

    `content` is its text as far as known: a snippet's first lines come with the message, and `whole` means that these
    are all. `download` is the private address of the text of `size` bytes, "" for other files. `unknown` is a file of
    another workspace, of which the message has only the id.
    """

    id: str
    label: str
    plain: str
    content: str = ""
    language: str = ""
    whole: bool = False
    size: int = 0
    unknown: bool = False
    download: str = field(default="", repr=False)


def attachment_quotes(message: Payload, names: SlackNames) -> Iterator[str]:
    """Yield link previews, and attachments of integrations, as quotes."""
    for attachment in as_mappings(message.get("attachments")):
        fields = [
            f"*{as_text(f.get('title'))}*: {as_text(f.get('value'))}" for f in as_mappings(attachment.get("fields"))
        ]
        heading = _link(as_text(attachment.get("title_link")), as_text(attachment.get("title")))
        pieces = [as_text(attachment.get("pretext")), heading, as_text(attachment.get("text")), *fields]
        text = to_markdown("\n".join(piece for piece in pieces if piece), names)
        blocks = [attachment.get("blocks"), *_shared_blocks(attachment)]
        texts = [text, *(piece for one in blocks for piece in added_blocks(one, text, names))]
        text = "\n".join(piece for piece in texts if piece) or to_markdown(_fallback(attachment), names)
        if text:
            yield "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _fallback(attachment: Payload) -> str:
    text = as_text(attachment.get("fallback"))
    return "" if text == NO_PREVIEW else text


def _shared_blocks(attachment: Payload) -> Iterator[object]:
    """Yield the blocks of a message that the attachment shares."""
    for shared in as_mappings(attachment.get("message_blocks")):
        yield as_mapping(shared.get("message")).get("blocks")


def read_files(message: Payload, said: str) -> tuple[PostFile, ...]:
    """Return the files of a message with the text `said`; deleted and hidden files are left out."""
    payloads = [*as_mappings(message.get("files")), *as_mappings([message.get("file")])]
    return tuple(file for payload in payloads if (file := read_file(payload, said)))


def read_file(payload: Payload, said: str = "") -> PostFile | None:
    """Read a file object; None if it has no name. Private addresses carry secrets and are never shown."""
    identity, mode = as_text(payload.get("id")), as_text(payload.get("mode"))
    name = " ".join((as_text(payload.get("title")) or as_text(payload.get("name"))).split())
    if payload.get("file_access") == "check_file_info" and identity:
        return PostFile(identity, "", "", unknown=True)
    if not name or mode in ("tombstone", "hidden_by_limit"):
        return None
    plain = f"File: {name}"
    label = "File: " + to_markdown(_link(as_text(payload.get("permalink")).partition("?")[0], name), SlackNames())
    kind = as_text(payload.get("mimetype"))
    is_text = mode == "snippet" or (mode == "hosted" and bool(TEXT_TYPES.fullmatch(kind)))
    preview = clean(as_text(payload.get("preview"))) if mode == "snippet" else ""
    private = as_text(payload.get("url_private_download")) or as_text(payload.get("url_private"))
    language = as_text(payload.get("filetype"))
    return PostFile(
        id=identity,
        label="" if name in said else label,
        plain=plain,
        content=preview.strip("\n"),
        language=language if LANGUAGE.fullmatch(language) and language != "text" else "",
        whole=bool(preview) and not payload.get("preview_is_truncated") and not payload.get("lines_more"),
        size=as_count(payload.get("size")),
        download=private if is_text and kind != "text/html" else "",  # Slack's login page is HTML as well
    )


def file_lines(file: PostFile) -> Iterator[str]:
    """Yield the file's name, and below it its known text, as code."""
    if file.label:
        yield file.label
    if file.content:
        ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", file.content)), default=0))
        end = "" if file.whole else "\n…"
        yield f"{ticks}{file.language}\n{file.content}{end}\n{ticks}"


def _link(url: str, label: str) -> str:
    """Return mrkdwn for a link, or the label alone without an address."""
    label = " ".join(label.split()).replace("<", "&lt;").replace(">", "&gt;")
    return f"<{url}|{label}>" if label and re.fullmatch(r"https?://[^\s<>|]+", url) else label
