"""The messages of one answer in Slack: noted before and after they are posted, so that none is posted twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lore.slackbot.queue.leases import Lease
from lore.slackbot.queue.sightings import lost_stream
from lore.slackbot.slack_api.errors import UncertainCallError
from lore.slackbot.types import PostedAnswers, SlackApi, SlackCallError, SlackMessage, SlackQuestion

__all__ = ["Poster", "record_posts"]

ELSEWHERE = frozenset({"channel_not_found", "not_in_channel", "user_not_in_channel", "is_archived"})
"""Why a command cannot be answered where it was typed: the bot is not there."""


class Poster:
    """What is posted for one question. Every call raises SlackCallError, LeaseLost, and RecordsError."""

    def __init__(self, lease: Lease, slack: SlackApi) -> None:
        self._lease = lease
        self._slack = slack
        self._ask = lease.question

    def begin(self, kind: str, message: SlackMessage, **more: str) -> str:
        """Post the first message that the asker sees; returns its ts. `more` goes into its metadata."""
        return self._begin(kind, lambda: self._post(message, more))

    def begin_stream(self, markdown: str) -> str:
        """Begin a stream as the first message; returns its ts. Where Slack does not confirm it, it is looked for at
        once; "" where it stands nowhere.
        """
        return self._begin("stream", lambda: self._stream(markdown))

    def further(self, message: SlackMessage, **more: str) -> str:
        """Post a message after the first one; returns its ts."""
        with self._lease.speaking():
            return self._post(message, more)

    def update(self, message: SlackMessage, **more: str) -> None:
        """Change the first message."""
        with self._lease.speaking():
            self._slack.update(self._ask.channel, self._lease.shown, message, metadata=self.metadata(more))

    def whisper(self, message: SlackMessage) -> None:
        """Say something that the asker alone sees: where the question was asked, else in a direct message."""
        question = self._ask
        with self._lease.speaking():
            try:
                self._slack.post_ephemeral(question.channel, question.user, message, thread_ts=question.thread_ts)
            except SlackCallError as error:
                if error.code not in ELSEWHERE:
                    raise
                self._slack.post(question.user, message, metadata=self.metadata({}))

    def say(self, message: SlackMessage) -> None:
        """Say something that is no answer, in the thread or, to a command, to the asker alone."""
        if self._ask.via == "command":
            self.whisper(message)
        else:
            self.further(message)

    def metadata(self, more: Mapping[str, str]) -> dict[str, str]:
        """What a message says of itself, for the bot: which question it belongs to, and which answer it has."""
        return {"key": self._ask.key, **more}

    def _post(self, message: SlackMessage, more: Mapping[str, str]) -> str:
        question = self._ask
        return self._slack.post(question.channel, message, thread_ts=question.thread_ts, metadata=self.metadata(more))

    def _stream(self, markdown: str) -> str:
        question = self._ask
        try:
            return self._slack.start_stream(
                question.channel, question.thread_ts, team=question.team, user=question.user, markdown=markdown
            )
        except UncertainCallError:
            found = lost_stream(self._slack, self._lease)
            if found is None:
                raise
            return found

    def _begin(self, kind: str, call: Callable[[], str]) -> str:
        with self._lease.speaking():
            before = self._lease.kind
            self._lease.note(kind=kind)
            try:
                ts = call()
            except UncertainCallError:
                raise  # it may stand there: whoever takes over looks for it
            except SlackCallError:
                self._lease.note(kind=before)
                raise
            self._lease.note(**({"shown": ts} if ts else {"kind": before}))
            return ts


def record_posts(places: PostedAnswers, question: SlackQuestion, messages: Sequence[str], answer_id: str) -> None:
    """Remember which messages, by their ts, hold an answer ("" for one that is not complete). Raises RecordsError."""
    for ts in messages:
        places.keep(
            question.team, question.channel, ts, thread_ts=question.thread_ts, answer_id=answer_id, asker=question.asker
        )
