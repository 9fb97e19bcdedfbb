"""What a person may have removed: their questions, where these were answered, what they thought of answers.

Questions that are answered at that very moment are recorded afterwards; the person asks once more for those. What
stands in Slack is Slack's: only the messages that told the maintainers of this person's opinions are deleted, because
their words are in them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lore.records.opinions import PostedNotice
from lore.slackbot.render import phrases
from lore.slackbot.types import SlackApi, SlackCallError

__all__ = ["Erasure", "Privacy"]

log = logging.getLogger(__name__)

FLUSH_SECONDS = 10.0
GONE = frozenset({"message_not_found", "channel_not_found", "thread_not_found"})


class Opinions(Protocol):
    """What is asked of `records.Opinions` here."""

    def of(self, asker: str) -> tuple[int, Sequence[PostedNotice]]:
        """How many opinions of a person stand, and where others were told of any."""
        ...


@dataclass(frozen=True, slots=True)
class Erasure:
    """How many answers and opinions were removed. `waiting` is True where answers were still on their way into the
    records, and `left` counts messages to the maintainers that Slack did not delete.
    """

    answers: int
    opinions: int
    waiting: bool = False
    left: int = 0

    def in_words(self) -> str:
        """What the person is told."""
        return phrases.forgotten(self.answers, self.opinions, waiting=self.waiting, left=self.left)


class Privacy:
    """Forgets people. `forget` removes the records of a person, those of where they were answered included, and returns
    how many answers that were; `flush` waits for so many seconds until all answers are written, and says whether they
    are.
    """

    def __init__(
        self,
        slack: SlackApi,
        opinions: Opinions,
        *,
        forget: Callable[[str], int],
        flush: Callable[[float], bool],
    ) -> None:
        self._slack = slack
        self._opinions = opinions
        self._forget = forget
        self._flush = flush

    def forget(self, asker: str) -> Erasure:
        """Remove all that is kept of a person, who is named as in `SlackQuestion.asker`. Doing it twice is no harm.

        Raises RecordsError, and ConfigurationError for "", which is everybody who is not known.
        """
        written = self._flush(FLUSH_SECONDS)  # what waits would be written after it was forgotten
        opinions, told = self._opinions.of(asker)
        answers = self._forget(asker)
        left = sum(not self._deleted(message) for message in told)
        log.info("A person was forgotten: %d answers, %d opinions.", answers, opinions)
        return Erasure(answers, opinions, not written, left)

    def _deleted(self, message: PostedNotice) -> bool:
        try:
            self._slack.delete(message.channel, message.ts)
        except SlackCallError as error:
            if error.code in GONE:
                return True
            log.error("A message to the maintainers with a forgotten person's opinion stays: %s", error)
            return False
        return True
