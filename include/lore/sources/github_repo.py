"""The documents and code of a GitHub repository, by one tarball for each commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from include.lore.declarations import GitHubRepoDeclaration
from include.lore.errors import SourceError
from include.lore.sources.cursors import selection_of
from include.lore.sources.github_archive import Archive
from include.lore.sources.github_code import UNITS_VERSION
from include.lore.sources.github_files import RepositoryFiles
from include.lore.sources.github_http import GitHubAccess, GitHubClient
from include.lore.sources.github_listing import RepositoryState
from include.lore.types import Batch, Cursor, Document, Failure

__all__ = ["GitHubRepoSource"]

BATCH_DOCUMENTS = 64
BATCH_BYTES = 8_000_000
SHA = "application/vnd.github.sha"
"""The media type in which a commit is only its hash; the hash is its ETag, too."""


class GitHubRepoSource:
    """Two calls for a commit that was not read: what it is, and its archive. One for a commit that was.

    The cursor is the commit with the ids of all that was read at it, so that deletions are seen without a call. The
    documents carry addresses of the branch or tag, not of the commit, and no date: so a push changes only the
    documents of the files that it changed.
    """

    def __init__(self, declaration: GitHubRepoDeclaration, access: GitHubAccess) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._access = access
        self._path = f"/repos/{declaration.repository}"
        self._listed: list[str] | None = None

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield every document, in batches, or nothing when the cursor's commit is still the one that is there."""
        self._listed = None
        before = RepositoryState.from_cursor(since) if since else None
        known = before.commit if before and before.selection == self._selection() else ""
        with self._client() as client:
            commit = self._commit(client, known)
            if commit == known and before:
                self._listed = None if before.ids is None else [f"{self.id}:{one}" for one in before.ids]
                return
            with self._archive(client, commit) as archive:
                ids: list[str] = []
                for found in _batches(RepositoryFiles(self._declaration, archive, self._web_url(client)).documents()):
                    documents = tuple(one for one in found if isinstance(one, Document))
                    failures = tuple(one for one in found if isinstance(one, Failure))
                    ids += [document.id for document in documents] + [failure.document_id for failure in failures]
                    yield Batch(documents, failures=failures)
        self._listed = ids
        short = tuple(one.removeprefix(f"{self.id}:") for one in ids)
        yield Batch((), RepositoryState(commit, self._selection(), short).to_cursor())

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every document: those of the read that came before, without a call, else by an archive."""
        listed, self._listed = self._listed, None
        if listed is not None:
            yield from listed
            return
        with self._client() as client, self._archive(client, self._commit(client, "")) as archive:
            for found in RepositoryFiles(self._declaration, archive, self._web_url(client)).documents():
                yield found.id if isinstance(found, Document) else found.document_id

    def _client(self) -> GitHubClient:
        repository, ref = self._declaration.repository, self._declaration.ref or "the default branch"
        return self._access.open(
            {
                401: "The token is wrong or has expired: set LORE_GITHUB_TOKEN or the connection github_default anew.",
                403: f"The token may not read {repository}: give it read access to contents.",
                404: f"Check the name {repository}; a private repository needs a token that may read its contents.",
                409: f"{repository} is empty: push a commit, or remove the declaration.",
                422: f"{repository} has no branch, tag or commit {ref}: correct `ref`.",
            }
        )

    def _commit(self, client: GitHubClient, known: str) -> str:
        """The commit that the ref means now; asking whether it is still the known one costs no call of the limit."""
        ref = quote(self._declaration.ref or "HEAD")
        reply = client.get_text(f"{self._path}/commits/{ref}", SHA, etag=f'"{known}"' if known else "")
        if reply.unchanged:
            return known
        commit = str(reply.data).strip()
        if not re.fullmatch(r"[0-9a-f]{40,64}", commit):
            raise SourceError(
                f"The API answered something else than a commit for {self._declaration.repository}.",
                remedy="Check that the base URL is GitHub's API.",
            )
        return commit

    def _archive(self, client: GitHubClient, commit: str) -> Archive:
        limit = self._declaration.max_total_bytes
        return client.download(f"{self._path}/tarball/{commit}", lambda pieces: Archive(pieces, max_bytes=limit))

    def _web_url(self, client: GitHubClient) -> str:
        return f"{client.hosts.web_url}/{self._declaration.repository}"

    def _selection(self) -> str:
        chosen = {"repository", "ref", "include", "exclude", "code", "max_bytes", "audiences"}
        values = self._declaration.model_dump_json(include=chosen)
        return selection_of(f"{values} {self._access.base_url} {UNITS_VERSION}")


def _batches(found: Iterator[Document | Failure]) -> Iterator[list[Document | Failure]]:
    """Lists of bounded number and size."""
    waiting: list[Document | Failure] = []
    size = 0
    for one in found:
        waiting.append(one)
        size += len(one.text) + len(one.data or b"") if isinstance(one, Document) else 0
        if len(waiting) >= BATCH_DOCUMENTS or size >= BATCH_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting
