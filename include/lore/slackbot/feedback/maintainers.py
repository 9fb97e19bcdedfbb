"""What the channel of maintainers is told of: an answer that did not help, once for each person and answer.

Everybody in that channel reads it, whatever they are members of. So it names the message, which Slack shows to those
who may see it, the answer's id, and the reason; the question only where it was asked in a public channel, and never
the answer. What people wrote stands in elements of rich text, which Slack takes for text alone: no markup, no pings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from lore.errors import LoreError
from lore.records.entries import Record
from lore.records.opinions import Opinion, PostedNotice
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import Block, SlackApi, SlackCallError, SlackMessage
from lore.sources.payload import Payload
from lore.visible_text import UNSEEN

__all__ = ["Journal", "MaintainersChannel", "RatedAnswer"]

log = logging.getLogger(__name__)

TELLING_SECONDS = 120.0
"""How long another one waits before it tells what the first did not: longer than a call of Slack with its repeats."""
MAX_QUESTION = 300

_HEADINGS = {
    False: " did not help.",
    True: " did not help; the person has since found it helpful.",
    None: " did not help; the person has since taken that back.",
}


class Journal(Protocol):
    """What the records do for telling: see `Opinions` and `Records`."""

    def begin_telling(self, answer_id: str, asker: str, seconds: float) -> bool:
        """Whether the caller is the one who tells."""
        ...

    def told(self, answer_id: str, asker: str, where: PostedNotice) -> Opinion | None:
        """Remember where it was told; returns what the person thinks by now, None where they were forgotten."""
        ...


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """Which answer is judged, by whom, and in which message; `ts` is "" where only that person sees the message."""

    answer_id: str
    asker: str
    channel: str
    ts: str


class MaintainersChannel:
    """Tells a channel of answers that did not help, and keeps what it said up to date. "" tells nobody.

    `trace_url` is a link to an answer's trace with {id} in it; without one the command that shows it is named.
    """

    def __init__(
        self, slack: SlackApi, journal: Journal, get: Callable[[str], Record], *, channel: str, trace_url: str = ""
    ) -> None:
        self._slack = slack
        self._journal = journal
        self._get = get
        self._channel = channel
        self._trace_url = trace_url
        self._refusals: set[str] = set()

    def tell(self, matter: RatedAnswer, standing: Opinion) -> None:
        """Say what the person thinks of the answer, if it did not help or that was said before. Raises RecordsError;
        what Slack refuses is logged, once for each reason.
        """
        if not self._channel:
            return
        try:
            if standing.told:
                if standing.news:
                    self._slack.update(standing.told.channel, standing.told.ts, self._message(matter, standing))
            elif standing.helpful is False:
                self._tell_first(matter, standing)
        except SlackCallError as error:
            self._refused(error)

    def _tell_first(self, matter: RatedAnswer, standing: Opinion) -> None:
        if not self._journal.begin_telling(matter.answer_id, matter.asker, TELLING_SECONDS):
            return
        ts = self._slack.post(self._channel, self._message(matter, standing))
        now = self._journal.told(matter.answer_id, matter.asker, PostedNotice(self._channel, ts))
        if now is None:  # who said it was forgotten while it was told
            self._slack.delete(self._channel, ts)
        elif (now.helpful, now.reason) != (standing.helpful, standing.reason):  # a reason came meanwhile
            self._slack.update(self._channel, ts, self._message(matter, now))

    def _message(self, matter: RatedAnswer, standing: Opinion) -> SlackMessage:
        heading = _HEADINGS[standing.helpful]
        link = self._permalink(matter)
        parts = [_line(_link(link, "An answer") if link else _text("An answer"), _text(heading))]
        if question := self._question(matter):
            parts.append(_quote(question))
        if standing.reason:
            parts += [_line(_text("Reason:")), _quote(standing.reason)]
        parts.append(_line(self._trace(matter.answer_id)))
        text = f"An answer{heading} {self._command(matter.answer_id)}"
        return SlackMessage(({"type": "rich_text", "elements": parts},), text)

    def _trace(self, answer_id: str) -> Block:
        if self._trace_url.startswith(("https://", "http://")):
            return _link(self._trace_url.replace("{id}", quote(answer_id, safe="")), "How it came about")
        return {"type": "text", "text": self._command(answer_id), "style": {"code": True}}

    def _command(self, answer_id: str) -> str:
        return f"lore answers show {answer_id}"

    def _permalink(self, matter: RatedAnswer) -> str:
        if not matter.ts:
            return ""
        try:
            return self._slack.permalink(matter.channel, matter.ts)
        except SlackCallError as error:
            log.info("An answer that did not help is named without a link: %s", error.code)
            return ""

    def _question(self, matter: RatedAnswer) -> str:
        """The question, redacted as it is recorded, where everybody in the workspace may read it; else ""."""
        if not matter.ts:
            return ""
        try:
            if not _is_public(self._slack.channel(matter.channel)):
                return ""
            text = self._get(matter.answer_id).answer.question.text
        except LoreError as error:
            log.info("An answer that did not help is named without its question: %s", error.message)
            return ""
        return text if len(text) <= MAX_QUESTION else f"{text[:MAX_QUESTION]} …"

    def _refused(self, error: SlackCallError) -> None:
        if error.code not in self._refusals:
            self._refusals.add(error.code)
            loud = level(error, logging.ERROR)
            log.log(loud, "The maintainers' channel %s was not told of an answer: %s", self._channel, error)


def _is_public(channel: Payload) -> bool:
    """Whether every member of the workspace may read a channel; where Slack does not say, they may not."""
    return channel.get("is_private") is False and not any(map(channel.get, ("is_im", "is_mpim", "is_group")))


def _line(*elements: Block) -> Block:
    return {"type": "rich_text_section", "elements": list(elements)}


def _quote(text: str) -> Block:
    return {"type": "rich_text_quote", "elements": [_text(text)]}


def _text(text: str) -> Block:
    return {"type": "text", "text": text.translate(UNSEEN)}


def _link(url: str, text: str) -> Block:
    return {"type": "link", "url": url, "text": text}
