"""The bot, put together: records and pipeline in; something to start and stop out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lore.declarations import load_slack_rules
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.settings import Settings
from lore.slackbot.access.audiences import Audiences
from lore.slackbot.access.privacy import Privacy
from lore.slackbot.app.app import EventExecutor, EventHandlers, make_app
from lore.slackbot.app.assembly import open_queue, process_name
from lore.slackbot.background import BackgroundPool
from lore.slackbot.events.incoming import read_command, read_event, read_invitation
from lore.slackbot.events.router import EventRouter, QuickReplies
from lore.slackbot.feedback.handlers import FeedbackHandlers, feedback_blocks
from lore.slackbot.feedback.maintainers import MaintainersChannel
from lore.slackbot.queue.leases import HeldLeases
from lore.slackbot.queue.question_queue import QuestionQueue
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.reply.answer_worker import AnswerPipeline
from lore.slackbot.reply.conversation import history, is_addressed
from lore.slackbot.reply.suggested_prompts import load_suggested_prompts
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.types import BotIdentity
from lore.sources.payload import as_mapping

if TYPE_CHECKING:
    from slack_bolt import App

    from lore.records.recorders import ClosingRecorder
    from lore.records.records import Records

__all__ = ["Bot", "Transport", "open_bot"]

EVENT_THREADS = 16


class Transport(Protocol):
    """The way of Slack's events to the app: `SocketTransport` or `HttpTransport`."""

    def start(self) -> None:
        """Begin to receive."""
        ...

    def close(self) -> None:
        """Receive nothing more, and finish what is being handled."""
        ...


class Bot:
    """All parts that run. Start it once, and stop it once."""

    def __init__(self, executor: EventExecutor, queue: QuestionQueue, transport: Transport) -> None:
        self._executor = executor
        self._queue = queue
        self.transport = transport

    def start(self) -> None:
        """Begin to answer, then to receive. Raises the transport's errors; then it must be stopped."""
        self._queue.start()
        self.transport.start()

    def stop(self) -> None:
        """Take nothing more, finish or give back what was taken, and end all threads."""
        self._executor.refuse()
        self.transport.close()
        self._queue.stop()
        self._executor.close()


def open_bot(
    settings: Settings,
    slack: BotApi,
    identity: BotIdentity,
    records: Records,
    recorder: ClosingRecorder,
    pipeline: AnswerPipeline,
    *,
    transport: Callable[[App], Transport],
    signing_secret: str = "",
) -> Bot:
    """Return a bot that isn't started. Raises DeclarationError for an invalid file about the assistant or channels."""
    rules = load_slack_rules(settings.slack.channels)
    posted, opinions = PostedAnswers(records.engine), records.opinions()
    audiences = Audiences(slack, identity)
    maintainers = MaintainersChannel(
        slack, opinions, records.get, channel=settings.slack.feedback_channel, trace_url=settings.slack.trace_url
    )
    privacy = Privacy(opinions, forget=records.forget, flush=recorder.flush, refresh=maintainers.refresh)
    leases, errors = HeldLeases(LeaseStore(records.engine), process_name()), ErrorLog()
    # Not the queue's threads: "forget me" may take ten seconds, has no limit, and would delay each status.
    background = BackgroundPool(EVENT_THREADS)
    limiter = RateLimiter(settings.slack.user_limit, settings.slack.channel_limit)
    quick_replies = QuickReplies(
        leases, slack, background.soon, limiter, errors, forget=lambda asker: privacy.forget(asker).in_words()
    )
    queue = open_queue(
        settings,
        slack,
        leases,
        posted,
        pipeline,
        errors,
        is_addressed=lambda question: is_addressed(question, slack, identity),
        history=lambda question, on_note: history(question, slack, identity, on_note),
        audiences=audiences.of,
        below=feedback_blocks,
        sources=rules.sources_in,
        quick_reply=quick_replies.reply,
    )
    router = EventRouter(
        queue,
        quick_replies,
        slack,
        read_event=lambda body: read_event(body, identity, posted, rules),
        read_command=lambda body: read_command(body, identity),
        read_invitation=lambda body: read_invitation(body, identity),
        prompts=load_suggested_prompts(settings.project.assistant),
    )
    feedback = FeedbackHandlers(
        slack,
        posted,
        opinions,
        maintainers,
        me=identity,
        asker_of=lambda answer_id: records.get(answer_id).answer.question.asker,
        flush=recorder.flush,
    )

    def any_event(body: Mapping[str, Any]) -> None:
        audiences.notice(as_mapping(body.get("event")))
        router.on_event(body)

    handlers = EventHandlers(
        message=router.on_message,
        command=router.on_command,
        opened=router.on_opened,
        button=feedback.on_button,
        why=feedback.on_why,
        reason=feedback.on_reason,
        reaction=feedback.on_reaction,
        any_event=any_event,
    )
    executor = EventExecutor(background)
    app = make_app(handlers, executor, identity, signing_secret=signing_secret)
    return Bot(executor, queue, transport(app))
