"""The bot put together: records and pipeline in, something that can be started and stopped out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from lore.records.leases import LeaseStore
from lore.records.opinions import Opinions
from lore.records.posted_answers import PostedAnswers
from lore.settings import Settings
from lore.slackbot.access.audiences import Audiences
from lore.slackbot.access.privacy import Privacy
from lore.slackbot.app.app import EventExecutor, EventHandlers, make_app
from lore.slackbot.app.assembly import Reception, open_reception
from lore.slackbot.events.incoming import read_command, read_event
from lore.slackbot.events.router import EventRouter, QuickReplies
from lore.slackbot.feedback.handlers import FeedbackHandlers, feedback_blocks
from lore.slackbot.feedback.maintainers import MaintainersChannel
from lore.slackbot.queue.leases import HeldLeases
from lore.slackbot.queue.question_queue import BackgroundPool
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.reply.answer_worker import AnswerPipeline
from lore.slackbot.reply.conversation import history
from lore.slackbot.reply.suggested_prompts import load_suggested_prompts
from lore.slackbot.types import BotIdentity, SlackApi
from lore.sources.payload import Payload, as_mapping

if TYPE_CHECKING:
    from slack_bolt import App

    from lore.records.recorders import ClosingRecorder
    from lore.records.records import Records

__all__ = ["Bot", "Transport", "open_bot"]

log = logging.getLogger(__name__)


class Transport(Protocol):
    """How what Slack sends gets here: see `SocketTransport` and `HttpTransport`."""

    def start(self) -> None:
        """Begin to receive."""
        ...

    def close(self) -> None:
        """Receive nothing more; what is being dealt with is dealt with."""
        ...


class Bot:
    """Everything that runs. Start it once, and stop it once."""

    def __init__(
        self, porch: EventExecutor, reception: Reception, office: BackgroundPool, transport: Transport
    ) -> None:
        self._executor = porch
        self._reception = reception
        self._background = office
        self.transport = transport

    def start(self) -> None:
        """Begin to answer, then to receive. Raises what the transport raises; then it must be stopped."""
        self._reception.start()
        self.transport.start()

    def stop(self) -> None:
        """Take nothing more, finish or hand over what was taken, and end all threads."""
        self._executor.refuse()
        self.transport.close()
        self._reception.stop()
        self._executor.close()
        self._background.shutdown(cancel_futures=True)


def open_bot(
    settings: Settings,
    slack: SlackApi,
    identity: BotIdentity,
    records: Records,
    recorder: ClosingRecorder,
    pipeline: AnswerPipeline,
    *,
    transport: Callable[[App], Transport],
    signing_secret: str = "",
) -> Bot:
    """A bot that is not started yet. Raises DeclarationError for a file about the assistant that is wrong."""
    claims, places = LeaseStore(records.engine), PostedAnswers(records.engine)
    audiences = Audiences(slack, identity)
    opinions = records.opinions()
    privacy = Privacy(slack, opinions, forget=records.forget, flush=recorder.flush)
    # Not the reception's: a "forget me" may take ten seconds and more, and nobody is limited in them. In one office, a
    # few of them would let the signs of all who ask wait.
    office = BackgroundPool()
    held = HeldLeases(claims, f"courtesies:{uuid4().hex}")
    limits = RateLimiter(settings.slack.user_limit, settings.slack.channel_limit)
    quick_replies = QuickReplies(
        held, slack, office.soon, limits, forget=lambda asker: privacy.forget(asker).in_words()
    )
    reception = open_reception(
        settings,
        slack,
        claims,
        places,
        pipeline,
        history=lambda question: history(question, slack, identity),
        audiences=audiences.of,
        below=feedback_blocks,
        quick_reply=quick_replies.again,
    )
    intake = EventRouter(
        reception,
        quick_replies,
        slack,
        read_event=lambda body: read_event(body, identity, places),
        read_command=lambda body: read_command(body, identity),
        suggestions=load_suggested_prompts(settings.project.assistant),
    )
    feedback = _feedback(settings, slack, identity, records, recorder, places, opinions)
    porch = EventExecutor()
    app = make_app(_doors(intake, feedback, audiences), porch, identity, signing_secret=signing_secret)
    return Bot(porch, reception, office, transport(app))


def _feedback(
    settings: Settings,
    slack: SlackApi,
    identity: BotIdentity,
    records: Records,
    recorder: ClosingRecorder,
    places: PostedAnswers,
    opinions: Opinions,
) -> FeedbackHandlers:
    maintainers = MaintainersChannel(
        slack, opinions, records.get, channel=settings.slack.feedback_channel, trace_url=settings.slack.trace_url
    )

    def asker_of(answer_id: str) -> str:
        return records.get(answer_id).answer.question.asker

    return FeedbackHandlers(slack, places, opinions, maintainers, me=identity, asker_of=asker_of, flush=recorder.flush)


def _doors(intake: EventRouter, feedback: FeedbackHandlers, audiences: Audiences) -> EventHandlers:
    def notice(body: Payload) -> None:
        audiences.notice(as_mapping(body.get("event")))

    return EventHandlers(
        question=intake.question,
        command=intake.command,
        opened=intake.opened,
        button=feedback.on_button,
        why=feedback.on_why,
        reason=feedback.on_reason,
        reaction=feedback.on_reaction,
        notice=notice,
    )
