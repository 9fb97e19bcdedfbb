"""The channel of maintainers: it is told of answers that didn't help, in one message for each answer.

Everybody in that channel reads it, whatever they are members of. So a notice has a link to the message, which Slack
shows to those who may see it, the answer's id, and the reason; the question only if it was asked in a public channel,
and never the answer. Text that people wrote stands in elements of rich text, where Slack finds no markup and no
mentions.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from lore.errors import LoreError
from lore.records.entries import Record
from lore.records.opinions import Opinion, Opinions, PostedNotice
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.errors import log_level
from lore.slackbot.types import Block, SlackCallError, SlackMessage
from lore.sources.payload import Payload
from lore.visible_text import UNSEEN

__all__ = ["MaintainersChannel", "RatedAnswer"]

log = logging.getLogger(__name__)

NOTICE_SECONDS = 120.0
"""Time for a process to post a notice, before another one does: longer than a call with its retries."""
MAX_QUESTION = 300

MAX_REASONS = 10
GONE = frozenset({"message_not_found", "channel_not_found", "thread_not_found"})


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """An answer, the person who judged it, and its message; `ts` is "" for an ephemeral one."""

    answer_id: str
    asker: str
    channel: str
    ts: str


class MaintainersChannel:
    """Posts notices of answers that didn't help, and keeps them up to date. "" as `channel` posts none.

    `trace_url` is a link to an answer's trace with {id} in it; without one, the notice names a command.
    """

    def __init__(
        self, slack: BotApi, opinions: Opinions, get: Callable[[str], Record], *, channel: str, trace_url: str = ""
    ) -> None:
        self._slack = slack
        self._opinions = opinions
        self._get = get
        self._channel = channel
        self._trace_url = trace_url
        self._refusals: set[str] = set()

    def tell(self, rated: RatedAnswer, opinion: Opinion) -> None:
        """Post or update the notice of an answer, if it didn't help.

        Raises RecordsError. A refusal of Slack is logged, once for each error code.
        """
        if not self._channel:
            return
        try:
            if opinion.notice:
                if opinion.is_new:
                    notice = self._message(rated, self._opinions.about(rated.answer_id))
                    self._slack.update(opinion.notice.channel, opinion.notice.ts, notice)
            elif opinion.helpful is False:
                self._tell_first(rated, opinion)
        except SlackCallError as error:
            if error.code not in self._refusals:
                self._refusals.add(error.code)
                log.log(
                    log_level(error, logging.ERROR),
                    "Couldn't tell the maintainers' channel %s of an answer: %s",
                    self._channel,
                    error,
                )

    def refresh(self, answer_id: str, notice: PostedNotice) -> bool:
        """Remove a forgotten person's words from a notice; return False if Slack refuses that, which is logged.

        The notice is deleted if the answer helped all who are left. Raises RecordsError.
        """
        rest = self._opinions.about(answer_id)
        try:
            if any(one.helpful is False for one in rest):
                rated = RatedAnswer(answer_id, "", notice.answer_channel, notice.answer_ts)
                self._slack.update(notice.channel, notice.ts, self._message(rated, rest))
                self._opinions.hand_on(answer_id, notice)
            else:
                self._slack.delete(notice.channel, notice.ts)
        except SlackCallError as error:
            if error.code in GONE:
                return True
            log.error("Couldn't remove a forgotten person's words from a notice: %s", error)
            return False
        return True

    def _tell_first(self, rated: RatedAnswer, opinion: Opinion) -> None:
        if not self._opinions.begin_notice(rated.answer_id, rated.asker, NOTICE_SECONDS):
            return
        before = self._opinions.about(rated.answer_id)
        ts = self._slack.post(self._channel, self._message(rated, before))
        notice = PostedNotice(self._channel, ts, rated.channel, rated.ts)
        if self._opinions.end_notice(rated.answer_id, rated.asker, notice) is None:
            self._slack.delete(self._channel, ts)  # the person was forgotten meanwhile
        elif not (now := self._opinions.about(rated.answer_id)):
            self._slack.delete(self._channel, ts)
        elif now != before:  # a reason or another press came meanwhile
            self._slack.update(self._channel, ts, self._message(rated, now))

    def _message(self, rated: RatedAnswer, opinions: Sequence[Opinion]) -> SlackMessage:
        heading, command = _heading(opinions), f"lore answers show {rated.answer_id}"
        link = self._permalink(rated)
        parts = [_line(_link(link, "An answer") if link else _text("An answer"), _text(heading))]
        if question := self._question(rated):
            parts.append(_quote(question))
        reasons = [one.reason for one in opinions if one.reason]
        if reasons:
            parts.append(_line(_text("Reason:" if len(reasons) == 1 else "Reasons:")))
        parts += [_quote(reason) for reason in reasons[-MAX_REASONS:]]
        if self._trace_url.startswith(("https://", "http://")):
            trace = _link(self._trace_url.replace("{id}", quote(rated.answer_id, safe="")), "Show the trace")
        else:
            trace = {"type": "text", "text": command, "style": {"code": True}}
        parts.append(_line(trace))
        return SlackMessage(({"type": "rich_text", "elements": parts},), f"An answer{heading} {command}")

    def _permalink(self, rated: RatedAnswer) -> str:
        if not rated.ts:
            return ""
        try:
            return self._slack.permalink(rated.channel, rated.ts)
        except SlackCallError as error:
            log.info("A notice has no link to the answer: %s", error.code)
            return ""

    def _question(self, rated: RatedAnswer) -> str:
        """Return the redacted question if everybody in the workspace may read it; else ""."""
        if not rated.ts:
            return ""
        try:
            if not _is_public(self._slack.channel(rated.channel)):
                return ""
            text = self._get(rated.answer_id).answer.question.text
        except LoreError as error:
            log.info("A notice has no question: %s", error.message)
            return ""
        return text if len(text) <= MAX_QUESTION else f"{text[:MAX_QUESTION]} …"


def _heading(opinions: Sequence[Opinion]) -> str:
    """Return how many people an answer didn't help, and how many think otherwise."""
    counts = Counter(one.helpful for one in opinions)
    if len(opinions) == 1:
        ends = {
            False: ".",
            True: "; the person has since found it helpful.",
            None: "; the person has since taken that back.",
        }
        return " didn't help" + ends[opinions[0].helpful]
    others = f", and helped {_people(counts[True])}" if counts[True] else ""
    if not counts[False]:
        return f" didn't help at first{others}; nobody finds it unhelpful any more."
    return f" didn't help {_people(counts[False])}{others}."


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def _is_public(channel: Payload) -> bool:
    """Return True if every member of the workspace may read a channel, and Slack says so."""
    return channel.get("is_private") is False and not any(map(channel.get, ("is_im", "is_mpim", "is_group")))


def _line(*elements: Block) -> Block:
    return {"type": "rich_text_section", "elements": list(elements)}


def _quote(text: str) -> Block:
    return {"type": "rich_text_quote", "elements": [_text(text)]}


def _text(text: str) -> Block:
    return {"type": "text", "text": text.translate(UNSEEN)}


def _link(url: str, text: str) -> Block:
    return {"type": "link", "url": url, "text": text}
