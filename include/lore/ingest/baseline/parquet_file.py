"""The file of a baseline: Parquet with a row for each document, and a header that describes its contents.

Row groups have a bounded size, so that writing and reading take the memory of one group, however large the file is. The
header is JSON in the file's key-value metadata, under the key `lore`. It is written last, so that an incomplete file
has none. Its `digest` covers the values of all rows and of the header: it proves a file complete and intact, not who
made it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from lore.errors import ConfigurationError, StoreError
from lore.ingest.baseline.row import BaselineRow, row_of, schema, update_digest, values_of
from lore.types import Failure, SourceState

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

__all__ = ["FORMAT", "BaselineFile", "BaselineHeader", "BaselineWriter", "atomic_file"]

FORMAT = 2
"""Raise it whenever a reader of the number before would misread the file."""
HEADER = b"lore"
GROUP_BYTES = 4_000_000
GROUP_ROWS = 256
LARGEST_GROUP = 64_000_000
"""Largest group of several rows: Lore writes none that is larger, and reading one takes too much memory."""
SOURCE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Ids become names of lock files; declarations are stricter."""


@dataclass(frozen=True, slots=True)
class BaselineHeader:
    """Description of the file. `converter` made the documents and the fingerprints.

    `unsettled` has the ids, by source, of the documents whose fingerprint must not be trusted.
    """

    format: int
    lore_version: str
    created_at: str
    converter: str
    splitter: str
    embedder: str
    dimensions: int
    documents: int
    sources: Mapping[str, int]
    states: Mapping[str, SourceState]
    unsettled: Mapping[str, Sequence[str]]
    digest: str = ""

    def to_json(self) -> str:
        """Return the header as JSON text."""
        return json.dumps(asdict(self), default=str)

    def sealed(self, rows: str) -> BaselineHeader:
        """Return the header with its digest; `rows` is the digest of the rows."""
        return replace(self, digest=sha256(f"{rows} {replace(self, digest='').to_json()}".encode()).hexdigest())

    @staticmethod
    def from_json(text: str | bytes) -> BaselineHeader:
        """Parse what `to_json` wrote. Raises ValueError, TypeError, KeyError or AttributeError for anything else."""
        values = json.loads(text)
        states = {source_id: _to_state(value) for source_id, value in values["states"].items()}
        header = BaselineHeader(**values | {"states": states})
        if any(type(getattr(header, item.name)) is not type(getattr(_EXAMPLE, item.name)) for item in fields(header)):
            raise TypeError("invalid type of a value")
        return header


class BaselineWriter:
    """Writes rows in groups; `finish` adds the header, without which the file is invalid."""

    def __init__(self, file: IO[bytes]) -> None:
        from pyarrow import parquet

        self._digest = sha256()
        self._waiting: list[dict[str, Any]] = []
        self._bytes = 0
        self._writer = parquet.ParquetWriter(
            file, schema(), compression="zstd", use_dictionary=False, write_statistics=False
        )

    def add(self, row: BaselineRow) -> None:
        """Add a row; it is written together with others, at the latest by `finish`."""
        values = values_of(row)
        size = sum(len(value) for value in values.values() if isinstance(value, str | bytes))
        if self._waiting and self._bytes + size > GROUP_BYTES:
            self._flush()
        update_digest(self._digest, values)
        self._waiting.append(values)
        self._bytes += size
        if len(self._waiting) >= GROUP_ROWS:
            self._flush()

    def __enter__(self) -> BaselineWriter:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False  # else the garbage collector writes the file again

    def finish(self, header: BaselineHeader) -> None:
        """Write the waiting rows, and the header with its digest."""
        self._flush()
        self._writer.add_key_value_metadata({HEADER: header.sealed(self._digest.hexdigest()).to_json()})

    def _flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=schema()))
            self._waiting, self._bytes = [], 0


class BaselineFile:
    """Reads a baseline: `check` goes through the whole file, and `rows` yields its rows again."""

    def __init__(self, path: Path, parquet: ParquetFile) -> None:
        self._path = path
        self._parquet = parquet
        self.header = self._header()

    @staticmethod
    @contextmanager
    def open(path: Path) -> Iterator[BaselineFile]:
        """Open the file at a path, and keep it open, so that the checked file is the one that is read.

        Raises ConfigurationError if the file is missing, incomplete, not a baseline, or of another format.
        """
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            file = path.open("rb")
        except OSError as error:
            raise ConfigurationError(
                f"Couldn't read {path}: {error.strerror or error}.", remedy="Check the path."
            ) from None
        with file:
            try:
                parquet = ParquetFile(file, memory_map=False, pre_buffer=False)
            except (ArrowException, OSError, ValueError) as error:
                raise ConfigurationError(
                    f"{path} is not a Parquet file, or is incomplete: {_first_line(error)}.",
                    remedy="Copy it again, or export it again with `lore export`.",
                ) from None
            yield BaselineFile(path, parquet)

    def check(self) -> None:
        """Read all rows. Raises ConfigurationError if they don't match the header."""
        seen: set[str] = set()
        sources: dict[str, int] = {}
        digest = sha256()
        for values in self._read():
            update_digest(digest, values)
            row = self._row(values)
            document = row.document
            if document.id in seen or not document.id.startswith(f"{document.source_id}:"):
                raise self._damaged(f"document {document.id!r} is a duplicate, or belongs to another source")
            if not SOURCE_ID.fullmatch(document.source_id):
                raise self._damaged(f"{document.source_id!r} is an invalid source id")
            seen.add(document.id)
            sources[document.source_id] = sources.get(document.source_id, 0) + 1
        if len(seen) != self.header.documents or sources != dict(self.header.sources):
            raise self._damaged(f"it has {len(seen)} documents instead of {self.header.documents}")
        if self.header.sealed(digest.hexdigest()) != self.header:
            raise self._damaged("its digest doesn't match")

    def rows(self) -> Iterator[BaselineRow]:
        """Yield the rows, group by group."""
        return map(self._row, self._read())

    def _read(self) -> Iterator[dict[str, Any]]:
        from pyarrow import ArrowException

        for number in range(self._parquet.num_row_groups):
            group = self._parquet.metadata.row_group(number)
            if group.num_rows > 1 and group.total_byte_size > LARGEST_GROUP:
                raise self._damaged(f"row group {number} has {group.total_byte_size:,} bytes")
            try:
                values = self._parquet.read_row_group(number, use_threads=False).to_pylist()
            except (ArrowException, OSError, ValueError) as error:
                raise self._damaged(_first_line(error)) from None
            yield from values

    def _row(self, values: dict[str, Any]) -> BaselineRow:
        try:
            return row_of(values, self.header.dimensions)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._damaged(f"document {values['id']!r}: {_first_line(error)}") from None

    def _header(self) -> BaselineHeader:
        text = (self._parquet.metadata.metadata or {}).get(HEADER)
        if text is None:
            raise ConfigurationError(
                f"{self._path} is a Parquet file, but not a Lore baseline.", remedy="Make one with `lore export`."
            )
        try:
            number = json.loads(text)["format"]
            if isinstance(number, int) and number != FORMAT:
                raise ConfigurationError(
                    f"{self._path} has format {number}; this version of Lore reads format {FORMAT}.",
                    remedy=f"{'Update Lore, or export' if number > FORMAT else 'Export'} the file with this version.",
                )
            header = BaselineHeader.from_json(text)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise self._damaged("its header is invalid") from None
        if not self._parquet.schema_arrow.equals(schema()):
            raise self._damaged("its columns are invalid")
        return header

    def _damaged(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._path} is damaged: {reason}.", remedy="Copy it again, or export it again with `lore export`."
        )


@contextmanager
def atomic_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` only if everything succeeds.

    Raises ConfigurationError if there is one already and `force` is False, or if the folder isn't writable, and
    StoreError if the disk is full.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex[:12]}.part")  # two exports at once write into two files
    _refuse_existing(path, force)
    try:
        file = part.open("wb")
    except OSError as error:
        raise ConfigurationError(
            f"Couldn't write {path}: {error.strerror or error}.", remedy="Name a file in a writable folder."
        ) from None
    try:
        with file:
            yield file
            _sync_to_disk(file)
        _refuse_existing(path, force)
        part.replace(path)
    except OSError as error:
        raise StoreError(
            f"Couldn't write {path}: {error.strerror or error}.", remedy="Free space there, then export again."
        ) from None
    finally:
        part.unlink(missing_ok=True)


def _refuse_existing(path: Path, force: bool) -> None:
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder.", remedy="Name a file, such as baseline.parquet.")
    if path.exists() and not force:
        raise ConfigurationError(f"{path} already exists.", remedy="Name another file, or give --force.")


def _sync_to_disk(file: IO[bytes]) -> None:
    import os

    file.flush()
    os.fsync(file.fileno())


def _to_state(value: Mapping[str, Any]) -> SourceState:
    synced_at = value["synced_at"] and datetime.fromisoformat(value["synced_at"])
    failures = tuple(Failure(**failure) for failure in value["failures"])
    return SourceState(**{**value, "synced_at": synced_at, "failures": failures})


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:300]


_EXAMPLE = BaselineHeader(FORMAT, "", "", "", "", "", 0, 0, {}, {}, {})
