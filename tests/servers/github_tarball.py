"""Tarballs as GitHub makes them, and the other host that serves them, as codeload.github.com does."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from urllib.parse import urlsplit

from tests.servers.local import LocalServer, QuietHandler

__all__ = ["ArchiveServer", "tarball"]


def tarball(files: Mapping[str, bytes | str], commit: str = "0123456789abcdef" * 2 + "01234567") -> bytes:
    """The files by path, packed as `git archive` does: a comment with the commit, one folder at the top.

    The same files give the same bytes.
    """
    top, out = f"octo-demo-{commit[:7]}", io.BytesIO()
    headers = {"comment": commit}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as tar:
        folders = {top}
        for path in files:
            parts = path.split("/")
            folders |= {"/".join([top, *parts[:length]]) for length in range(1, len(parts))}
        for folder in sorted(folders):
            info = tarfile.TarInfo(folder)
            info.type = tarfile.DIRTYPE
            tar.addfile(info)
        for path, content in sorted(files.items()):
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"{top}/{path}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


class _Handler(QuietHandler):
    api: ArchiveServer

    def do_GET(self) -> None:
        archives = self.api
        archives.requests.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
        whole = archives._held.get(urlsplit(self.path).path.rpartition("/")[2], b"")
        instead = archives.broken.pop(0) if archives.broken else None
        self.send_response(instead if isinstance(instead, int) else 200)
        self.send_header("Content-Type", "application/x-gzip")
        body = b"" if isinstance(instead, int) else whole if instead is None else instead
        self.send_header("Content-Length", "0" if isinstance(instead, int) else str(max(len(whole), len(body))))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection or instead is not None


class ArchiveServer(LocalServer):
    """Serves the tarballs that it was given on 127.0.0.1 while the `with` block runs.

    `broken` holds what to send instead, one for each of the next calls: bytes as the body, which the connection's end
    cuts where Content-Length promises more, or a status.
    """

    handler = _Handler

    def __init__(self) -> None:
        self.broken: list[bytes | int] = []
        self.requests: list[dict[str, str]] = []
        """The headers of each call, and its target as `path`."""
        self._held: dict[str, bytes] = {}

    def hold(self, commit: str, files: Mapping[str, bytes | str]) -> None:
        """Have the tarball of a commit ready."""
        self._held[commit] = tarball(files, commit)
