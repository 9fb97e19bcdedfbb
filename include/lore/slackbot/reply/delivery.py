"""The appearance of one answer: streamed where Slack streams, else in a message that is updated now and then."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from lore.slackbot.queue.leases import Lease
from lore.slackbot.render import StreamRenderer, phrases, render, unfinished
from lore.slackbot.render.citations import small_print
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.errors import TOKEN_CODES, UncertainCallError, is_final
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import Block, SlackCallError, SlackMessage
from lore.types import Answer

__all__ = ["BlocksBelow", "Delivery"]

logger = logging.getLogger(__name__)

FIRST_SECONDS = 0.4
"""The first words wait so long for more, so that a quick answer is one message."""
APPEND_SECONDS = 0.8
UPDATE_SECONDS = 1.3
"""Slack wants at most one change of a message a second."""

STREAM = "stream"
ABOUT_THIS = frozenset({"thread_not_found", "invalid_thread_ts", "message_not_found", "msg_too_long", "is_archived"})
"""Refusals of a stream that say nothing about the next one."""
REJECTED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long"})
"""Refusals of a message's format."""
STREAM_ENDED = "message_not_in_streaming_state"
PLAIN_CHARACTERS = 3_000

Posted = TypeVar("Posted")

BlocksBelow: TypeAlias = Callable[[str], Sequence[Block]]
"""Returns the blocks below the answer with an id."""


class Delivery:
    """Shows one answer. All methods raise SlackCallError, LeaseLost and RecordsError; after that, show nothing more."""

    def __init__(
        self, lease: Lease, slack: BotApi, below: BlocksBelow, budgets: RateBudgets, refusals: RefusalCache
    ) -> None:
        self._lease = lease
        self._below = below
        self._budgets = budgets
        self._refusals = refusals
        self._poster = Poster(lease, slack)
        self._renderer = StreamRenderer()
        self._text = ""
        self._unread = ""
        self._pending = ""
        self._due: float | None = None
        # An ephemeral message can't grow, and who didn't ask the bot is told only what it found.
        self._waits_for_end = lease.question.via == "command" or not lease.is_awaited
        self._may_have_gap = False

    def grow(self, piece: str) -> None:
        """Take the next piece of the answer, and show it with others when it is time."""
        self._text += piece
        self._unread += piece
        if self._waits_for_end:
            return
        now = self._budgets.clock()
        if self._due is None:
            self._due = now + FIRST_SECONDS
        if now < self._due:
            return
        try:
            with self._lease.speaking():  # or a late status would appear beside it
                self._show()
        except UncertainCallError:
            if not self._lease.shown:
                raise
            self._may_have_gap = self._waits_for_end = True
        except SlackCallError as error:
            if error.code in TOKEN_CODES or not (error.retryable or self._lease.shown):
                raise
            if is_final(error):  # the end puts the answer elsewhere
                self._may_have_gap = self._waits_for_end = True
        pause = APPEND_SECONDS if self._lease.kind == STREAM else UPDATE_SECONDS
        self._due = self._budgets.clock() + pause

    def correct(self) -> None:
        """Note that the answer differs from the pieces so far: its end puts it in their place."""
        self._may_have_gap = self._waits_for_end = True

    @property
    def begun(self) -> str:
        """The ts of the message in which others see a part of the answer; "" if there is none yet."""
        return self._lease.shown if self._lease.kind in (STREAM, "message") else ""

    def finish(self, answer: Answer, notes: Sequence[str] = ()) -> tuple[str, ...]:
        """Show the whole answer with notes below it, and return the ts of its messages; ephemeral ones have none."""
        with self._lease.speaking():
            return self._finish(answer, (*map(small_print, dict.fromkeys(notes)), *self._below(answer.id)))

    def apologize(self, text: str) -> None:
        """Say, where the answer is or would have been, why there is no more of it."""
        with self._lease.speaking():
            self._apologize(plain(text), {"closed": "failed"})

    def explain(self, error: SlackCallError) -> None:
        """Tell the asker, in a direct message or else where it was asked, that Slack takes no answer there and why.

        Never raises SlackCallError: nothing is left to try.
        """
        notice = plain(phrases.not_posted(error.code))
        with self._lease.speaking():
            for post in (self._poster.post_directly, self._poster.post_ephemeral):
                try:
                    post(notice)
                    return
                except SlackCallError as refused:
                    logger.info("Couldn't tell an asker of %s: %s", error.code, refused.code)

    # ------------------------------------------------------------------------------------------------------- growing

    def _show(self) -> None:
        self._read()
        if self._lease.kind == STREAM:
            self._append()
        elif self._lease.kind == "message" and self._lease.shown:
            self._update()
        elif self._lease.kind == "placeholder" and self._lease.shown:
            if self._budgets.updates.take():
                self._lease.note(kind="message")
                self._poster.update_part(unfinished(self._text))
        elif self._pending and not self._begin_stream():
            self._budgets.updates.spend()
            self._poster.post_first("message", unfinished(self._text))

    def _read(self) -> None:
        """Render what came in since the last time."""
        self._pending += self._renderer.feed(self._unread)
        self._unread = ""

    def _begin_stream(self) -> bool:
        """Begin a stream; return False where Slack has none for this question."""
        channel = self._lease.question.channel
        if self._refusals.knows(STREAM, channel) or not self._budgets.starts.take():
            return False
        try:
            if not self._poster.start_stream(self._pending):
                return False
        except SlackCallError as error:
            if error.retryable or error.code in TOKEN_CODES:
                raise
            if error.code not in ABOUT_THIS:
                self._refusals.remember(STREAM, channel, error.code)
            return False
        self._pending = ""
        return True

    def _append(self) -> None:
        if not self._pending or not self._budgets.appends.take():
            return
        try:
            self._poster.append_stream(self._pending)
        except SlackCallError as error:
            if error.code == STREAM_ENDED:  # Slack ends a stream that paused for long
                self._lease.note(kind="message")
            elif error.code in REJECTED:
                self._waits_for_end = True
            else:
                raise
            return
        self._pending = ""

    def _update(self) -> None:
        if not self._budgets.updates.take():
            return
        try:
            self._poster.update_part(unfinished(self._text))
        except SlackCallError as error:
            if error.code not in REJECTED:
                raise
            self._waits_for_end = True

    # ------------------------------------------------------------------------------------------------------ finishing

    def _finish(self, answer: Answer, below: Sequence[Block]) -> tuple[str, ...]:
        if self._lease.question.via == "command":
            return self._post_privately(render(answer, blocks_below=below))
        if self._lease.kind == STREAM and not self._may_have_gap:
            self._read()
            ending = self._renderer.finish(answer, blocks_below=below)
            parts = _parts(answer.id, 1 + len(ending.following))
            if self._stop(self._pending + ending.piece, ending.blocks, parts[0]):
                return self._post_rest(ending.following, parts[1:])
        messages = render(answer, blocks_below=below)
        parts = _parts(answer.id, len(messages))
        if self._may_have_gap and self._lease.kind == STREAM:
            self._stop("", (), {})
        self._put(messages[0], parts[0])
        return self._post_rest(messages[1:], parts[1:])

    def _apologize(self, notice: SlackMessage, metadata: Mapping[str, str]) -> None:
        if self._lease.question.via == "command":
            self._lease.note(kind="told")
            self._poster.post_privately(notice)
        elif self._lease.kind == STREAM:
            self._read()
            if not self._stop(self._pending, notice.blocks, metadata):
                self._poster.post_next(notice, **metadata)
        elif self._lease.kind == "message":
            part = unfinished(self._text)
            self._put(SlackMessage((*part.blocks, *notice.blocks), f"{part.text}\n\n{notice.text}"), metadata)
        else:
            self._put(notice, metadata)

    def _stop(self, markdown: str, blocks: Sequence[Block], metadata: Mapping[str, str]) -> bool:
        """End the stream; return False if the message has to be updated instead."""
        try:
            self._poster.stop_stream(markdown, blocks, **metadata)
        except SlackCallError as error:
            if not is_final(error):
                raise
            if error.code != STREAM_ENDED:
                self._close_stream()
            self._lease.note(kind="message")
            return False
        return True

    def _close_stream(self) -> None:
        """End the stream as it is, if Slack lets it: a message that is still open can't be changed."""
        try:
            self._poster.stop_stream()
        except SlackCallError as error:
            if not is_final(error):
                raise

    def _put(self, message: SlackMessage, metadata: Mapping[str, str]) -> None:
        """Show a message in place of the one that is shown, or as the first one.

        Where Slack refuses a change for good, the message is posted anew.
        """
        if self._lease.kind == "placeholder":
            self._lease.note(kind="message")
        if not self._lease.shown:
            _or_plain(lambda shown: self._poster.post_first("message", shown, **metadata), message)
            return
        self._budgets.updates.spend()
        try:
            _or_plain(lambda shown: self._poster.update(shown, **metadata), message)
        except SlackCallError as error:
            if not is_final(error):
                raise
            _or_plain(lambda shown: self._poster.post_anew(shown, **metadata), message)

    def _post_rest(self, messages: Sequence[SlackMessage], metadata: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
        """Post what follows the first message, and return the ts of all."""

        def post(message: SlackMessage, more: Mapping[str, str]) -> str:
            return _or_plain(lambda shown: self._poster.post_next(shown, **more), message)

        following = [post(message, more) for message, more in zip(messages, metadata, strict=True)]
        return (self._lease.shown, *following)

    def _post_privately(self, messages: Sequence[SlackMessage]) -> tuple[str, ...]:
        self._lease.note(kind="ephemeral")
        for message in messages:
            self._poster.post_privately(message)
        return ()


def _or_plain(post: Callable[[SlackMessage], Posted], message: SlackMessage) -> Posted:
    """Post a message, as plain text where Slack refuses its format."""
    try:
        return post(message)
    except SlackCallError as error:
        if error.code not in REJECTED:
            raise
        return post(SlackMessage((), message.text[:PLAIN_CHARACTERS]))


def _parts(answer_id: str, count: int) -> list[dict[str, str]]:
    """Return the metadata of an answer's messages: which answer it is, and which part of how many."""
    return [{"answer": answer_id, "part": f"{number}/{count}"} for number in range(1, count + 1)]
