"""An answer as Slack messages: whole, as a stream, or unfinished."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lore.slackbot.render import phrases
from lore.slackbot.render.blocks import fragments
from lore.slackbot.render.characters import clean
from lore.slackbot.render.citations import small_print, source_blocks
from lore.slackbot.render.inline import STOPS
from lore.slackbot.render.plain import plain
from lore.slackbot.render.splitting import MOST_BYTES, MessageSplitter
from lore.slackbot.types import Block, SlackMessage
from lore.types import Answer

_WORD_END = re.compile(rf"[\s{STOPS}]")

__all__ = ["StreamEnding", "StreamRenderer", "notice", "render", "unfinished"]


@dataclass(frozen=True, slots=True)
class StreamEnding:
    """The end of a streamed answer: the last `piece` to append, the `blocks` below it, and the messages that follow.

    `text` is the plain text of the streamed message.
    """

    piece: str
    blocks: tuple[Block, ...]
    following: tuple[SlackMessage, ...]
    text: str


class StreamRenderer:
    """Makes a stream's safe Markdown of an answer's checked pieces, then its ending.

    What is streamed is, to the letter, the first message that `render` makes of the same answer: a word leaves once no
    continuation can change it. So pieces lag behind by a word; by a line that may be of a table or code; and by a
    paragraph where the message may have to end. Citations stay `[n]`: the list of sources, known at the end, explains
    them, and a link at each would fill the message with addresses.
    """

    def __init__(self, *, most: int = MOST_BYTES) -> None:
        self._text = ""
        self._taken = 0
        self._splitter = MessageSplitter(most)

    def feed(self, piece: str) -> str:
        """Return what may be appended now, often "". Once the message is full, the rest is kept for following ones."""
        self._text += piece
        is_full = bool(self._splitter.texts)
        return self._take(whole=False) if _WORD_END.search(piece) and not is_full else ""

    def _take(self, *, whole: bool) -> str:
        text = self._text if whole else self._text.removesuffix("\r")
        made = fragments(clean(text), whole=whole)
        for fragment in made[self._taken :]:
            self._splitter.add(fragment)
        self._taken = len(made)
        if whole:
            self._splitter.finish()
        return self._splitter.take()

    def finish(self, answer: Answer, *, blocks_below: Sequence[Block] = ()) -> StreamEnding:
        """Return the end of a stream that was fed the whole text; `blocks_below` come after its last message."""
        piece, texts = self._take(whole=True), self._splitter.texts
        if not texts:
            piece, texts = phrases.EMPTY, [phrases.EMPTY]
        below = (*source_blocks(answer), *blocks_below)
        messages = [
            _message(text, below if number == len(texts) else (small_print(phrases.CONTINUES),))
            for number, text in enumerate(texts, start=1)
        ]
        first, *following = messages
        return StreamEnding(piece, first.blocks[1:], tuple(following), first.text)


def render(answer: Answer, *, blocks_below: Sequence[Block] = (), most: int = MOST_BYTES) -> list[SlackMessage]:
    """Return the messages of a complete answer, at least one. `blocks_below` come after the last one's sources.

    `most` is the number of bytes of Markdown in one message.
    """
    stream = StreamRenderer(most=most)
    piece = stream.feed(answer.text)
    ending = stream.finish(answer, blocks_below=blocks_below)
    first = SlackMessage((_markdown(piece + ending.piece), *ending.blocks), ending.text)
    return [first, *ending.following]


def unfinished(text: str, *, most: int = MOST_BYTES) -> SlackMessage:
    """Return the well-formed first message of an unfinished answer."""
    splitter = MessageSplitter(most)
    for fragment in fragments(clean(text), whole=False):
        splitter.add(fragment)
    return _message(splitter.so_far() or f"_{phrases.WRITING}_", ())


def notice(text: str, *, blocks_below: Sequence[Block] = ()) -> SlackMessage:
    """Return a message of the bot's own; `text` is Markdown, made safe like any other."""
    splitter = MessageSplitter()
    for fragment in fragments(clean(text)):
        splitter.add(fragment)
    splitter.finish()
    return _message(splitter.texts[0] if splitter.texts else phrases.EMPTY, blocks_below)


def _message(markdown: str, below: Sequence[Block]) -> SlackMessage:
    return SlackMessage((_markdown(markdown), *below), plain(markdown) or plain(phrases.EMPTY))


def _markdown(text: str) -> Block:
    return {"type": "markdown", "text": text}
