"""What people think of answers: Slack's feedback buttons, thumbs as reactions, and a reason for a thumb down.

How a Bolt app registers it. Each handler takes the body as Slack sent it, gives nothing back, and raises nothing: what
it could not do is in the log. The caller acknowledges first; a handler may take some seconds, and one that opens a
modal has to begin within three.

    app.action(PRESSED)          on_button      the two buttons below an answer
    app.action(WHY)              on_why         the button that is offered after a thumb down
    app.view(REASON)             on_reason      the modal
    app.event("reaction_added"), app.event("reaction_removed")      on_reaction

A body may come twice, late, or to another process: `Opinions` keeps the last word of each person, once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from lore.errors import ConfigurationError, LoreError
from lore.records.opinions import Opinion, Vote
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
from lore.slackbot.types import BotIdentity, PostedAnswers, SlackApi, SlackCallError

__all__ = ["PRESSED", "REASON", "WHY", "FeedbackHandlers", "feedback_blocks"]

log = logging.getLogger(__name__)

BUTTON = "button"
WAITS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between looks for an answer that is still on its way into the records."""


class Hearing(Protocol):
    """Who takes what people say: see `Opinions`."""

    def hear(self, answer_id: str, asker: str, word: Vote) -> Opinion | None:
        """What the person thinks from then on; None where there is no such answer yet."""
        ...


class FeedbackHandlers:
    """Handlers for what people do with the bot's answers; each may be called by several threads.

    `me` is the bot, `asker_of` tells who asked for an answer (ConfigurationError where there is none), `flush` lets the
    bot's own answers be written, and `pause` waits for so many seconds.
    """

    def __init__(
        self,
        slack: SlackApi,
        places: PostedAnswers,
        opinions: Hearing,
        maintainers: MaintainersChannel,
        *,
        me: BotIdentity,
        asker_of: Callable[[str], str],
        flush: Callable[[float], object],
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._slack = slack
        self._places = places
        self._opinions = opinions
        self._maintainers = maintainers
        self._me = me
        self._asker_of = asker_of
        self._flush = flush
        self._pause = pause
        self._clock = clock

    def on_button(self, body: Mapping[str, Any]) -> None:
        """A feedback button: the opinion is kept, and after "not helpful" a modal asks for the reason."""
        press = read_press(body)
        if press is None:
            return
        at = press.at or self._clock()
        if not press.helpful:  # first of all, because its trigger is good for three seconds
            self._open_modal(press.trigger, FeedbackContext(press.answer_id, press.channel, press.ts, BUTTON, at))
        matter = RatedAnswer(press.answer_id, self._asker(press.user), press.channel, press.ts)
        self._take(matter, Vote(BUTTON, press.helpful, at))

    def on_why(self, body: Mapping[str, Any]) -> None:
        """The button that is offered after a thumb down: a modal asks for the reason."""
        if why := read_why(body):
            self._open_modal(why.trigger, why.judgement)

    def on_reason(self, body: Mapping[str, Any]) -> None:
        """The modal: its reason is kept with the opinion that it was opened for."""
        reason = read_reason(body)
        if reason is None:
            return
        about = reason.judgement
        matter = RatedAnswer(about.answer_id, self._asker(reason.user), about.channel, about.ts)
        self._take(matter, Vote(about.voice, False, about.at, reason.text))

    def on_reaction(self, body: Mapping[str, Any]) -> None:
        """A thumb on one of the bot's answers, or one that is taken away. Those of bots count for nothing."""
        reaction = read_reaction(body)
        authors = ("", self._me.user, self._me.bot)
        if reaction is None or reaction.author not in authors or reaction.user == self._me.user:
            return
        try:
            answer_id = self._places.answer_at(self._me.team, reaction.channel, reaction.ts)
        except LoreError as error:
            log.error("A reaction was not counted: %s", error)
            return
        if answer_id is None or self._is_bot(reaction.user):
            return
        at = reaction.at or self._clock()
        judgement = FeedbackContext(answer_id, reaction.channel, reaction.ts, f"{reaction.name}@{reaction.ts}", at)
        matter = RatedAnswer(answer_id, self._asker(reaction.user), reaction.channel, reaction.ts)
        standing = self._take(matter, Vote(judgement.voice, reaction.helpful if reaction.added else None, at))
        if standing and standing.news and reaction.added and standing.helpful is False:
            self._offer(reaction, judgement)

    def _take(self, matter: RatedAnswer, word: Vote) -> Opinion | None:
        """Keep a word and tell of it; None where it could not be kept, which is logged."""
        try:
            standing = self._heard(matter, word)
            if standing is None:
                log.warning("An opinion was not kept: there is no answer %s there in the records.", matter.answer_id)
                return None
            self._maintainers.tell(matter, standing)
        except LoreError as error:
            log.error("An opinion of answer %s was not kept or not told: %s", matter.answer_id, error)
            return None
        return standing

    def _heard(self, matter: RatedAnswer, word: Vote) -> Opinion | None:
        """What the person thinks now. Answers are written by a queue, here or in another process, so a new one may
        not be there yet.
        """
        standing = self._hear(matter, word)
        for seconds in WAITS:
            if standing is not None:
                break
            self._flush(seconds)
            self._pause(seconds)
            standing = self._hear(matter, word)
        return standing

    def _hear(self, matter: RatedAnswer, word: Vote) -> Opinion | None:
        return self._opinions.hear(matter.answer_id, matter.asker, word) if self._is_seen(matter) else None

    def _is_seen(self, matter: RatedAnswer) -> bool:
        """Whether the person saw that answer, there or because they asked: an id that came back from Slack is no proof,
        and may be of an answer to others.
        """
        if matter.ts and self._places.answer_at(self._me.team, matter.channel, matter.ts) == matter.answer_id:
            return True
        try:
            return self._asker_of(matter.answer_id) == matter.asker
        except ConfigurationError:
            return False

    def _open_modal(self, trigger: str, judgement: FeedbackContext) -> None:
        try:
            self._slack.open_view(trigger, reason_view(judgement))
        except SlackCallError as error:  # also where the press came twice: a trigger opens one modal
            log.info("No reason was asked for: %s", error.code)

    def _offer(self, reaction: Reaction, judgement: FeedbackContext) -> None:
        try:
            thread = self._thread_of(reaction)
            self._slack.post_ephemeral(reaction.channel, reaction.user, offer_to_say_why(judgement), thread_ts=thread)
        except SlackCallError as error:
            log.info("No reason was asked for: %s", error.code)

    def _thread_of(self, reaction: Reaction) -> str:
        message = self._slack.message(reaction.channel, reaction.ts) or {}
        return str(message.get("thread_ts") or "")

    def _is_bot(self, user: str) -> bool:
        """Whether an account is no person; where Slack does not say, it is one."""
        try:
            facts = self._slack.user(user)
        except SlackCallError as error:
            return error.code == "user_not_found"
        return bool(facts.get("is_bot")) or user == "USLACKBOT"

    def _asker(self, user: str) -> str:
        return f"slack:{self._me.team}:{user}"
