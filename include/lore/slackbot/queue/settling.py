"""What becomes of a question whose answer was interrupted: it is answered again, or ends in a message that says so."""

from __future__ import annotations

import logging

from lore.slackbot.queue.leases import Lease
from lore.slackbot.queue.sightings import Sighting, look
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster, record_posts
from lore.slackbot.types import PostedAnswers, SlackApi, SlackCallError, SlackMessage

__all__ = ["MAX_ATTEMPTS", "Settling"]

MAX_ATTEMPTS = 3
"""So often a question is begun before it ends in an apology."""
APOLOGIES = 3
"""So often after that an apology is tried."""
UPDATED_CHARACTERS = 3_000
"""How much of a message's plain text is kept when it is changed: Slack takes 4,000 characters."""

logger = logging.getLogger(__name__)


class Settling:
    """Decides by what stands in Slack. All raise SlackCallError, LeaseLost and RecordsError."""

    def __init__(self, slack: SlackApi, places: PostedAnswers) -> None:
        self._slack = slack
        self._places = places

    def settle(self, lease: Lease, says: str = phrases.APOLOGY) -> bool:
        """Whether an interrupted question or courtesy is dealt with; where not, nothing of an answer was seen, and it
        may be answered. `says` is what the asker is told of the interruption.
        """
        if lease.attempts > MAX_ATTEMPTS + APOLOGIES:
            logger.error("A question in %s was given up after %d attempts.", lease.question.channel, lease.attempts)
        elif lease.kind == "ephemeral":
            self._whisper(lease, phrases.UNSURE)
        elif lease.kind and lease.kind != "told":
            if not self._settle_seen(lease, says):
                return False
        elif not lease.kind:
            is_gone = lease.question.via == "command" and not lease.quick_reply  # its text is nowhere to be read again
            if lease.attempts <= MAX_ATTEMPTS and not is_gone:
                return False
            if lease.question.via == "command":
                self._whisper(lease, says)
            else:
                Poster(lease, self._slack).begin("message", plain(says), closed="interrupted")
        lease.finish()
        return True

    def _settle_seen(self, lease: Lease, says: str) -> bool:
        """As `settle`, for a question to which a message may have been posted."""
        seen = look(self._slack, lease)
        if seen is None:
            lease.note(kind="", shown="")
            return lease.attempts > MAX_ATTEMPTS and self.settle(lease, says)
        if seen.whole:
            if seen.answer_id:
                record_posts(self._places, lease.question, seen.all, seen.answer_id)
            return True
        lease.note(shown=seen.ts)
        if lease.kind == "placeholder" and not seen.answer_id:
            if lease.attempts <= MAX_ATTEMPTS:
                return False
            Poster(lease, self._slack).update(plain(says), closed="interrupted")
            return True
        self._cut_off(lease, seen, plain(says))
        if seen.answer_id:
            record_posts(self._places, lease.question, seen.all, seen.answer_id)
        return True

    def _cut_off(self, lease: Lease, seen: Sighting, notice: SlackMessage) -> None:
        """End a message that shows a part of an answer with words that say so."""
        posts = Poster(lease, self._slack)
        closed = posts.metadata({"closed": "interrupted"})
        if seen.answer_id:  # of several messages the first ones are as they should be
            posts.further(notice, closed="interrupted")
            return
        if lease.kind == "stream":
            try:
                with lease.speaking():
                    self._slack.stop_stream(lease.question.channel, seen.ts, blocks=notice.blocks, metadata=closed)
                return
            except SlackCallError as error:
                if error.retryable:
                    raise
        text = str(seen.first.get("text", ""))[:UPDATED_CHARACTERS]
        blocks = (*(seen.first.get("blocks") or ()), *notice.blocks)
        try:
            posts.update(SlackMessage(blocks, f"{text}\n\n{notice.text}"), closed="interrupted")
        except SlackCallError as error:  # Slack does not take all back that it gives
            if error.retryable:
                raise
            posts.further(notice, closed="interrupted")

    def _whisper(self, lease: Lease, text: str) -> None:
        lease.note(kind="told")  # nobody can look whether it was said
        Poster(lease, self._slack).whisper(plain(text))
