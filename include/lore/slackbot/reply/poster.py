"""The messages of one answer in Slack: noted before and after they are posted, so that none is posted twice."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from lore.records.posted_answers import PostedAnswers
from lore.slackbot.queue.leases import Lease
from lore.slackbot.queue.posted_messages import find_lost_stream
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.errors import UncertainCallError, is_final
from lore.slackbot.types import Block, SlackCallError, SlackMessage, SlackQuestion

__all__ = ["Poster", "record_posts"]

logger = logging.getLogger(__name__)


class Poster:
    """Posts for one question. All methods raise SlackCallError, LeaseLost and RecordsError.

    Keyword arguments named `more` go into the metadata of the message.
    """

    def __init__(self, lease: Lease, slack: BotApi) -> None:
        self._lease = lease
        self._slack = slack
        self._question = lease.question

    def post_first(self, kind: str, message: SlackMessage, **more: str) -> str:
        """Post the first message that the asker sees, and return its ts."""
        return self._begin(kind, lambda: self._post(message, more))

    def start_stream(self, markdown: str) -> str:
        """Begin a stream as the first message, and return its ts.

        Where Slack doesn't confirm it, it is looked for at once; "" if it isn't there.
        """
        return self._begin("stream", lambda: self._stream(markdown))

    def append_stream(self, markdown: str) -> None:
        """Append to the stream."""
        with self._lease.speaking():
            self._slack.append_stream(self._question.channel, self._lease.shown, markdown)

    def stop_stream(self, markdown: str = "", blocks: Sequence[Block] = (), **more: str) -> None:
        """End the stream, with blocks below it."""
        metadata = self._metadata(more) if more else None
        with self._lease.speaking():
            self._slack.stop_stream(
                self._question.channel, self._lease.shown, markdown=markdown, blocks=blocks, metadata=metadata
            )

    def post_next(self, message: SlackMessage, **more: str) -> str:
        """Post a message after the first one, and return its ts."""
        with self._lease.speaking():
            return self._post(message, more)

    def update(self, message: SlackMessage, **more: str) -> None:
        """Change the first message."""
        with self._lease.speaking():
            self._slack.update(self._question.channel, self._lease.shown, message, metadata=self._metadata(more))

    def update_part(self, message: SlackMessage) -> None:
        """Change the first message to the answer so far."""
        with self._lease.speaking():
            channel, shown = self._question.channel, self._lease.shown
            self._slack.update(channel, shown, message, metadata=self._metadata({}), is_part=True)

    def post_anew(self, message: SlackMessage, **more: str) -> str:
        """Post a first message in place of one that can't be changed any more, and return its ts.

        The old one is deleted, unless Slack refuses that too: then it stays above the new one.
        """
        with self._lease.speaking():
            before = self._lease.shown
            self._lease.note(shown="")
            ts = self.post_first("message", message, **more)
            try:
                self._slack.delete(self._question.channel, before)
            except SlackCallError as error:
                logger.info("An unfinished message in %s stays: %s", self._question.channel, error.code)
            return ts

    def post_directly(self, message: SlackMessage) -> None:
        """Post a direct message to the asker."""
        with self._lease.speaking():
            self._slack.post(self._question.user, message, metadata=self._metadata({}))

    def post_privately(self, message: SlackMessage) -> None:
        """Post a message that only the asker sees: where the question was asked, else as a direct message that says
        why.
        """
        try:
            self.post_ephemeral(message)
        except SlackCallError as error:
            if not is_final(error):
                raise
            why = plain(phrases.shown_here(error.code))
            self.post_directly(SlackMessage((*why.blocks, *message.blocks), f"{why.text}\n\n{message.text}"))

    def post_ephemeral(self, message: SlackMessage) -> None:
        """Post a message that only the asker sees where the question was asked."""
        question = self._question
        with self._lease.speaking():
            if question.response_url:  # it works where the bot isn't a member, but not for long
                try:
                    self._slack.respond(question.response_url, message)
                except SlackCallError as error:
                    logger.info("Couldn't reply through a response URL: %s", error.code)
                else:
                    return
            self._slack.post_ephemeral(question.channel, question.user, message, thread_ts=question.thread_ts)

    def _metadata(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return which question a message belongs to, for the bot itself, and `more`."""
        return {"key": self._question.key, **more}

    def _post(self, message: SlackMessage, more: Mapping[str, str]) -> str:
        thread_ts, metadata = self._question.thread_ts, self._metadata(more)
        return self._slack.post(self._question.channel, message, thread_ts=thread_ts, metadata=metadata)

    def _stream(self, markdown: str) -> str:
        asked = self._question
        try:
            return self._slack.start_stream(
                asked.channel, asked.thread_ts, team=asked.team, user=asked.user, markdown=markdown
            )
        except UncertainCallError:
            found = find_lost_stream(self._slack, self._lease)
            if found is None:
                raise
            return found

    def _begin(self, kind: str, post: Callable[[], str]) -> str:
        with self._lease.speaking():
            before = self._lease.kind
            self._lease.note(kind=kind)
            try:
                ts = post()
            except UncertainCallError:
                raise  # it may be there: the next owner looks for it
            except SlackCallError:
                self._lease.note(kind=before)
                raise
            self._lease.note(**({"shown": ts} if ts else {"kind": before}))
            return ts


def record_posts(posted: PostedAnswers, question: SlackQuestion, messages: Sequence[str], answer_id: str) -> None:
    """Record which messages, by their ts, hold an answer ("" for one that isn't complete). Raises RecordsError."""
    for ts in messages:
        posted.keep(
            question.team,
            question.channel,
            ts,
            thread_ts=question.thread_ts,
            answer_id=answer_id,
            asker=question.asker,
        )
