"""The source `slack`: the threads and conversations of a workspace's channels, through Slack's Web API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from lore.declarations import SlackDeclaration
from lore.errors import SourceError
from lore.sources.cursors import selection_digest
from lore.sources.payload import Payload
from lore.sources.slack.api import DEFAULT_BASE_URL, SlackApi, SlackConnection
from lore.sources.slack.channel_reader import ChannelReader
from lore.sources.slack.cursor import ChannelState, CursorWriter, conversation_digest, from_cursor
from lore.sources.slack.documents import ConversationDocuments
from lore.sources.slack.errors import UNREADABLE, SlackError
from lore.sources.slack.files import SlackFiles
from lore.sources.slack.workspace import Workspace
from lore.types import Batch, Cursor, Failure

__all__ = ["SlackSource"]


class SlackSource:
    """Documents named SOURCE:CHANNEL:TS, as an export has them, where TS is the thread's timestamp, or the
    conversation's first.

    The first read goes through each channel from its newest message to its first, a week at a time, and continues after
    an interruption. Later ones read the look-back window and yield changes. Tests replace `sleep` and `now` (seconds
    since the epoch).
    """

    def __init__(
        self,
        declaration: SlackDeclaration,
        *,
        token: str | None,
        timeout: float = 60.0,
        max_retries: int = 4,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.id = declaration.id
        self._declaration = declaration
        base_url = declaration.base_url or DEFAULT_BASE_URL
        self._connection = SlackConnection(base_url, token or "", timeout, max_retries, sleep, now)
        self._users: Sequence[Payload] | None = None  # from the last read; enough for a list of ids

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield, in batches, the conversations that changed since the cursor (None: all).

        A channel without access is a failure by its id; if no channel has access, SourceError is raised.
        """
        selection = self._selection()
        before = from_cursor(since, selection, self.id) if since else {}
        with ExitStack() as stack:
            run = self._open(stack)
            self._users = run.workspace.users
            channels = run.workspace.channels
            shapes = {one.id: conversation_digest(one.id, one.name, one.private, run.workspace.url) for one in channels}
            states = {key: state for key, state in before.items() if state.shape == shapes.get(key)}
            writer, last, unread = CursorWriter(selection, states), since, 0
            yield from self._unseen(run.workspace)
            for channel in channels:
                state = states.get(channel.id) or ChannelState(shapes[channel.id])
                try:
                    for step in run.reader.read(channel, state):
                        cursor = writer.after(channel.id, step.state)
                        if step.documents or cursor != last:
                            yield Batch(step.documents, cursor)
                        last = cursor
                except SlackError as error:
                    unread += 1
                    if error.code not in UNREADABLE or unread == len(channels):
                        raise
                    yield Batch((), failures=(Failure(f"{self.id}:{channel.id}", str(error)),))

    def _unseen(self, workspace: Workspace) -> Iterator[Batch]:
        if workspace.unseen:
            reasons = workspace.unseen.items()
            yield Batch((), failures=tuple(Failure(f"{self.id}:{name}", reason) for name, reason in reasons))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every conversation. Raises SourceError when a channel can't be read completely."""
        with ExitStack() as stack:
            run = self._open(stack, self._users)
            if run.workspace.unseen:
                raise SourceError(next(iter(run.workspace.unseen.values())))
            for channel in run.workspace.channels:
                yield from run.reader.list_ids(channel)

    def rewind(self, cursor: Cursor, document_ids: Sequence[str]) -> Cursor | None:
        """See `Rereadable.rewind`.

        The cursor has no state of an unreadable channel, so it stays as it is; single conversations can't be read
        again.
        """
        conversations = any(":" in one.removeprefix(f"{self.id}:") for one in document_ids)
        return None if conversations else cursor

    def _open(self, stack: ExitStack, users: Sequence[Payload] | None = None) -> _Run:
        chosen = self._declaration
        api = stack.enter_context(SlackApi(self._connection, page_size=chosen.page_size))
        workspace = Workspace.of(api, chosen.channels, users)
        files = None
        if chosen.include_files:
            files = stack.enter_context(SlackFiles(api, self._connection, max_bytes=chosen.max_file_bytes))
        publisher = ConversationDocuments(self.id, workspace.url, chosen.audiences)
        first_day = chosen.since
        since = datetime(first_day.year, first_day.month, first_day.day, tzinfo=UTC).timestamp() if first_day else 0.0
        return _Run(workspace, ChannelReader(workspace, publisher, files, chosen, since))

    def _selection(self) -> str:
        chosen = {"base_url", "since", "include_bots", "include_files", "max_file_bytes", "audiences"}
        return selection_digest(self._declaration.model_dump_json(include=chosen))


@dataclass(frozen=True, slots=True)
class _Run:
    workspace: Workspace
    reader: ChannelReader
