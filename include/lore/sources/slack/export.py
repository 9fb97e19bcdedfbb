"""The source `slack_export`: the threads and conversations of a Slack workspace export."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lore.declarations import SlackExportDeclaration
from lore.errors import SourceError
from lore.sources.slack.archive import BrokenFileError, SlackArchive, open_archive
from lore.sources.slack.documents import Channel, ConversationDocuments, WorkspaceUsers, read_channel
from lore.sources.slack.messages import Conversation, Post, conversations, read_post
from lore.types import Batch, Cursor, Failure

__all__ = ["SlackExportSource"]


class SlackExportSource:
    """Documents named SOURCE:CHANNEL:TS, where TS is the thread's timestamp, or the conversation's first.

    Public channels are read if `channels` is empty, private ones only if named there, direct messages never. There is
    no cursor: every run reads the whole export.
    """

    def __init__(self, declaration: SlackExportDeclaration) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._publisher = ConversationDocuments(declaration.id, declaration.workspace_url or "", declaration.audiences)

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield a batch for each channel; an unreadable day is a failure by name."""
        with open_archive(self._declaration.path) as archive:
            export = _Export.of(archive)
            for channel in self._channels(export):
                failures: list[Failure] = []
                found = list(self._conversations(export, channel, failures))
                documents = tuple(self._publisher.document(channel, one) for one in found)
                yield Batch(documents, failures=tuple(failures))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every conversation.

        Raises SourceError when a day is unreadable, as its conversations would look deleted.
        """
        with open_archive(self._declaration.path) as archive:
            export = _Export.of(archive)
            for channel in self._channels(export):
                failures: list[Failure] = []
                for conversation in self._conversations(export, channel, failures):
                    yield self._publisher.document_id(channel, conversation.ts)
                if failures:
                    raise SourceError(
                        f"{archive.name} can't be listed completely: {failures[0].reason}",
                        remedy="Repair the export or make a new one; until then nothing is removed from the index.",
                    )

    def _channels(self, export: _Export) -> list[Channel]:
        wanted = self._declaration.channels
        if not wanted:
            return [channel for channel in export.folders if not channel.private]
        named = {key: channel for channel in export.folders for key in (channel.id, channel.name)}
        chosen: dict[str, Channel] = {}
        for name in wanted:
            channel = named.get(name.removeprefix("#"))
            if channel is None:
                near = difflib.get_close_matches(name.removeprefix("#"), named, n=1)
                raise SourceError(
                    f"The export {self._declaration.path.name} has no channel {name!r}.",
                    remedy=f"Did you mean {near[0]!r}?" if near else "Correct `channels` in the declaration.",
                )
            chosen[channel.id] = channel
        return list(chosen.values())

    def _conversations(self, export: _Export, channel: Channel, failures: list[Failure]) -> Iterator[Conversation]:
        posts: list[Post] = []
        for name in export.archive.days.get(export.folders[channel], ()):
            try:
                messages = export.archive.objects(name)
            except BrokenFileError as error:
                failures.append(Failure(f"{self.id}:{channel.id}:{name.rpartition('/')[2]}", f"{name}: {error}."))
                continue
            read = (read_post(message, export.people.names, export.people.bots) for message in messages)
            posts.extend(post for post in read if post)
        return conversations(posts, self._declaration.include_bots)


@dataclass(frozen=True, slots=True)
class _Export:
    """An opened export; `folders` maps a channel to the folder of its days."""

    archive: SlackArchive
    people: WorkspaceUsers
    folders: Mapping[Channel, str]

    @classmethod
    def of(cls, archive: SlackArchive) -> _Export:
        """Read users and channels. Raises SourceError when they are unreadable."""
        users = _objects(archive, "users.json")
        folders = {
            channel: payload["name"]
            for file, private in (("channels.json", False), ("groups.json", True))
            for payload in _objects(archive, file)
            if (channel := read_channel(payload, private=private))
        }
        return cls(archive, WorkspaceUsers.of(users, folders), folders)


def _objects(archive: SlackArchive, name: str) -> list[Mapping[str, Any]]:
    """Return a file's objects; none if it is missing, as an export may have no users."""
    if name not in archive.files:
        return []
    try:
        return list(archive.objects(name))
    except BrokenFileError as error:
        raise SourceError(f"{name} in {archive.name} is damaged: {error}.", remedy="Make a new export.") from None
