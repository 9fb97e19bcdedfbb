"""The deletion of a person's data: their questions, where these were answered, and their opinions of answers.

Questions being answered at that moment are recorded afterwards; the person asks once more for those. Messages in Slack
stay, except in the notices to the maintainers, which quote this person's reasons and questions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from lore.records.opinions import Opinions, PostedNotice
from lore.slackbot.render import phrases

__all__ = ["Erasure", "Privacy"]

log = logging.getLogger(__name__)

FLUSH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Erasure:
    """The number of answers and opinions that were deleted.

    `waiting` is True if answers were still being recorded, and `left` counts notices in which Slack left the person's
    words.
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
    `flush` waits for so many seconds until all answers are recorded, and returns True if they are. `refresh` removes
    the words of people without records from a notice about an answer, and returns False if it couldn't.
    """

    def __init__(
        self,
        opinions: Opinions,
        *,
        forget: Callable[[str], int],
        flush: Callable[[float], bool],
        refresh: Callable[[str, PostedNotice], bool],
    ) -> None:
        self._opinions = opinions
        self._forget = forget
        self._flush = flush
        self._refresh = refresh

    def forget(self, asker: str) -> Erasure:
        """Delete the data of a person, named as in `SlackQuestion.asker`. Doing it twice does no harm.

        Raises RecordsError, and ConfigurationError for "", which stands for everybody unknown.
        """
        is_written = self._flush(FLUSH_SECONDS)  # what waits would be recorded after it was forgotten
        opinions, notices = self._opinions.withdraw(asker)
        answers = self._forget(asker)
        left = sum(not self._refresh(answer, notice) for answer, told in notices.items() for notice in told)
        log.info("Deleted the data of a person: %d answers, %d opinions.", answers, opinions)
        return Erasure(answers, opinions, not is_written, left)
