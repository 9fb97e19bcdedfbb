"""What becomes of a question whose answer was interrupted: it is answered again, or ends in a message that says so."""

from __future__ import annotations

import logging

from lore.slackbot.queue.holds import Hold
from lore.slackbot.queue.sightings import Sighting, look
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.posts import Posts, keep_places
from lore.slackbot.types import Message, Places, Slack, SlackError

__all__ = ["MAX_ATTEMPTS", "Settling"]

MAX_ATTEMPTS = 3
"""So often a question is begun before it ends in an apology."""
APOLOGIES = 3
"""So often after that an apology is tried."""
UPDATED_CHARACTERS = 3_000
"""How much of a message's plain text is kept when it is changed: Slack takes 4,000 characters."""

logger = logging.getLogger(__name__)


class Settling:
    """Decides by what stands in Slack. All raise SlackError, ClaimLost and RecordsError."""

    def __init__(self, slack: Slack, places: Places) -> None:
        self._slack = slack
        self._places = places

    def settle(self, hold: Hold, says: str = phrases.APOLOGY) -> bool:
        """Whether an interrupted question or courtesy is dealt with; where not, nothing of an answer was seen, and it
        may be answered. `says` is what the asker is told of the interruption.
        """
        if hold.attempts > MAX_ATTEMPTS + APOLOGIES:
            logger.error("A question in %s was given up after %d attempts.", hold.ask.channel, hold.attempts)
        elif hold.kind == "ephemeral":
            self._whisper(hold, phrases.UNSURE)
        elif hold.kind and hold.kind != "told":
            if not self._settle_seen(hold, says):
                return False
        elif not hold.kind:
            is_gone = hold.ask.way == "command" and not hold.courtesy  # its text is nowhere to be read again
            if hold.attempts <= MAX_ATTEMPTS and not is_gone:
                return False
            if hold.ask.way == "command":
                self._whisper(hold, says)
            else:
                Posts(hold, self._slack).begin("message", plain(says), closed="interrupted")
        hold.finish()
        return True

    def _settle_seen(self, hold: Hold, says: str) -> bool:
        """As `settle`, for a question to which a message may have been posted."""
        seen = look(self._slack, hold)
        if seen is None:
            hold.note(kind="", shown="")
            return hold.attempts > MAX_ATTEMPTS and self.settle(hold, says)
        if seen.whole:
            if seen.answer_id:
                keep_places(self._places, hold.ask, seen.all, seen.answer_id)
            return True
        hold.note(shown=seen.ts)
        if hold.kind == "placeholder" and not seen.answer_id:
            if hold.attempts <= MAX_ATTEMPTS:
                return False
            Posts(hold, self._slack).update(plain(says), closed="interrupted")
            return True
        self._cut_off(hold, seen, plain(says))
        if seen.answer_id:
            keep_places(self._places, hold.ask, seen.all, seen.answer_id)
        return True

    def _cut_off(self, hold: Hold, seen: Sighting, notice: Message) -> None:
        """End a message that shows a part of an answer with words that say so."""
        posts = Posts(hold, self._slack)
        closed = posts.metadata({"closed": "interrupted"})
        if seen.answer_id:  # of several messages the first ones are as they should be
            posts.further(notice, closed="interrupted")
            return
        if hold.kind == "stream":
            try:
                with hold.speaking():
                    self._slack.stop_stream(hold.ask.channel, seen.ts, blocks=notice.blocks, metadata=closed)
                return
            except SlackError as error:
                if error.retryable:
                    raise
        text = str(seen.first.get("text", ""))[:UPDATED_CHARACTERS]
        blocks = (*(seen.first.get("blocks") or ()), *notice.blocks)
        try:
            posts.update(Message(blocks, f"{text}\n\n{notice.text}"), closed="interrupted")
        except SlackError as error:  # Slack does not take all back that it gives
            if error.retryable:
                raise
            posts.further(notice, closed="interrupted")

    def _whisper(self, hold: Hold, text: str) -> None:
        hold.note(kind="told")  # nobody can look whether it was said
        Posts(hold, self._slack).whisper(plain(text))
