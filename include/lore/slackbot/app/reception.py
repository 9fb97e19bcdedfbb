"""Puts the parts together that take, answer and recover questions: what a bot needs to be a `Desk`."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from lore.settings import Settings
from lore.slackbot.queue.desk import PULSE_SECONDS, STOP_SECONDS, Office, QueuedDesk
from lore.slackbot.queue.holds import LEASE_SECONDS, Hold, Holds
from lore.slackbot.queue.limits import Limits
from lore.slackbot.queue.recovery import EVERY_SECONDS, Recovery
from lore.slackbot.queue.settling import Settling
from lore.slackbot.reply.answering import Answerer, Answering
from lore.slackbot.reply.delivery import Below, Delivery
from lore.slackbot.reply.signs import Signs
from lore.slackbot.slack_api.pace import Pace, Refused
from lore.slackbot.slack_api.trouble import Trouble
from lore.slackbot.types import Ask, Places, Slack
from lore.types import Message

if TYPE_CHECKING:
    from lore.records.claims import Claims

__all__ = ["Reception", "open_reception"]


class Reception:
    """A `Desk` with its recovery. Start it before the first question, and stop it after the last."""

    def __init__(self, desk: QueuedDesk, recovery: Recovery) -> None:
        self.desk = desk
        self.recovery = recovery

    def take(self, ask: Ask) -> None:
        """Take a question, unless it was taken before. Returns in a few milliseconds; raises RecordsError."""
        self.desk.take(ask)

    def start(self) -> None:
        """Begin to answer, and to take over what others left."""
        self.desk.start()
        self.recovery.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Take nothing more; what is being answered may end within so many seconds. See `QueuedDesk.stop`."""
        self.recovery.stop(0)
        self.desk.stop(seconds)


def open_reception(
    settings: Settings,
    slack: Slack,
    claims: Claims,
    places: Places,
    pipeline: Answerer,
    *,
    history: Callable[[Ask], Sequence[Message]],
    audiences: Callable[[Ask], Sequence[str]],
    below: Below,
    courtesy: Callable[[Hold], None],
    owner: str = "",
    lease: float = LEASE_SECONDS,
    pulse: float = PULSE_SECONDS,
    every: float = EVERY_SECONDS,
    clock: Callable[[], float] = monotonic,
) -> Reception:
    """A reception that is not started yet.

    `history` gives the conversation before a question, `audiences` those that its answer may be made from, `below` the
    blocks below an answer, and `courtesy` does again what was interrupted and is no question. `owner` names this
    process among those that share the records (default: a new name). `lease` is how many seconds after a process died
    its questions are taken over, `pulse` how often leases are extended and `every` how often such questions are looked
    for.
    """
    holds = Holds(claims, owner or _name(), lease=lease, clock=clock)
    pace, refused, trouble = Pace(clock=clock), Refused(clock=clock), Trouble(clock=clock)
    office = Office()
    signs = Signs(slack, pace, refused, office.soon, clock=clock)
    settling = Settling(slack, places)

    def deliver(hold: Hold) -> Delivery:
        return Delivery(hold, slack, below, pace, refused)

    answering = Answering(pipeline, places, signs, trouble, history=history, audiences=audiences, deliver=deliver)
    desk = QueuedDesk(
        holds,
        slack,
        Limits(settings.slack.user_limit, settings.slack.channel_limit, clock=clock),
        signs,
        settling,
        trouble,
        office,
        answer=answering.answer,
        workers=settings.slack.workers,
        capacity=settings.slack.queue,
        pulse=pulse,
    )
    recovery = Recovery(
        holds,
        slack,
        settling,
        trouble,
        resume=desk.resume,
        has_room=desk.has_room,
        courtesy=courtesy,
        every=every,
    )
    return Reception(desk, recovery)


def _name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
