"""The source `files`: every file of a known format in a folder."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import quote

from lore.convert import INCLUDING_FORMATS, format_of, resolve_includes
from lore.convert.markdown.front_matter import split_front_matter
from lore.convert.markdown.slugs import ANCHOR_STYLE
from lore.declarations import FilesDeclaration
from lore.errors import SourceError
from lore.sources.globs import PathFilter
from lore.sources.partials import without_partials
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["FilesSource"]

BATCH_FILES = 64
PAGES = frozenset({".md", ".markdown", ".mdx", ".rst", ".html", ".htm", ".xhtml", ".ipynb"})
"""Suffixes that addresses of published pages don't have."""
DERIVED_ANCHORS = frozenset({"markdown", "mdx", "rst", "notebook"})
"""Formats whose headings get their anchors from the program that shows the pages."""
SLUG = re.compile(r"/?(?:[^\s/?#:\\]+/)*[^\s/?#:\\]*")
INDEX_PAGES = frozenset({"index", "readme"})


class FilesSource:
    """Documents named SOURCE:PATH; the path is relative to the folder, and percent-encoded.

    Hidden files and folders (`.git`) and linked folders are left out. There is no cursor: each run reads the whole
    folder, and the sync recognizes unchanged content.
    """

    def __init__(self, declaration: FilesDeclaration) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._root = declaration.path
        self._chosen = PathFilter(declaration.include, declaration.exclude)

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield all files, in batches; an unreadable one is a failure by name."""
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
        """Yield the id of every existing file, readable or not."""
        yield from (self._document_id(path) for path in self._paths())

    def _paths(self) -> list[PurePosixPath]:
        """Return the selected files, sorted. Raises SourceError if the list would be incomplete."""
        if not os.path.isdir(self._root):  # noqa: PTH112 - Path.is_dir raises where the folder above is locked
            raise SourceError(
                f"The folder {self._root} of {self.id} doesn't exist.",
                remedy="Correct `path`, which starts at the declaration's own folder, or mount the folder.",
            )
        found = [path for path in self._walk() if self._wanted(path)]
        if not found:
            raise SourceError(
                f"No file in {self._root} matches {self.id}.",
                remedy="Check that the folder is right and mounted, and check `include` and `exclude`.",
            )
        kept = without_partials([path.as_posix() for path in sorted(found)], self._read_included)
        return [PurePosixPath(path) for path in kept]

    def _walk(self) -> Iterator[PurePosixPath]:
        """Yield everything in the folder at any depth, except folders and hidden names."""
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
                    f"A folder of {self.id} can't be listed: {error}.",
                    remedy="Make it readable, or move it elsewhere.",
                ) from None

    def _wanted(self, path: PurePosixPath) -> bool:
        name = path.as_posix()
        return format_of(name) is not None and self._chosen(name) and self._there(path)

    def _there(self, path: PurePosixPath) -> bool:
        """Return True for a file, or a link to one, and in doubt: a missing one would look deleted."""
        try:
            return stat.S_ISREG((self._root / path).stat().st_mode)
        except OSError as error:
            return error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

    def _read(self, path: PurePosixPath) -> Document | str | None:
        """Return the document, the reason of a failure, or None for a file that has disappeared."""
        file, limit = self._root / path, self._declaration.max_bytes
        try:
            if not self._inside(file):
                return "It is a link that leaves the folder. Exclude it, or replace it by a copy."
            with _open(file) as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return "It was a file when the folder was listed, but isn't one any more."
                data = stream.read(limit + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"It can't be read: {error.strerror or type(error).__name__}."
        if len(data) > limit:
            return f"It is larger than max_bytes, {limit:,} bytes. Exclude it, or raise the limit."
        return self._document(path, data, _time(status.st_mtime))

    def _document(self, path: PurePosixPath, data: bytes, updated_at: datetime | None) -> Document:
        format_name = format_of(path.name) or ""
        text = _decoded(data) if format_name in INCLUDING_FORMATS else ""
        whole = resolve_includes(text, path.as_posix(), self._read_included, format_name) if text else ""
        if whole == text and format_name != "rst":
            whole = ""
        return Document(
            id=self._document_id(path),
            source_id=self.id,
            url=self._url(path, _slug(text) if format_name in ("markdown", "mdx") else ""),
            title="",
            text=whole,
            format=format_name,
            updated_at=updated_at,
            metadata={"path": _encode(path)} | self._anchor_style(format_name),
            audiences=self._declaration.audiences,
            data=None if whole else data,
        )

    def _anchor_style(self, format_name: str) -> dict[str, str]:
        declared = self._declaration.anchors
        return {ANCHOR_STYLE: declared} if declared != "none" and format_name in DERIVED_ANCHORS else {}

    def _read_included(self, path: str) -> str | None:
        """Return a file below the folder as text; None if there is none."""
        file = self._root / path
        try:
            if not self._inside(file) or not file.is_file():
                return None
            with _open(file) as stream:
                return stream.read(self._declaration.max_bytes).decode("utf-8-sig", "replace")
        except (OSError, ValueError):  # the name comes from a text and may be invalid
            return None

    def _inside(self, file: Path) -> bool:
        """Return True if the file's target is in the folder; `Path.resolve` raises for a link to itself."""
        return Path(os.path.realpath(file)).is_relative_to(os.path.realpath(self._root))

    def _document_id(self, path: PurePosixPath) -> str:
        return f"{self.id}:{_encode(path)}"

    def _url(self, path: PurePosixPath, slug: str) -> str:
        declaration = self._declaration
        if declaration.base_url is None:
            return ""
        if slug:
            place = slug if slug.startswith("/") else f"/{path.parent.as_posix()}/{slug}".replace("/./", "/")
            return f"{declaration.base_url}{quote(place)}{'' if place.endswith('/') else declaration.url_suffix}"
        if declaration.strip_suffix and path.suffix.lower() in PAGES:
            if path.stem.lower() in INDEX_PAGES:
                folder = "" if path.parent == PurePosixPath() else _encode(path.parent) + "/"
                return f"{declaration.base_url}/{folder}"
            path = path.with_suffix("")
        return f"{declaration.base_url}/{_encode(path)}{declaration.url_suffix}"


def _decoded(data: bytes) -> str:
    """Return UTF-8 text; "" for any other, as conversion detects the charset."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""


def _slug(text: str) -> str:
    """Return the address that front matter gives a page, relative to its folder or, with a leading slash, the site."""
    slug = split_front_matter(text)[0].get("slug") if text.startswith(("---", "+++")) else None
    valid = isinstance(slug, str) and SLUG.fullmatch(slug) and ".." not in slug.split("/")
    return slug if isinstance(slug, str) and valid else ""


def _open(file: Path) -> BinaryIO:
    """Open without blocking: the file may have become a pipe without a writer."""
    return open(file, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0)))


def _time(seconds: float) -> datetime | None:
    """Return a file's time; None for a year outside the calendar."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _encode(path: PurePosixPath) -> str:
    """Return the path as URLs have it; names that are not UTF-8 keep their bytes."""
    return quote(os.fsencode(path.as_posix()))
