"""What hangs on a Slack message: previews of links, blocks of apps, and files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lore.convert.decoding import clean
from lore.sources.payload import Payload, as_mappings, as_text
from lore.sources.slack.mrkdwn import SlackNames, to_markdown
from lore.sources.slack.values import as_count

__all__ = ["PostFile", "attachment_quotes", "block_texts", "file_lines", "read_file", "read_files"]

TEXT_TYPES = re.compile(
    r"text/(?!rtf\b|richtext\b|calendar\b|vcard\b).*|application/(json|x-?yaml|yaml|toml|sql|xml|x-sh|javascript)"
)
LANGUAGE = re.compile(r"[a-z][a-z0-9_+-]{0,19}")


@dataclass(frozen=True, slots=True)
class PostFile:
    """A file that was posted. `label` is its line in the message as Markdown, "" where the message names it itself.

    `content` is its text, as far as it is known: for a snippet the first lines come with the message, and `whole` says
    that they are all. `download` is the private address of the text of `size` bytes, "" where the file is no text.
    `unknown` is a file of another workspace, of which the message tells the id only.
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
    """Previews of links, and what integrations attach, as quotes."""
    for attachment in as_mappings(message.get("attachments")):
        title, link = as_text(attachment.get("title")), as_text(attachment.get("title_link"))
        heading = _link(link, title)
        fields = [
            f"*{as_text(f.get('title'))}*: {as_text(f.get('value'))}" for f in as_mappings(attachment.get("fields"))
        ]
        pieces = [as_text(attachment.get("pretext")), heading, as_text(attachment.get("text")), *fields]
        raw = "\n".join(piece for piece in pieces if piece) or as_text(attachment.get("fallback"))
        text = to_markdown(raw, names)
        if text:
            yield "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def block_texts(blocks: object, depth: int = 0) -> Iterator[str]:
    """The texts of Block Kit blocks, for messages of apps that have no other."""
    for block in as_mappings(blocks):
        if block.get("type") in ("mrkdwn", "plain_text"):
            yield as_text(block.get("text"))
        elif depth < 4:
            for key in ("text", "fields", "elements"):
                inner = block.get(key)
                yield from block_texts(inner if isinstance(inner, list) else [inner], depth + 1)


def read_files(message: Payload, said: str) -> tuple[PostFile, ...]:
    """The files of a message that says `said`, by name and permalink; what is deleted or hidden has neither."""
    payloads = [*as_mappings(message.get("files")), *as_mappings([message.get("file")])]
    return tuple(file for payload in payloads if (file := read_file(payload, said)))


def read_file(payload: Payload, said: str = "") -> PostFile | None:
    """A file object, or None where it tells nothing. Private addresses of an export carry secrets and are not shown."""
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
        download=private if is_text and kind != "text/html" else "",  # Slack's page to log in is HTML, too
    )


def file_lines(file: PostFile) -> Iterator[str]:
    """The file's name, and below it what is known of its text, as code."""
    if file.label:
        yield file.label
    if file.content:
        ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", file.content)), default=0))
        end = "" if file.whole else "\n…"
        yield f"{ticks}{file.language}\n{file.content}{end}\n{ticks}"


def _link(url: str, label: str) -> str:
    """Mrkdwn for a link, or for the label alone where there is nothing to link to."""
    label = " ".join(label.split()).replace("<", "&lt;").replace(">", "&gt;")
    return f"<{url}|{label}>" if label and re.fullmatch(r"https?://[^\s<>|]+", url) else label
