"""Reading one channel: the conversations that changed, and those that exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lore.declarations import SlackDeclaration
from lore.sources.payload import Payload, as_text
from lore.sources.slack.cursor import ChannelState, ConversationDigests, conversation_digest
from lore.sources.slack.documents import Channel, ConversationDocuments
from lore.sources.slack.files import SlackFiles
from lore.sources.slack.history import Week, replies, weeks
from lore.sources.slack.messages import Conversation, Post, conversations, read_post, week_of
from lore.sources.slack.mrkdwn import SlackNames
from lore.sources.slack.values import as_count, is_ts
from lore.sources.slack.workspace import Workspace
from lore.types import Document

__all__ = ["ChannelReader", "ChannelStep"]

DAY = 86_400.0
BATCH_DOCUMENTS = 25
"""Documents in a batch: few enough to lose little when a read is interrupted at one call a minute."""


@dataclass(frozen=True, slots=True)
class ChannelStep:
    """Documents, and the channel's state once they are indexed."""

    documents: tuple[Document, ...]
    state: ChannelState


@dataclass(frozen=True, slots=True)
class _ConversationChanges:
    """Changed conversations: their documents, and the digests of all examined ones, new and old."""

    documents: tuple[Document, ...] = ()
    marks: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ChannelReader:
    """Reads channels of a workspace. `since` (seconds since the epoch) is the start of the selected time."""

    workspace: Workspace
    publisher: ConversationDocuments
    files: SlackFiles | None
    chosen: SlackDeclaration
    since: float

    def read(self, channel: Channel, state: ChannelState) -> Iterator[ChannelStep]:
        """Yield changes in the look-back window, then what was never read; a step without documents only advances the
        state.
        """
        if state.todo != float("inf"):  # something was read before
            for step in self._refresh(channel, state):
                state = step.state
                yield step
        if state.todo is not None:
            yield from self._complete(channel, state)

    def list_ids(self, channel: Channel) -> Iterator[str]:
        """Yield the id of every conversation of the channel, without opening threads."""
        for week in weeks(self.workspace.api, channel.id, about=self.workspace.about(channel), since=self.since):
            for conversation in self._grouped(week.loose):
                yield self.publisher.document_id(channel, conversation.ts)
            for root in week.roots:
                if self._has_document(root):
                    yield self.publisher.document_id(channel, root["ts"])

    def _refresh(self, channel: Channel, state: ChannelState) -> Iterator[ChannelStep]:
        """Read the look-back window. Digests stay until its end, as the read may be interrupted."""
        floor = max(week_of(state.newest - self.chosen.look_back_days * DAY), state.todo or 0.0, self.since)
        recent = state.newest - self.chosen.recheck_days * DAY
        newest, met, left = state.newest, frozenset[str](), state.marks
        known = ConversationDigests(state.marks)
        about = self.workspace.about(channel)
        for week in weeks(self.workspace.api, channel.id, about=about, since=floor):
            newest = max(newest, _last_activity(week))
            for found in _batches(self._changed(channel, week, known, recent)):
                met |= found.marks
                left -= found.before
                if found.documents:
                    yield ChannelStep(found.documents, replace(state, marks=left | met))
        yield ChannelStep((), replace(state, newest=newest, marks=met))

    def _complete(self, channel: Channel, state: ChannelState) -> Iterator[ChannelStep]:
        """Continue from the oldest week read to the channel's first message."""
        before = None if state.todo == float("inf") else state.todo
        known = ConversationDigests(state.marks)
        about = self.workspace.about(channel)
        for week in weeks(self.workspace.api, channel.id, about=about, before=before, since=self.since):
            state = replace(state, newest=max(state.newest, _last_activity(week)))
            kept = week.start >= week_of(state.newest - self.chosen.look_back_days * DAY)
            met, left = frozenset[str](), state.marks
            for found in _batches(self._changed(channel, week, known, float("inf"))):
                met |= found.marks
                left -= found.before
                yield ChannelStep(found.documents, replace(state, marks=left | met))
            state = replace(state, todo=week.start, marks=left | met if kept else left)
        yield ChannelStep((), replace(state, todo=None))

    def _changed(
        self, channel: Channel, week: Week, known: ConversationDigests, recent: float
    ) -> Iterator[_ConversationChanges]:
        """Yield the changes to each conversation of a week.

        History shows a thread's number of replies and the last one's time, but no edits. So a thread with a reply since
        `recent` is opened even if nothing else changed.
        """
        for conversation in self._grouped(week.loose):
            yield self._changed_document(channel, conversation, week.messages, known)
        for root in week.roots:
            before, latest = known.of(root["ts"]), as_text(root.get("latest_reply"))
            state = [root.get(key) for key in ("reply_count", "reply_users_count", "latest_reply")]
            mark = conversation_digest(root["ts"], "thread", self._post(root, self.workspace.people.names), state)
            if mark in before and not (is_ts(latest) and float(latest) >= recent):
                yield _ConversationChanges(marks=before, before=before)
                continue
            messages = replies(self.workspace.api, channel.id, root["ts"], about=self.workspace.about(channel))
            for thread in self._grouped(messages):
                yield self._changed_document(channel, thread, messages, known)
            yield _ConversationChanges(marks=frozenset((mark,)), before=before)

    def _changed_document(
        self, channel: Channel, conversation: Conversation, messages: Iterable[Payload], known: ConversationDigests
    ) -> _ConversationChanges:
        """Return the conversation's document, unless it is unchanged.

        External users are looked up, and files read, only for a changed document.
        """
        before = known.of(conversation.ts)
        files = [(file.id, file.size) for post in conversation.posts for file in post.files]
        plain = self.publisher.document(channel, conversation)
        marks = frozenset((conversation_digest(conversation.ts, plain.title, plain.text, plain.metadata, files),))
        if marks <= before:
            return _ConversationChanges(marks=marks, before=before)
        raw = {message["ts"]: message for message in messages}
        said = [raw[post.ts] for post in conversation.posts]
        self.workspace.look_up_authors(said)
        posts = tuple(post for message in said if (post := self._post(message, self.workspace.names)))
        named = replace(conversation, posts=posts)
        document = self.publisher.document(channel, self.files.with_file_texts(named) if self.files else named)
        return _ConversationChanges((document,), marks, before)

    def _grouped(self, messages: Iterable[Payload]) -> Iterator[Conversation]:
        posts = (self._post(message, self.workspace.people.names) for message in messages)
        return conversations((post for post in posts if post), self.chosen.include_bots)

    def _post(self, message: Payload, names: SlackNames) -> Post | None:
        return read_post(message, names, self.workspace.people.bots)

    def _has_document(self, root: Payload) -> bool:
        """Return True if a thread has a document, judged by its first message alone.

        In doubt it has one: listing too much does no harm, but unlisted documents are removed.
        """
        post = self._post(root, self.workspace.people.names)
        if self.chosen.include_bots or (post and not post.bot):
            return True
        bots = self.workspace.people.bots
        repliers = [one for one in root.get("reply_users") or () if isinstance(one, str)]
        humans = any(not one.startswith("B") and one not in bots for one in repliers)
        return humans or as_count(root.get("reply_users_count")) > len(repliers)


def _batches(found: Iterable[_ConversationChanges]) -> Iterator[_ConversationChanges]:
    """Merge changes, up to 25 documents each."""
    documents: list[Document] = []
    marks, before = set[str](), set[str]()
    for one in found:
        documents += one.documents
        marks |= one.marks
        before |= one.before
        if len(documents) >= BATCH_DOCUMENTS:
            yield _ConversationChanges(tuple(documents), frozenset(marks), frozenset(before))
            documents, marks, before = [], set(), set()
    yield _ConversationChanges(tuple(documents), frozenset(marks), frozenset(before))


def _last_activity(week: Week) -> float:
    """Return the time of the last message in a week's messages and their threads."""
    times = [as_text(message.get(key)) for message in week.messages for key in ("ts", "latest_reply")]
    return max(float(time) for time in times if is_ts(time))
