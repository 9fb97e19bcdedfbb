"""A repository's tarball: unpacked into one unnamed temporary file, indexed, and read at any place.

Nothing is ever written under a name of the archive's, so that names can do no harm; links, devices and pipes are not
files and are left out. What is unpacked is counted while it is unpacked, so that a bomb ends at the limit.
"""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Self

from lore.errors import SourceError

__all__ = ["RepositoryArchive", "TruncatedArchiveError"]

GZIP = 16 + zlib.MAX_WBITS
INFLATE_BYTES = 1024 * 1024
"""Bytes that are unpacked at a time."""
MAX_HEADER = 1024 * 1024
"""A header of tar is 512 bytes, one with a long name a few thousand."""
MAX_MEMBERS = 1_000_000
BLOCK = tarfile.BLOCKSIZE


class TruncatedArchiveError(SourceError):
    """The archive ended early or arrived damaged; downloading it again may help."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The archive of the repository is cut or damaged: {reason}.",
            remedy="Run the sync again; nothing was changed.",
            retryable=True,
        )


@dataclass(frozen=True, slots=True)
class _MemberPosition:
    offset: int
    size: int


class RepositoryArchive:
    """The files of a tarball by their path below its top folder, with `/`; bytes that are not UTF-8 are kept in them
    as `os.fsdecode` does. `skipped` counts the members that are no plain file, or have a name that leads elsewhere.

    A context manager: the temporary file, as large as all that was unpacked, is gone at its end.
    """

    def __init__(self, pieces: Iterable[bytes], *, max_bytes: int) -> None:
        """Unpack gzipped pieces. Raises CutArchiveError, and SourceError for more than `max_bytes` unpacked."""
        self.skipped = 0
        self._files: dict[str, _MemberPosition] = {}
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        try:
            for piece in _unpacked(pieces, max_bytes):
                self._file.write(piece)
            self._file.seek(0)
            self._index()
        except OSError as error:
            self.close()
            raise SourceError(
                f"The archive of the repository cannot be kept in {tempfile.gettempdir()}: {error.strerror or error}.",
                remedy="Free space there, or point TMPDIR to another folder.",
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
        """Give the temporary file back."""
        self._file.close()

    def paths(self) -> list[str]:
        """Every file's path, sorted."""
        return sorted(self._files)

    def size(self, path: str) -> int:
        """The file's size in bytes."""
        return self._files[path].size

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The file's bytes, or the first `limit` of them."""
        place = self._files[path]
        self._file.seek(place.offset)
        return self._file.read(place.size if limit is None else min(limit, place.size))

    def _index(self) -> None:
        """Note where each file is. tarfile takes a broken header for the end, so the end is looked at here."""
        try:
            with tarfile.open(fileobj=_Headers(self._file), mode="r:") as tar:  # type: ignore[call-overload]
                for _ in range(MAX_MEMBERS):
                    member = tar.next()
                    if member is None:
                        break
                    tar.members.clear()  # tarfile keeps every member, at a thousand bytes each
                    self._log_left_out(member)
                else:
                    raise SourceError(
                        f"The archive of the repository has more than {MAX_MEMBERS:,} members.",
                        remedy="Lore does not read repositories of that size.",
                    )
                end = tar.offset
        except (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError) as error:
            raise TruncatedArchiveError(f"{type(error).__name__}: {error}"[:200].rstrip(".")) from None
        self._file.seek(end)
        if self._file.read(BLOCK) != bytes(BLOCK):
            raise TruncatedArchiveError("it has no end")

    def _log_left_out(self, member: tarfile.TarInfo) -> None:
        if member.isdir():
            return
        path = _path_below_top(member.name)
        if path is None or member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
            self.skipped += 1
        else:
            self._files[path] = _MemberPosition(member.offset_data, member.size)


class _Headers:
    """What tarfile reads headers through: one that claims to be large would otherwise be read whole into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_HEADER:
            raise tarfile.ReadError(f"a header claims to have {size} bytes")
        return self._file.read(size)


def _unpacked(pieces: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Unzip, in steps of bounded size, up to the limit and to the proven end."""
    unzip = zlib.decompressobj(GZIP)
    total, parts, begun = 0, 0, False
    try:
        for piece in pieces:
            while piece:
                unpacked = unzip.decompress(piece, INFLATE_BYTES)
                begun = True
                total += len(unpacked)
                if total > max_bytes:
                    raise SourceError(
                        f"The archive of the repository unpacks to more than {max_bytes:,} bytes.",
                        remedy="If the repository is really that large, raise `max_total_bytes` of its declaration.",
                    )
                yield unpacked
                piece = unzip.unconsumed_tail
                if unzip.eof:  # gzip allows several parts one after the other, and zeros between them
                    parts, begun = parts + 1, False
                    piece, unzip = unzip.unused_data.lstrip(b"\0"), zlib.decompressobj(GZIP)
        if begun:
            yield unzip.flush(INFLATE_BYTES)
    except zlib.error as error:
        raise TruncatedArchiveError(str(error)) from None
    if not unzip.eof and (begun or not parts):
        raise TruncatedArchiveError("it ends early")


def _path_below_top(name: str) -> str | None:
    """The path below the archive's top folder; None for a name that leads out of it, or is none."""
    parts = name.split("/")
    if len(parts) < 2 or "\0" in name or any(part in ("", ".", "..") for part in parts):
        return None
    return "/".join(parts[1:])
