"""The messages of one answer in Slack: noted before and after they are posted, so that none is posted twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lore.slackbot.queue.holds import Hold
from lore.slackbot.queue.sightings import lost_stream
from lore.slackbot.slack_api.errors import UncertainError
from lore.slackbot.types import Ask, Message, Places, Slack, SlackError

__all__ = ["Posts", "keep_places"]

ELSEWHERE = frozenset({"channel_not_found", "not_in_channel", "user_not_in_channel", "is_archived"})
"""Why a command cannot be answered where it was typed: the bot is not there."""


class Posts:
    """What is posted for one question. Every call raises SlackError, ClaimLost, and RecordsError."""

    def __init__(self, hold: Hold, slack: Slack) -> None:
        self._hold = hold
        self._slack = slack
        self._ask = hold.ask

    def begin(self, kind: str, message: Message, **more: str) -> str:
        """Post the first message that the asker sees; returns its ts. `more` goes into its metadata."""
        return self._begin(kind, lambda: self._post(message, more))

    def begin_stream(self, markdown: str) -> str:
        """Begin a stream as the first message; returns its ts. Where Slack does not confirm it, it is looked for at
        once; "" where it stands nowhere.
        """
        return self._begin("stream", lambda: self._stream(markdown))

    def further(self, message: Message, **more: str) -> str:
        """Post a message after the first one; returns its ts."""
        with self._hold.speaking():
            return self._post(message, more)

    def update(self, message: Message, **more: str) -> None:
        """Change the first message."""
        with self._hold.speaking():
            self._slack.update(self._ask.channel, self._hold.shown, message, metadata=self.metadata(more))

    def whisper(self, message: Message) -> None:
        """Say something that the asker alone sees: where the question was asked, else in a direct message."""
        ask = self._ask
        with self._hold.speaking():
            try:
                self._slack.post_ephemeral(ask.channel, ask.user, message, thread_ts=ask.thread_ts)
            except SlackError as error:
                if error.code not in ELSEWHERE:
                    raise
                self._slack.post(ask.user, message, metadata=self.metadata({}))

    def say(self, message: Message) -> None:
        """Say something that is no answer, in the thread or, to a command, to the asker alone."""
        if self._ask.way == "command":
            self.whisper(message)
        else:
            self.further(message)

    def metadata(self, more: Mapping[str, str]) -> dict[str, str]:
        """What a message says of itself, for the bot: which question it belongs to, and which answer it has."""
        return {"key": self._ask.key, **more}

    def _post(self, message: Message, more: Mapping[str, str]) -> str:
        ask = self._ask
        return self._slack.post(ask.channel, message, thread_ts=ask.thread_ts, metadata=self.metadata(more))

    def _stream(self, markdown: str) -> str:
        ask = self._ask
        try:
            return self._slack.start_stream(ask.channel, ask.thread_ts, team=ask.team, user=ask.user, markdown=markdown)
        except UncertainError:
            found = lost_stream(self._slack, self._hold)
            if found is None:
                raise
            return found

    def _begin(self, kind: str, call: Callable[[], str]) -> str:
        with self._hold.speaking():
            before = self._hold.kind
            self._hold.note(kind=kind)
            try:
                ts = call()
            except UncertainError:
                raise  # it may stand there: whoever takes over looks for it
            except SlackError:
                self._hold.note(kind=before)
                raise
            self._hold.note(**({"shown": ts} if ts else {"kind": before}))
            return ts


def keep_places(places: Places, ask: Ask, messages: Sequence[str], answer_id: str) -> None:
    """Remember which messages, by their ts, hold an answer ("" for one that is not complete). Raises RecordsError."""
    for ts in messages:
        places.keep(ask.team, ask.channel, ts, thread_ts=ask.thread_ts, answer_id=answer_id, asker=ask.asker)
