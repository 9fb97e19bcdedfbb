"""The files of a Slack export, a zip or a folder, read within limits and never extracted to disk."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore.errors import SourceError

__all__ = ["BrokenFileError", "SlackArchive", "open_archive"]

MAX_FILE_BYTES = 64 * 1024 * 1024
PLAUSIBLE_BYTES = 1024 * 1024
MAX_RATIO = 200
"""Largest plausible compression ratio: messages reach ten, a bomb a thousand."""
DAY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
REMEDY = "Point `path` at the zip file that Slack made, or at the extracted folder."


class BrokenFileError(Exception):
    """One file of the export is unusable; the text says why."""


@dataclass(frozen=True, slots=True)
class SlackArchive:
    """The export's own files by name ("users.json"), and each folder's day files, oldest first."""

    name: str
    files: tuple[str, ...]
    days: dict[str, tuple[str, ...]]
    _read: Callable[[str], bytes]

    def json(self, name: str) -> Any:
        """Return a file's content. Raises BrokenFileError."""
        try:
            return json.loads(self._read(name))
        except BrokenFileError:
            raise
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise BrokenFileError(f"it can't be read ({error})") from error
        except (ValueError, RecursionError) as error:
            raise BrokenFileError(f"it is not valid JSON ({error})") from error

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a file that holds a list. Raises BrokenFileError."""
        data = self.json(name)
        if not isinstance(data, list):
            raise BrokenFileError("it holds no list")
        return [item for item in data if isinstance(item, dict)]


@contextmanager
def open_archive(path: Path) -> Iterator[SlackArchive]:
    """Open a zip file or folder. Raises SourceError when it is missing or no Slack export."""
    if path.is_dir():
        yield _archive(path, _names_below(path), lambda name: _read_below(path, name))
    elif path.is_file():
        try:
            archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise SourceError(f"{path} can't be read as a zip file: {error}.", remedy=REMEDY) from None
        with archive:
            yield _archive(path, archive.namelist(), lambda name: _read_member(archive, name))
    else:
        raise SourceError(f"There is no Slack export at {path}.", remedy=REMEDY)


def _names_below(folder: Path) -> list[str]:
    """Return the JSON files of a folder and its subfolders. Raises SourceError if the list would be incomplete."""
    found: list[str] = []
    try:
        for item in folder.iterdir():
            below = item.iterdir() if item.is_dir() else (item,)
            found.extend(path.relative_to(folder).as_posix() for path in below if path.suffix == ".json")
    except OSError as error:
        raise SourceError(f"{folder} can't be listed: {error}.", remedy="Make the whole folder readable.") from None
    return found


def _archive(path: Path, names: list[str], read: Callable[[str], bytes]) -> SlackArchive:
    """Find the export's root: some zip tools add a folder around it."""
    roots = sorted(
        (name.removesuffix("channels.json") for name in names if re.search(r"(^|/)channels\.json$", name)), key=len
    )
    if not roots:
        raise SourceError(f"{path} is not a Slack export: it has no channels.json.", remedy=REMEDY)
    root = roots[0]
    files: list[str] = []
    days: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        folder, _, file = name.removeprefix(root).rpartition("/") if name.startswith(root) else ("/", "", "")
        if not folder and file:
            files.append(file)
        elif DAY_FILE.fullmatch(file) and "/" not in folder:
            days.setdefault(folder, []).append(f"{folder}/{file}")
    ordered = {folder: tuple(names) for folder, names in days.items()}
    return SlackArchive(path.name, tuple(files), ordered, lambda name: read(root + name))


def _read_below(folder: Path, name: str) -> bytes:
    file = folder / name
    if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
        raise BrokenFileError("it is not a file of the export")
    with file.open("rb") as stream:
        return _limited(stream.read(MAX_FILE_BYTES + 1))


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    member = archive.getinfo(name)
    if PLAUSIBLE_BYTES < member.file_size <= MAX_FILE_BYTES and member.file_size > MAX_RATIO * member.compress_size:
        raise BrokenFileError(f"it expands to more than {MAX_RATIO} times its size, as messages never do")
    with archive.open(name) as stream:
        return _limited(stream.read(MAX_FILE_BYTES + 1))


def _limited(data: bytes) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise BrokenFileError(f"it is larger than {MAX_FILE_BYTES:,} bytes")
    return data
