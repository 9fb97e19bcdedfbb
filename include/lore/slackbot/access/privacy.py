"""The deletion of a person's data: their questions, where these were answered, and their opinions of answers.

Questions being answered at that moment are recorded afterwards; the person asks once more for those. Messages in Slack
stay, except the notices to the maintainers, which quote this person's reasons.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from lore.records.opinions import Opinions, PostedNotice
from lore.slackbot.render import phrases
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.types import SlackCallError

__all__ = ["Erasure", "Privacy"]

log = logging.getLogger(__name__)

FLUSH_SECONDS = 10.0
GONE = frozenset({"message_not_found", "channel_not_found", "thread_not_found"})


@dataclass(frozen=True, slots=True)
class Erasure:
    """The number of answers and opinions that were deleted.

    `waiting` is True if answers were still being recorded, and `left` counts notices that Slack didn't delete.
    """

    answers: int
    opinions: int
    waiting: bool = False
    left: int = 0

    def in_words(self) -> str:
        """Return the reply to the person."""
        return phrases.forgotten(self.answers, self.opinions, waiting=self.waiting, left=self.left)


class Privacy:
    """Deletes the data of people.

    `forget` removes a person's records, those of posted answers included, and returns how many answers that were.
    `flush` waits for so many seconds until all answers are recorded, and returns True if they are.
    """

    def __init__(
        self,
        slack: BotApi,
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
        """Delete the data of a person, named as in `SlackQuestion.asker`. Doing it twice does no harm.

        Raises RecordsError, and ConfigurationError for "", which stands for everybody unknown.
        """
        is_written = self._flush(FLUSH_SECONDS)  # what waits would be recorded after it was forgotten
        opinions, notices = self._opinions.of(asker)
        answers = self._forget(asker)
        left = sum(not self._is_deleted(notice) for notice in notices)
        log.info("Deleted the data of a person: %d answers, %d opinions.", answers, opinions)
        return Erasure(answers, opinions, not is_written, left)

    def _is_deleted(self, notice: PostedNotice) -> bool:
        try:
            self._slack.delete(notice.channel, notice.ts)
        except SlackCallError as error:
            if error.code in GONE:
                return True
            log.error("Couldn't delete a notice with a forgotten person's opinion: %s", error)
            return False
        return True
