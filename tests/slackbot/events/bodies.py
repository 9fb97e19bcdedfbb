"""Bodies of events as Slack sends them, and how the tests read them."""

from __future__ import annotations

from lore.declarations import SlackRules
from lore.errors import RecordsError
from lore.slackbot.events.incoming import Incoming, read_event
from lore.slackbot.types import BotIdentity, SlackQuestion

BOT = BotIdentity("T1", "UBOT", "BBOT", "lore")


TS, ROOT = "1764500100.000200", "1764500000.000100"
NOW = 1764500101.0


class Answered:
    """The threads in which the bot answered."""

    def __init__(self, *threads: tuple[str, str, str], failing: bool = False) -> None:
        self.threads = threads
        self.failing = failing

    def keep(self, team: str, channel: str, ts: str, *, thread_ts: str, answer_id: str, asker: str) -> None:
        raise NotImplementedError

    def answer_at(self, team: str, channel: str, ts: str) -> str | None:
        raise NotImplementedError

    def answered_in(self, team: str, channel: str, thread_ts: str) -> bool:
        if self.failing:
            raise RecordsError("The records could not be read.", retryable=True)
        return (team, channel, thread_ts) in self.threads


THERE, NOWHERE = Answered(("T1", "C1", ROOT)), Answered()


def body(text: str = "How do I rotate a key?", *, outer: dict[str, object] | None = None, **event: object) -> dict:
    message = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "ts": TS, "team": "T1"}
    said = {**message, "event_ts": TS, "text": text, **event}
    return {"type": "event_callback", "team_id": "T1", "api_app_id": "ALORE", "event": said, **(outer or {})}


def channel(text: str, **event: object) -> dict:
    return body(text, **{"channel": "C1", "channel_type": "channel", **event})


def mention(text: str, **event: object) -> dict:
    made = channel(text, type="app_mention", **event)
    del made["event"]["channel_type"]  # Slack does not say it there
    return made


def read(given: dict, places: Answered = THERE, now: float = NOW, rules: SlackRules | None = None) -> Incoming:
    return read_event(given, BOT, places, rules or SlackRules(), clock=lambda: now)


def asked(given: dict, places: Answered = THERE, rules: SlackRules | None = None) -> SlackQuestion:
    found = read(given, places, rules=rules)
    assert isinstance(found, SlackQuestion), found
    return found


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value
