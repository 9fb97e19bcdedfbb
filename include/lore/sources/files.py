"""A folder of files: every one in a known format is a document."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import quote

from lore.convert import format_of, resolve_includes
from lore.declarations import FilesDeclaration
from lore.errors import SourceError
from lore.sources.globs import PathFilter
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["FilesSource"]

BATCH_FILES = 64
PAGES = frozenset({".md", ".markdown", ".mdx", ".rst", ".html", ".htm", ".xhtml", ".ipynb"})
"""Suffixes that the address of a published page does not have."""
INDEX_PAGES = frozenset({"index", "readme"})


class FilesSource:
    """Documents named SOURCE:PATH, the path from the folder on, percent-encoded as in a URL.

    Hidden files and folders (`.git`) and folders that are links are left out. There is no cursor: the folder is read
    as a whole, and what did not change is recognised by its content.
    """

    def __init__(self, declaration: FilesDeclaration) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._root = declaration.path
        self._chosen = PathFilter(declaration.include, declaration.exclude)

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield all files, in batches; one that cannot be read is a failure by name."""
        paths = self._paths()
        for start in range(0, len(paths), BATCH_FILES):
            documents: list[Document] = []
            failures: list[Failure] = []
            for path in paths[start : start + BATCH_FILES]:
                found = self._read(path)
                if isinstance(found, Document):
                    documents.append(found)
                elif found:
                    failures.append(Failure(self._document_id(path), found))
            yield Batch(tuple(documents), failures=tuple(failures))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every file that is there, whether or not it can be read."""
        yield from (self._document_id(path) for path in self._paths())

    def _paths(self) -> list[PurePosixPath]:
        """The files that the declaration means, sorted. Raises SourceError rather than give an incomplete list."""
        if not os.path.isdir(self._root):  # noqa: PTH112 - Path.is_dir raises where the folder above is locked
            raise SourceError(
                f"The folder {self._root} of {self.id} does not exist.",
                remedy="Correct `path`, which starts at the declaration's own folder, or mount what is missing.",
            )
        found = [path for path in self._walk() if self._wanted(path)]
        if not found:
            raise SourceError(
                f"No file in {self._root} is one that {self.id} could take.",
                remedy="Check that the folder is the right one and mounted, and `include` and `exclude`.",
            )
        return sorted(found)

    def _walk(self) -> Iterator[PurePosixPath]:
        """All that is in the folder and is no folder, without hidden ones, however deep."""
        waiting = [PurePosixPath()]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._root / folder) as entries:
                    for entry in entries:
                        if entry.name.startswith("."):
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(folder / entry.name)
                        else:
                            yield folder / entry.name
            except OSError as error:
                raise SourceError(
                    f"A folder of {self.id} cannot be listed: {error}.",
                    remedy="Make it readable, or move it elsewhere.",
                ) from None

    def _wanted(self, path: PurePosixPath) -> bool:
        name = path.as_posix()
        return format_of(name) is not None and self._chosen(name) and self._there(path)

    def _there(self, path: PurePosixPath) -> bool:
        """Whether it is a file, or a link to one; what cannot be looked at is there, or it would seem deleted."""
        try:
            return stat.S_ISREG((self._root / path).stat().st_mode)
        except OSError as error:
            return error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

    def _read(self, path: PurePosixPath) -> Document | str | None:
        """The document, the reason why it cannot be read, or None when it is gone since it was listed."""
        file, limit = self._root / path, self._declaration.max_bytes
        try:
            if not self._inside(file):
                return "It is a link that leaves the folder. Exclude it, or put a copy in its place."
            with _open(file) as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return "It was a file when the folder was listed, and is none now."
                data = stream.read(limit + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"It cannot be read: {error.strerror or type(error).__name__}."
        if len(data) > limit:
            return f"It is larger than max_bytes, {limit:,} bytes. Exclude it, or raise the limit."
        return self._document(path, data, _time(status.st_mtime))

    def _document(self, path: PurePosixPath, data: bytes, updated_at: datetime | None) -> Document:
        format_name = format_of(path.name) or ""
        text = self._with_includes(path, data) if format_name == "rst" else ""
        return Document(
            id=self._document_id(path),
            source_id=self.id,
            url=self._url(path),
            title="",
            text=text,
            format=format_name,
            updated_at=updated_at,
            metadata={"path": _encode(path)},
            audiences=self._declaration.audiences,
            data=None if text else data,
        )

    def _with_includes(self, path: PurePosixPath, data: bytes) -> str:
        """RST names other files that are part of its text; "" when it is not UTF-8, which conversion looks into."""
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return ""
        return resolve_includes(text, path.as_posix(), self._read_included)

    def _read_included(self, path: str) -> str | None:
        """A file below the folder, as text; None where there is none."""
        file = self._root / path
        try:
            if not self._inside(file) or not file.is_file():
                return None
            with _open(file) as stream:
                return stream.read(self._declaration.max_bytes).decode("utf-8-sig", "replace")
        except (OSError, ValueError):  # the name is a text's own, so it may be none
            return None

    def _inside(self, file: Path) -> bool:
        """Whether it is in the folder once links are followed; `Path.resolve` raises for a link to itself."""
        return Path(os.path.realpath(file)).is_relative_to(os.path.realpath(self._root))

    def _document_id(self, path: PurePosixPath) -> str:
        return f"{self.id}:{_encode(path)}"

    def _url(self, path: PurePosixPath) -> str:
        declaration = self._declaration
        if declaration.base_url is None:
            return ""
        if declaration.strip_suffix and path.suffix.lower() in PAGES:
            if path.stem.lower() in INDEX_PAGES:
                folder = "" if path.parent == PurePosixPath() else _encode(path.parent) + "/"
                return f"{declaration.base_url}/{folder}"
            path = path.with_suffix("")
        return f"{declaration.base_url}/{_encode(path)}{declaration.url_suffix}"


def _open(file: Path) -> BinaryIO:
    """Open without waiting: what was a file a moment ago may be a pipe that nobody writes to."""
    return open(file, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0)))


def _time(seconds: float) -> datetime | None:
    """A file's time, or None for one in a year that a calendar does not have."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _encode(path: PurePosixPath) -> str:
    """The path as in a URL; names that are not UTF-8 keep their bytes."""
    return quote(os.fsencode(path.as_posix()))
