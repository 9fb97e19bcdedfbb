"""How one answer appears: streamed where Slack streams, else in a message that is changed at a pace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lore.slackbot.queue.leases import Lease
from lore.slackbot.render import StreamRenderer, partial, render
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.slack_api.errors import TOKEN_CODES, UncertainCallError
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import Block, SlackApi, SlackCallError, SlackMessage
from lore.types import Answer

__all__ = ["BlocksBelow", "Delivery"]

FIRST_SECONDS = 0.4
"""The first words wait so long for more, so that a quick answer is one message."""
APPEND_SECONDS = 0.8
UPDATE_SECONDS = 1.3
"""Slack wants at most one change of a message a second."""

STREAM = "stream"
ABOUT_THIS = frozenset({"thread_not_found", "invalid_thread_ts", "message_not_found", "msg_too_long", "is_archived"})
"""Refusals of a stream that say nothing of the next one."""
REJECTED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long"})
"""Refusals of how a message looks."""
PLAIN_CHARACTERS = 3_000

BlocksBelow: TypeAlias = Callable[[str], Sequence[Block]]
"""The blocks that stand below the answer of an id."""


class Delivery:
    """Shows one answer. All methods raise SlackCallError, LeaseLost and RecordsError; after that, show nothing more."""

    def __init__(
        self, lease: Lease, slack: SlackApi, below: BlocksBelow, pace: RateBudgets, refused: RefusalCache
    ) -> None:
        self._lease = lease
        self._slack = slack
        self._below = below
        self._pace = pace
        self._refused = refused
        self._posts = Poster(lease, slack)
        self._growing = StreamRenderer()
        self._text = ""
        self._unread = ""
        self._pending = ""
        self._due: float | None = None
        self._stuck = lease.question.via == "command"  # nothing grows in what one person alone sees
        self._torn = False

    def grow(self, piece: str) -> None:
        """Take the next piece of the answer; it is shown with others when it is time."""
        self._text += piece
        if self._stuck:
            return
        self._unread += piece
        now = self._pace.clock()
        if self._due is None:
            self._due = now + FIRST_SECONDS
        if now < self._due:
            return
        try:
            with self._lease.speaking():  # or a sign that comes late would stand beside it
                self._show()
        except UncertainCallError:
            if not self._lease.shown:
                raise
            self._torn = True  # it may stand there or not: the end puts it right
            self._stuck = True
        except SlackCallError as error:
            if not error.retryable:
                raise
        pause = APPEND_SECONDS if self._lease.kind == STREAM else UPDATE_SECONDS
        self._due = self._pace.clock() + pause

    @property
    def begun(self) -> str:
        """The ts of the message in which others see a part of the answer; "" where there is none yet."""
        return self._lease.shown if self._lease.kind in (STREAM, "message") else ""

    def finish(self, answer: Answer) -> tuple[str, ...]:
        """Show the whole answer; returns the ts of its messages, none of those that only one person sees."""
        with self._lease.speaking():
            return self._finish(answer)

    def apologize(self, text: str) -> None:
        """Say, where the answer is or would have been, why there is not more of it."""
        with self._lease.speaking():
            self._apologize(plain(text), {"closed": "failed"})

    # ------------------------------------------------------------------------------------------------------- growing

    def _show(self) -> None:
        self._read()
        if self._lease.kind == STREAM:
            self._append()
        elif self._lease.kind == "message" and self._lease.shown:
            self._change()
        else:
            self._begin()

    def _begin(self) -> None:
        question = self._lease.question
        if self._lease.kind == "placeholder" and self._lease.shown:
            if self._pace.updates.take():
                self._lease.note(kind="message")
                self._posts.update(partial(self._text))
            return
        if not self._pending:
            return
        if not self._refused.knows(STREAM, question.channel) and self._pace.starts.take():
            try:
                if self._posts.begin_stream(self._pending):
                    self._pending = ""
                    return
            except SlackCallError as error:
                if error.retryable or error.code in TOKEN_CODES:
                    raise
                if error.code not in ABOUT_THIS:
                    self._refused.remember(STREAM, question.channel, error.code)
        self._pace.updates.spend()
        self._posts.begin("message", partial(self._text))

    def _append(self) -> None:
        if not self._pending or not self._pace.appends.take():
            return
        try:
            with self._lease.speaking():
                self._slack.append_stream(self._lease.question.channel, self._lease.shown, self._pending)
        except SlackCallError as error:
            if error.code == "message_not_in_streaming_state":  # Slack ends a stream that paused for long
                self._lease.note(kind="message")
            elif error.code in REJECTED:
                self._stuck = True
            else:
                raise
            return
        self._pending = ""

    def _read(self) -> None:
        """Render what came in since the last time."""
        self._pending += self._growing.feed(self._unread)
        self._unread = ""

    def _change(self) -> None:
        if not self._pace.updates.take():
            return
        try:
            self._posts.update(partial(self._text))
        except SlackCallError as error:
            if error.code not in REJECTED:
                raise
            self._stuck = True

    # ------------------------------------------------------------------------------------------------------ finishing

    def _finish(self, answer: Answer) -> tuple[str, ...]:
        below = tuple(self._below(answer.id))
        if self._lease.question.via == "command":
            return self._whisper(render(answer, blocks_below=below))
        if self._lease.kind == STREAM and not self._torn:
            self._read()
            ending = self._growing.finish(answer, blocks_below=below)
            mark = _marks(answer.id, 1 + len(ending.following))
            if self._stop(self._pending + ending.piece, ending.blocks, mark[0]):
                return self._further(ending.following, mark[1:])
        messages = render(answer, blocks_below=below)
        mark = _marks(answer.id, len(messages))
        if self._torn and self._lease.kind == STREAM:
            self._stop("", (), {})
        self._put(messages[0], mark[0])
        return self._further(messages[1:], mark[1:])

    def _apologize(self, notice: SlackMessage, mark: Mapping[str, str]) -> None:
        if self._lease.question.via == "command":
            self._lease.note(kind="told")
            self._posts.whisper(notice)
        elif self._lease.kind == STREAM:
            self._read()
            if not self._stop(self._pending, notice.blocks, mark):
                self._posts.further(notice, **mark)
        elif self._lease.kind == "message":
            part = partial(self._text)
            self._put(SlackMessage((*part.blocks, *notice.blocks), f"{part.text}\n\n{notice.text}"), mark)
        else:
            self._put(notice, mark)

    def _stop(self, markdown: str, blocks: Sequence[Block], mark: Mapping[str, str]) -> bool:
        """End the stream; False where it has to be put right by changing the message."""
        lease = self._lease
        try:
            with lease.speaking():
                self._slack.stop_stream(
                    lease.question.channel,
                    lease.shown,
                    markdown=markdown,
                    blocks=blocks,
                    metadata=self._posts.metadata(mark),
                )
        except SlackCallError as error:
            if error.code not in REJECTED and error.code != "message_not_in_streaming_state":
                raise
            if error.code in REJECTED:
                with lease.speaking():
                    self._slack.stop_stream(lease.question.channel, lease.shown)
            lease.note(kind="message")
            return False
        return True

    def _put(self, message: SlackMessage, mark: Mapping[str, str]) -> None:
        """Show a message in the place of what is shown, or as the first one."""
        replaces = bool(self._lease.shown)
        if self._lease.kind == "placeholder":
            self._lease.note(kind="message")

        def put(message: SlackMessage) -> None:
            if replaces:
                self._pace.updates.spend()
                self._posts.update(message, **mark)
            else:
                self._posts.begin("message", message, **mark)

        try:
            put(message)
        except SlackCallError as error:
            if error.code not in REJECTED:
                raise
            put(SlackMessage((), message.text[:PLAIN_CHARACTERS]))  # better without its looks than not at all

    def _further(self, messages: Sequence[SlackMessage], marks: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
        """Post what comes after the first message; returns the ts of all."""
        after = [self._posts.further(message, **mark) for message, mark in zip(messages, marks, strict=True)]
        return (self._lease.shown, *after)

    def _whisper(self, messages: Sequence[SlackMessage]) -> tuple[str, ...]:
        self._lease.note(kind="ephemeral")
        for message in messages:
            self._posts.whisper(message)
        return ()


def _marks(answer_id: str, parts: int) -> list[dict[str, str]]:
    """What the messages of an answer say of themselves: which it is, and which part of how many."""
    return [{"answer": answer_id, "part": f"{number}/{parts}"} for number in range(1, parts + 1)]
