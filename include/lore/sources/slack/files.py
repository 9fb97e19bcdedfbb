"""The text of snippets and text files, from Slack's own hosts and within limits."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Self
from urllib.parse import urlsplit

import httpx

from lore.convert.decoding import clean, decode
from lore.errors import ConversionError, SourceError
from lore.sources.http.client import read_body, retry_for_error
from lore.sources.http.retries import TRANSIENT, Retry, retry_after
from lore.sources.payload import as_mapping
from lore.sources.slack.api import SlackApi, SlackConnection
from lore.sources.slack.attachments import PostFile, read_file
from lore.sources.slack.errors import NEXT_RUN, SlackError
from lore.sources.slack.messages import Conversation

__all__ = ["SlackFiles"]

SLACK_DOMAINS = ("slack.com", "slack-gov.com")
HTML = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)
UNREADABLE_FILE_CODES = frozenset({"file_not_found", "file_deleted", "access_denied", "not_visible", "no_permission"})


class SlackFiles:
    """Reads files with the API's token, which reaches the hosts of `base_url` only.

    A file of more than `max_bytes`, or one without text, keeps what its message says.
    """

    def __init__(self, api: SlackApi, connection: SlackConnection, *, max_bytes: int) -> None:
        self._api, self._home = api, urlsplit(connection.base_url)
        self._max_bytes, self._timeout = max_bytes, connection.timeout
        self._retries = connection.retries()
        self._token = connection.token.strip()
        self._client: httpx.Client | None = None  # most runs read no file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client:
            self._client.close()

    def with_file_texts(self, conversation: Conversation) -> Conversation:
        """Return the conversation with the text of its files.

        Raises SourceError when Slack is unreachable, or refuses files to this token.
        """
        posts = (
            replace(post, files=tuple(self._complete(file) for file in post.files)) if post.files else post
            for post in conversation.posts
        )
        return replace(conversation, posts=tuple(posts))

    def _complete(self, file: PostFile) -> PostFile:
        if file.unknown:
            file = self._look_up(file)
        if (
            file.whole
            or not file.download
            or not 0 < file.size <= self._max_bytes
            or not self.is_slack_address(file.download)
        ):
            return file
        try:
            data = self._retries.call("A file in Slack", lambda: self._download(file))
        except SourceError as error:
            if not error.retryable:
                raise
            raise SourceError(error.message, remedy=NEXT_RUN, retryable=True) from None
        try:
            text = clean(decode(data)).strip("\n") if data else ""
        except ConversionError:
            return file
        return replace(file, content=text, whole=True) if text else file

    def _look_up(self, file: PostFile) -> PostFile:
        """Look up a file of another workspace, of which its message has only the id."""
        try:
            payload = as_mapping(self._api.call("files.info", {"file": file.id}, about="a file").get("file"))
        except SlackError as error:
            if error.code not in UNREADABLE_FILE_CODES:
                raise
            return file
        return read_file({**payload, "file_access": "visible"}) or file

    def is_slack_address(self, url: str) -> bool:
        """Return True for an address of Slack's, or of the server that the base URL names instead."""
        try:
            parts, port = urlsplit(url), urlsplit(url).port
        except ValueError:
            return False
        host, home = parts.hostname or "", self._home.hostname or ""
        for domain in SLACK_DOMAINS:
            if home == domain or home.endswith(f".{domain}"):
                return parts.scheme == "https" and port in (None, 443) and host.endswith(f".{domain}")
        return (parts.scheme, host, port) == (self._home.scheme, home, self._home.port)

    def _download(self, file: PostFile) -> bytes | Retry:
        """Return the file's bytes; none if it was deleted, or is larger than announced."""
        if self._client is None:
            headers = {"User-Agent": "lore", "Authorization": f"Bearer {self._token}"}
            self._client = httpx.Client(timeout=self._timeout, headers=headers, follow_redirects=False)
        deadline = time.monotonic() + self._timeout
        try:
            with self._client.stream("GET", file.download) as response:
                body = read_body(response, max_bytes=self._max_bytes, deadline=deadline)
        except httpx.TimeoutException as error:
            return retry_for_error(error, self._timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # the message may contain the file's address
            return Retry(f"it can't be downloaded ({type(error).__name__})")
        if body is None:
            return b""
        status = response.status_code
        if status in TRANSIENT:
            wait = retry_after(response.headers.get("retry-after"), self._retries.now())
            return Retry(f"HTTP {status}", 60.0 if wait is None and status == 429 else wait)
        if status in (404, 410):
            return b""
        if not response.is_success or HTML.match(body[:200]):
            raise _refused(status)
        return body


def _refused(status: int) -> SourceError:
    return SourceError(
        f"Slack refuses files to this token (HTTP {status}, with a login page instead of a file).",
        remedy="Add the scope files:read to the app under OAuth & Permissions and reinstall it, or set "
        "`include_files: false`.",
    )
