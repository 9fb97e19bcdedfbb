"""The bot put together: records and pipeline in, something that can be started and stopped out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from lore.records.claims import Claims
from lore.records.opinions import Opinions
from lore.records.places import Places
from lore.settings import Settings
from lore.slackbot.access.audiences import Audiences
from lore.slackbot.access.privacy import Privacy
from lore.slackbot.app.app import Doors, Porch, make_app
from lore.slackbot.app.reception import Reception, open_reception
from lore.slackbot.events.incoming import read_command, read_event
from lore.slackbot.events.intake import Courtesies, Intake
from lore.slackbot.feedback.feedback import Feedback, feedback_blocks
from lore.slackbot.feedback.maintainers import Maintainers
from lore.slackbot.queue.desk import Office
from lore.slackbot.queue.holds import Holds
from lore.slackbot.queue.limits import Limits
from lore.slackbot.reply.answering import Answerer
from lore.slackbot.reply.conversation import history
from lore.slackbot.reply.suggestions import load_suggestions
from lore.slackbot.types import Identity, Slack
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

    def __init__(self, porch: Porch, reception: Reception, office: Office, transport: Transport) -> None:
        self._porch = porch
        self._reception = reception
        self._office = office
        self.transport = transport

    def start(self) -> None:
        """Begin to answer, then to receive. Raises what the transport raises; then it must be stopped."""
        self._reception.start()
        self.transport.start()

    def stop(self) -> None:
        """Take nothing more, finish or hand over what was taken, and end all threads."""
        self._porch.refuse()
        self.transport.close()
        self._reception.stop()
        self._porch.close()
        self._office.shutdown(cancel_futures=True)


def open_bot(
    settings: Settings,
    slack: Slack,
    identity: Identity,
    records: Records,
    recorder: ClosingRecorder,
    pipeline: Answerer,
    *,
    transport: Callable[[App], Transport],
    signing_secret: str = "",
) -> Bot:
    """A bot that is not started yet. Raises DeclarationError for a file about the assistant that is wrong."""
    claims, places = Claims(records.engine), Places(records.engine)
    audiences = Audiences(slack, identity)
    opinions = records.opinions()
    privacy = Privacy(slack, opinions, forget=records.forget, flush=recorder.flush)
    # Not the reception's: a "forget me" may take ten seconds and more, and nobody is limited in them. In one office, a
    # few of them would let the signs of all who ask wait.
    office = Office()
    held = Holds(claims, f"courtesies:{uuid4().hex}")
    limits = Limits(settings.slack.user_limit, settings.slack.channel_limit)
    courtesies = Courtesies(held, slack, office.soon, limits, forget=lambda asker: privacy.forget(asker).in_words())
    reception = open_reception(
        settings,
        slack,
        claims,
        places,
        pipeline,
        history=lambda ask: history(ask, slack, identity),
        audiences=audiences.of,
        below=feedback_blocks,
        courtesy=courtesies.again,
    )
    intake = Intake(
        reception,
        courtesies,
        slack,
        read_event=lambda body: read_event(body, identity, places),
        read_command=lambda body: read_command(body, identity),
        suggestions=load_suggestions(settings.project.assistant),
    )
    feedback = _feedback(settings, slack, identity, records, recorder, places, opinions)
    porch = Porch()
    app = make_app(_doors(intake, feedback, audiences), porch, identity, signing_secret=signing_secret)
    return Bot(porch, reception, office, transport(app))


def _feedback(
    settings: Settings,
    slack: Slack,
    identity: Identity,
    records: Records,
    recorder: ClosingRecorder,
    places: Places,
    opinions: Opinions,
) -> Feedback:
    maintainers = Maintainers(
        slack, opinions, records.get, channel=settings.slack.feedback_channel, trace_url=settings.slack.trace_url
    )

    def asker_of(answer_id: str) -> str:
        return records.get(answer_id).answer.question.asker

    return Feedback(slack, places, opinions, maintainers, me=identity, asker_of=asker_of, flush=recorder.flush)


def _doors(intake: Intake, feedback: Feedback, audiences: Audiences) -> Doors:
    def notice(body: Payload) -> None:
        audiences.notice(as_mapping(body.get("event")))

    return Doors(
        ask=intake.ask,
        command=intake.command,
        opened=intake.opened,
        button=feedback.on_button,
        why=feedback.on_why,
        reason=feedback.on_reason,
        reaction=feedback.on_reaction,
        notice=notice,
    )
