"""A repository's tarball, decompressed into one unnamed temporary file, indexed, and read at any place.

No file gets a name from the archive, so hostile names do no harm; links, devices and pipes are left out. Decompression
counts its bytes, so that a bomb ends at the limit.
"""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Self

from lore.errors import SourceError
from lore.sources.http.inflate import TooLargeError, inflate

__all__ = ["RepositoryArchive", "TruncatedArchiveError"]

MAX_HEADER = 1024 * 1024
"""Bytes of a tar header: normally 512, a few thousand with a long name."""
MAX_MEMBERS = 1_000_000
BLOCK = tarfile.BLOCKSIZE


class TruncatedArchiveError(SourceError):
    """The archive is truncated or damaged; another download may help."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The archive of the repository is truncated or damaged: {reason}.",
            remedy="Run the sync again; nothing has changed.",
            retryable=True,
        )


@dataclass(frozen=True, slots=True)
class _MemberPosition:
    offset: int
    size: int


class RepositoryArchive:
    """The files of a tarball by their path below its top folder, with `/`.

    Bytes that are not UTF-8 are kept as `os.fsdecode` does. `skipped` counts members that are not plain files, or whose
    names lead elsewhere. The context manager deletes the temporary file, as large as all content, at its end.
    """

    def __init__(self, pieces: Iterable[bytes], *, max_bytes: int) -> None:
        """Decompress gzip data. Raises TruncatedArchiveError, and SourceError for more than `max_bytes` of content."""
        self.skipped = 0
        self._files: dict[str, _MemberPosition] = {}
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        try:
            for piece in _decompressed(pieces, max_bytes):
                self._file.write(piece)
            self._file.seek(0)
            self._index()
        except OSError as error:
            self.close()
            raise SourceError(
                f"Couldn't store the archive of the repository in {tempfile.gettempdir()}: {error.strerror or error}.",
                remedy="Free some space there, or point TMPDIR to another folder.",
                retryable=True,
            ) from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()

    def paths(self) -> list[str]:
        """Return every file's path, sorted."""
        return sorted(self._files)

    def size(self, path: str) -> int:
        """Return the file's size in bytes."""
        return self._files[path].size

    def read(self, path: str, limit: int | None = None) -> bytes:
        """Return the file's bytes, or the first `limit` of them."""
        place = self._files[path]
        self._file.seek(place.offset)
        return self._file.read(place.size if limit is None else min(limit, place.size))

    def _index(self) -> None:
        """Record the position of each file. tarfile takes a damaged header for the end, so the end is checked here."""
        try:
            with tarfile.open(fileobj=_Headers(self._file), mode="r:") as tar:  # type: ignore[call-overload]
                for _ in range(MAX_MEMBERS):
                    member = tar.next()
                    if member is None:
                        break
                    tar.members.clear()  # tarfile would keep every member, at a thousand bytes each
                    self._log_left_out(member)
                else:
                    raise SourceError(
                        f"The archive of the repository has more than {MAX_MEMBERS:,} members.",
                        remedy="Lore can't read repositories of that size.",
                    )
                end = tar.offset
        except (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError) as error:
            raise TruncatedArchiveError(f"{type(error).__name__}: {error}"[:200].rstrip(".")) from None
        self._file.seek(end)
        if self._file.read(BLOCK) != bytes(BLOCK):
            raise TruncatedArchiveError("its end is missing")

    def _log_left_out(self, member: tarfile.TarInfo) -> None:
        if member.isdir():
            return
        path = _path_below_top(member.name)
        if path is None or member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
            self.skipped += 1
        else:
            self._files[path] = _MemberPosition(member.offset_data, member.size)


class _Headers:
    """The file in which tarfile reads headers; it would read one that claims to be large into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_HEADER:
            raise tarfile.ReadError(f"a header claims to have {size} bytes")
        return self._file.read(size)


def _decompressed(pieces: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Decompress up to the limit and to the proven end."""
    empty = True
    try:
        for piece in inflate(pieces, max_bytes):
            empty = False
            yield piece
    except TooLargeError:
        raise SourceError(
            f"The archive of the repository contains more than {max_bytes:,} bytes.",
            remedy="If the repository is really that large, raise `max_total_bytes` in its declaration.",
        ) from None
    except zlib.error as error:
        raise TruncatedArchiveError(str(error)) from None
    if empty:
        raise TruncatedArchiveError("it is empty")


def _path_below_top(name: str) -> str | None:
    """Return the path below the archive's top folder; None if the name is invalid or leads out of it."""
    parts = name.split("/")
    if len(parts) < 2 or "\0" in name or any(part in ("", ".", "..") for part in parts):
        return None
    return "/".join(parts[1:])
