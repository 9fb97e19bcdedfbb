"""Handlers of feedback: Slack's feedback buttons, thumbs as reactions, and a reason for a thumb down.

Each handler takes the body as Slack sent it, returns nothing and raises nothing: what fails is logged. The caller
acknowledges first; a handler may take some seconds, and one that opens a modal must begin within three.

    app.action(PRESSED)          on_button      the two buttons below an answer
    app.action(WHY)              on_why         the button offered after a thumb down
    app.view(REASON)             on_reason      the modal
    app.event("reaction_added"), app.event("reaction_removed")      on_reaction

A body may come twice, late, or to another process: `Opinions` keeps each person's newest vote, once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from lore.errors import ConfigurationError, LoreError
from lore.records.opinions import Opinion, Opinions, Vote
from lore.records.posted_answers import PostedAnswers
from lore.slackbot.feedback.maintainers import MaintainersChannel, RatedAnswer
from lore.slackbot.feedback.payloads import Reaction, read_press, read_reaction, read_reason, read_why
from lore.slackbot.feedback.views import (
    PRESSED,
    REASON,
    WHY,
    FeedbackContext,
    feedback_blocks,
    offer_to_say_why,
    reason_view,
)
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.types import BotIdentity, SlackCallError

__all__ = ["PRESSED", "REASON", "WHY", "FeedbackHandlers", "feedback_blocks"]

log = logging.getLogger(__name__)

BUTTON = "button"
WAITS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between looks for an answer that is still being written into the records."""


class FeedbackHandlers:
    """Handlers of feedback on the bot's answers; each may be called by several threads.

    `me` is the bot, and `asker_of` returns the asker of an answer, or raises ConfigurationError for an unknown one.
    `flush` lets the bot's own answers be written, and `pause` waits for so many seconds.
    """

    def __init__(
        self,
        slack: BotApi,
        posted: PostedAnswers,
        opinions: Opinions,
        maintainers: MaintainersChannel,
        *,
        me: BotIdentity,
        asker_of: Callable[[str], str],
        flush: Callable[[float], object],
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._slack = slack
        self._posted = posted
        self._opinions = opinions
        self._maintainers = maintainers
        self._me = me
        self._asker_of = asker_of
        self._flush = flush
        self._pause = pause
        self._clock = clock

    def on_button(self, body: Mapping[str, Any]) -> None:
        """Store the vote of a feedback button; after "not helpful" a modal asks for the reason."""
        press = read_press(body)
        if press is None:
            return
        at = press.at or self._clock()
        if not press.helpful:  # first of all, because its trigger is valid for three seconds
            self._open_modal(press.trigger, FeedbackContext(press.answer_id, press.channel, press.ts, BUTTON, at))
        rated = RatedAnswer(press.answer_id, self._asker(press.user), press.channel, press.ts)
        self._take(rated, Vote(BUTTON, press.helpful, at))

    def on_why(self, body: Mapping[str, Any]) -> None:
        """Open the modal for the button that is offered after a thumb down."""
        if why := read_why(body):
            self._open_modal(why.trigger, why.context)

    def on_reason(self, body: Mapping[str, Any]) -> None:
        """Store the reason of the modal with the vote that it was opened for."""
        reason = read_reason(body)
        if reason is None:
            return
        context = reason.context
        rated = RatedAnswer(context.answer_id, self._asker(reason.user), context.channel, context.ts)
        self._take(rated, Vote(context.source, False, context.at, reason.text))

    def on_reaction(self, body: Mapping[str, Any]) -> None:
        """Store the vote of a thumb on one of the bot's answers, or take it back. Those of bots don't count."""
        reaction = read_reaction(body)
        authors = ("", self._me.user, self._me.bot)
        if reaction is None or reaction.author not in authors or reaction.user == self._me.user:
            return
        try:
            answer_id = self._posted.answer_at(self._me.team, reaction.channel, reaction.ts)
        except LoreError as error:
            log.error("Couldn't count a reaction: %s", error)
            return
        if answer_id is None or self._is_bot(reaction.user):
            return
        at = reaction.at or self._clock()
        context = FeedbackContext(answer_id, reaction.channel, reaction.ts, f"{reaction.name}@{reaction.ts}", at)
        rated = RatedAnswer(answer_id, self._asker(reaction.user), reaction.channel, reaction.ts)
        opinion = self._take(rated, Vote(context.source, reaction.helpful if reaction.added else None, at))
        if opinion and opinion.is_new and reaction.added and opinion.helpful is False:
            self._offer(reaction, context)

    def _take(self, rated: RatedAnswer, vote: Vote) -> Opinion | None:
        """Store a vote and tell the maintainers; return None if it couldn't be stored, which is logged."""
        try:
            opinion = self._stored(rated, vote)
            if opinion is None:
                log.warning("Couldn't store an opinion: the records have no answer %s there.", rated.answer_id)
                return None
            self._maintainers.tell(rated, opinion)
        except LoreError as error:
            log.error("Couldn't store an opinion of answer %s, or tell of it: %s", rated.answer_id, error)
            return None
        return opinion

    def _stored(self, rated: RatedAnswer, vote: Vote) -> Opinion | None:
        """Store a vote, and return the person's opinion. A queue writes answers, so a new one may not be there yet."""
        for seconds in (*WAITS, 0.0):
            opinion = self._opinions.vote(rated.answer_id, rated.asker, vote) if self._has_seen(rated) else None
            if opinion is not None or not seconds:
                break
            self._flush(seconds)
            self._pause(seconds)
        return opinion

    def _has_seen(self, rated: RatedAnswer) -> bool:
        """Return True if the person saw that answer, there or because they asked.

        An id that came back from Slack proves nothing: the answer may be one to others.
        """
        if rated.ts and self._posted.answer_at(self._me.team, rated.channel, rated.ts) == rated.answer_id:
            return True
        try:
            return self._asker_of(rated.answer_id) == rated.asker
        except ConfigurationError:
            return False

    def _open_modal(self, trigger: str, context: FeedbackContext) -> None:
        try:
            self._slack.open_view(trigger, reason_view(context))
        except SlackCallError as error:  # also where the press came twice: a trigger opens one modal
            log.info("Couldn't ask for a reason: %s", error.code)

    def _offer(self, reaction: Reaction, context: FeedbackContext) -> None:
        try:
            message = self._slack.message(reaction.channel, reaction.ts) or {}
            thread = str(message.get("thread_ts") or "")
            self._slack.post_ephemeral(reaction.channel, reaction.user, offer_to_say_why(context), thread_ts=thread)
        except SlackCallError as error:
            log.info("Couldn't ask for a reason: %s", error.code)

    def _is_bot(self, user: str) -> bool:
        """Return True for an account that is no person; where Slack doesn't say, it is a person."""
        try:
            facts = self._slack.user(user)
        except SlackCallError as error:
            return error.code == "user_not_found"
        return bool(facts.get("is_bot")) or user == "USLACKBOT"

    def _asker(self, user: str) -> str:
        return f"slack:{self._me.team}:{user}"
