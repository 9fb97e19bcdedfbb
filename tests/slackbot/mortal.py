"""A process of the bot that a test kills, without Bolt: it is given the questions, and recovers what others left.

    python -m tests.slackbot.mortal BASE_URL TOKEN RECORDS_URL CHANNEL [TS of a question …]

It says "ready" once it took them, and goes on until it is killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from threading import Event as Forever

from lore.query.events import Answered, Delta, Event, Planned
from lore.records.engine import open_engine
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.settings import Settings
from lore.slackbot.app.assembly import open_queue, process_name
from lore.slackbot.events.mentions import question_text
from lore.slackbot.queue.leases import HeldLeases
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.types import SlackQuestion
from lore.types import Answer, Plan, Question, Trace

PAUSE_SECONDS = 0.15


class Slow:
    """An answer of ten pieces, which takes a while."""

    def stream(self, question: Question) -> Iterator[Event]:
        plan = Plan(question.text, (question.text,))
        yield Planned(plan)
        pieces = [f"Sentence {number} for {question.text} " for number in range(10)]
        for piece in pieces:
            time.sleep(PAUSE_SECONDS)
            yield Delta(piece)
        yield Answered(Answer(question, "".join(pieces), (), True, Trace(plan), id=question.text))


def main(base_url: str, token: str, records_url: str, channel: str, *asked: str) -> None:
    slack = BotApi(SlackCaller(token, base_url, 20.0, max_retries=2))
    me = slack.identity()
    engine = open_engine(records_url)
    queue = open_queue(
        Settings.of(slack_user_limit=0, slack_channel_limit=0, slack_workers=8),
        slack,
        HeldLeases(LeaseStore(engine), process_name(), lease_seconds=2.0),
        PostedAnswers(engine),
        Slow(),
        ErrorLog(),
        is_addressed=lambda question: True,
        history=lambda question, on_note: (),
        audiences=lambda question, on_note: ("public",),
        below=lambda answer_id: (),
        quick_reply=lambda lease: lease.finish(),
        extend_seconds=0.3,
        recover_seconds=0.3,
    )
    queue.start()
    for ts in asked:
        message = slack.message(channel, ts)
        assert message is not None
        text, user = question_text(message["text"], me.user), message["user"]
        queue.take(
            SlackQuestion(f"{me.team}:{channel}:{ts}", "mention", me.team, channel, "channel", user, ts, ts, text)
        )
    print("ready", flush=True)
    Forever().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
