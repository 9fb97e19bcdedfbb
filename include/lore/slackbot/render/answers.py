"""An answer as Slack's messages: whole, while it comes in, or as far as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lore.slackbot.render import phrases
from lore.slackbot.render.citations import small_print, source_blocks
from lore.slackbot.render.cutting import MOST_BYTES, Cutting
from lore.slackbot.render.lines import Lines
from lore.slackbot.render.plain import plain
from lore.slackbot.types import Block, Message
from lore.types import Answer

__all__ = ["Ending", "StreamRenderer", "notice", "partial", "render"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a streamed answer ends: the last `piece` to append, the `blocks` below it, and the messages that follow.

    `text` stands for the streamed message in notifications.
    """

    piece: str
    blocks: tuple[Block, ...]
    following: tuple[Message, ...]
    text: str


class StreamRenderer:
    """Makes a stream's safe Markdown of an answer's checked pieces, then its ending.

    What is streamed is the first message that `render` would make of the same answer, to the letter: every sign of it
    is decided by what is certain when it leaves. So pieces lag behind by a word, by a line where that may be a table or
    code, and by a paragraph where the message may have to end. Citations stay `[n]`: they are explained in the list of
    sources, which is known at the end, and a link at each would fill the message with addresses.
    """

    def __init__(self, *, most: int = MOST_BYTES) -> None:
        self._lines = Lines()
        self._cutting = Cutting(most)

    def feed(self, piece: str) -> str:
        """What may be appended now, often "". Once the message is full, the rest is kept for those that follow."""
        for unit in self._lines.feed(piece):
            self._cutting.add(unit)
        return self._cutting.take()

    def finish(self, answer: Answer, *, blocks_below: Sequence[Block] = ()) -> Ending:
        """The ending of a stream that was fed all of the answer's text; `blocks_below` come after its last message."""
        for unit in self._lines.finish():
            self._cutting.add(unit)
        self._cutting.finish()
        piece = self._cutting.take()
        texts = self._cutting.texts
        if not texts:
            piece, texts = phrases.EMPTY, [phrases.EMPTY]
        below = (*source_blocks(answer), *blocks_below)
        messages = [
            _message(text, below if number == len(texts) else (small_print(phrases.CONTINUES),))
            for number, text in enumerate(texts, start=1)
        ]
        first, *following = messages
        return Ending(piece, first.blocks[1:], tuple(following), first.text)


def render(answer: Answer, *, blocks_below: Sequence[Block] = (), most: int = MOST_BYTES) -> list[Message]:
    """A complete answer as the messages that show it, at least one. `blocks_below` come after the last one's sources.

    `most` is how many bytes of Markdown one message holds.
    """
    stream = StreamRenderer(most=most)
    piece = stream.feed(answer.text)
    ending = stream.finish(answer, blocks_below=blocks_below)
    first = Message((_markdown(piece + ending.piece), *ending.blocks), ending.text)
    return [first, *ending.following]


def partial(text: str, *, most: int = MOST_BYTES) -> Message:
    """An answer as far as it is there, well-formed: for a message that is updated while the answer comes in."""
    lines, cutting = Lines(), Cutting(most)
    for unit in lines.feed(text):
        cutting.add(unit)
    return _message(cutting.so_far() or f"_{phrases.WRITING}_", ())


def notice(text: str, *, blocks_below: Sequence[Block] = ()) -> Message:
    """A message of the bot's own words; `text` is Markdown, made safe like any other."""
    lines, cutting = Lines(), Cutting()
    for unit in (*lines.feed(text), *lines.finish()):
        cutting.add(unit)
    cutting.finish()
    return _message(cutting.texts[0] if cutting.texts else phrases.EMPTY, blocks_below)


def _message(markdown: str, below: Sequence[Block]) -> Message:
    return Message((_markdown(markdown), *below), plain(markdown) or plain(phrases.EMPTY))


def _markdown(text: str) -> Block:
    return {"type": "markdown", "text": text}
