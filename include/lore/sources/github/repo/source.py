"""The source `github_repo`: documents and code of a repository, from one tarball for each commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from lore.declarations import GitHubRepoDeclaration
from lore.errors import SourceError
from lore.sources.cursors import selection_digest
from lore.sources.github.api.client import GitHubAccess, GitHubClient
from lore.sources.github.repo.archive import RepositoryArchive
from lore.sources.github.repo.code import UNITS_VERSION
from lore.sources.github.repo.files import RepositoryFiles
from lore.sources.github.repo.state import COMMIT, RepositoryState, SeenFile
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["GitHubRepoSource"]

BATCH_DOCUMENTS = 64
BATCH_BYTES = 8_000_000
SHA = "application/vnd.github.sha"
"""Media type of a commit's bare hash, which is also its ETag."""


class GitHubRepoSource:
    """Two calls for a new commit: its hash, and its archive. One call for a commit that was read before.

    The cursor holds the commit, the ids of all its documents, and the commit at which each file first appeared as it
    is. The ids show deletions without a call. The commits make addresses permanent. Documents carry no date, so a push
    changes only the documents of changed files.
    """

    def __init__(self, declaration: GitHubRepoDeclaration, access: GitHubAccess) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._access = access
        self._path = f"/repos/{declaration.repository}"
        self._listed: list[str] | None = None

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield every document, in batches; nothing if the cursor's commit is still current."""
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
                files = self._files(client, archive, commit, self._seen(before))
                for found in _batches(files.documents()):
                    documents = tuple(one for one in found if isinstance(one, Document))
                    failures = tuple(one for one in found if isinstance(one, Failure))
                    ids += [document.id for document in documents] + [failure.document_id for failure in failures]
                    yield Batch(documents, failures=failures)
        self._listed = ids
        short = tuple(one.removeprefix(f"{self.id}:") for one in ids)
        state = RepositoryState(commit, self._selection(), short, self._branch(), files.seen)
        yield Batch((), state.to_cursor())

    def rewind(self, cursor: Cursor, document_ids: Sequence[str]) -> Cursor | None:
        """See `Rereadable.rewind`: everything is read again, and the sync recognizes unchanged documents.

        The files' commits are kept: otherwise one failure would change all addresses at each push.
        """
        state = RepositoryState.from_cursor(cursor)
        return state.unread().to_cursor() if state else None

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every document: from the read just before, else from an archive."""
        listed, self._listed = self._listed, None
        if listed is not None:
            yield from listed
            return
        with self._client() as client:
            commit = self._commit(client, "")
            with self._archive(client, commit) as archive:
                for found in self._files(client, archive, commit, {}).documents():
                    yield found.id if isinstance(found, Document) else found.document_id

    def _client(self) -> GitHubClient:
        repository, ref = self._declaration.repository, self._declaration.ref or "the default branch"
        return self._access.open(
            {
                401: "The token is wrong or has expired: set LORE_GITHUB_TOKEN or the connection github_default again.",
                403: f"The token may not read {repository}: give it read access to contents.",
                404: f"Check the name {repository}; a private repository needs a token that may read its contents.",
                409: f"{repository} is empty: push a commit, or remove the declaration.",
                422: f"{repository} has no branch, tag or commit {ref}: correct `ref`.",
            }
        )

    def _commit(self, client: GitHubClient, known: str) -> str:
        """Return the commit that the ref points to; if it is still `known`, the call doesn't count against the
        limit.
        """
        ref = quote(self._declaration.ref or "HEAD")
        reply = client.get_text(f"{self._path}/commits/{ref}", SHA, etag=f'"{known}"' if known else "")
        if reply.unchanged:
            return known
        commit = str(reply.data).strip()
        if not COMMIT.fullmatch(commit):
            raise SourceError(
                f"The API didn't return a commit for {self._declaration.repository}.",
                remedy="Check that the base URL is GitHub's API.",
            )
        return commit

    def _archive(self, client: GitHubClient, commit: str) -> RepositoryArchive:
        limit = self._declaration.max_total_bytes
        return client.download(
            f"{self._path}/tarball/{commit}", lambda pieces: RepositoryArchive(pieces, max_bytes=limit)
        )

    def _files(
        self, client: GitHubClient, archive: RepositoryArchive, commit: str, before: Mapping[str, SeenFile]
    ) -> RepositoryFiles:
        web_url = f"{client.hosts.web_url}/{self._declaration.repository}"
        return RepositoryFiles(self._declaration, archive, web_url, commit, before)

    def _seen(self, before: RepositoryState | None) -> Mapping[str, SeenFile]:
        """Return the files' commits, also of a declaration with other globs, but on the same branch or tag."""
        return before.files if before and before.branch == self._branch() else {}

    def _branch(self) -> str:
        values = self._declaration.model_dump_json(include={"repository", "ref"})
        return selection_digest(f"{values} {self._access.base_url}")

    def _selection(self) -> str:
        chosen = {"repository", "ref", "include", "exclude", "code", "max_bytes", "audiences"}
        values = self._declaration.model_dump_json(include=chosen)
        return selection_digest(f"{values} {self._access.base_url} {UNITS_VERSION}")


def _batches(found: Iterator[Document | Failure]) -> Iterator[list[Document | Failure]]:
    """Yield lists of limited number and size."""
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
