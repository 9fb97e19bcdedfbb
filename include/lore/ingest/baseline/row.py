"""A row of a baseline's file: a document with its fingerprint and vectors, as Parquet has it and as we do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lore.ingest.finish.visibility import is_hidden
from lore.protocols import Splitter
from lore.types import Chunk, Document

if TYPE_CHECKING:
    import pyarrow as pa

    from lore.types import Matrix

__all__ = ["Row", "passages", "row_of", "schema", "update", "values_of"]

UNIT_LENGTH_TOLERANCE = 1e-2


@dataclass(frozen=True, slots=True)
class Row:
    """A document of the file. `fingerprint` is "" where it does not fit the document and its passages.

    `vectors` has a row for each passage, in the order in which the header's splitter cuts them; None where left out.
    """

    document: Document
    fingerprint: str
    vectors: Matrix | None = None


def passages(splitter: Splitter, document: Document, mark: str) -> Sequence[Chunk]:
    """The passages of a document that is kept at a mark, in the order of a row's vectors; a hidden one has none."""
    return () if is_hidden(mark) else splitter.split(document)


def schema() -> pa.Schema:
    """The columns of the file."""
    import pyarrow as pa

    text = ("id", "source_id", "url", "title", "text", "format", "metadata", "fingerprint")
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in text),
            pa.field("updated_at", pa.timestamp("us", tz="UTC")),
            pa.field("audiences", pa.list_(pa.string()), nullable=False),
            pa.field("vectors", pa.binary()),
        ]
    )


def values_of(row: Row) -> dict[str, Any]:
    """A row as the file has it; a moment without a zone is of UTC."""
    document = row.document
    moment = document.updated_at
    return {
        "id": document.id,
        "source_id": document.source_id,
        "url": document.url,
        "title": document.title,
        "text": document.text,
        "format": document.format,
        "metadata": json.dumps(dict(document.metadata), sort_keys=True),
        "fingerprint": row.fingerprint,
        "updated_at": moment and (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)),
        "audiences": list(document.audiences),
        "vectors": None if row.vectors is None else row.vectors.astype("<f4").tobytes(),
    }


def row_of(values: Mapping[str, Any], dimensions: int) -> Row:
    """The row that the file has; vectors have `dimensions` numbers.

    Raises ValueError, TypeError or AttributeError for what no export writes.
    """
    metadata = json.loads(values["metadata"])
    if not isinstance(metadata, dict):
        raise TypeError("its metadata is no JSON object")
    if not all(isinstance(audience, str) for audience in values["audiences"]):
        raise TypeError("an audience is no text")
    names = [field.name for field in fields(Document) if field.name in values]
    document = Document(
        **{name: values[name] for name in names} | {"metadata": metadata, "audiences": tuple(values["audiences"])}
    )
    return Row(document, values["fingerprint"], _to_vectors(values["vectors"], dimensions))


def _to_vectors(data: bytes | None, dimensions: int) -> Matrix | None:
    import numpy as np

    if data is None:
        return None
    vectors: Matrix = np.frombuffer(data, dtype="<f4").reshape(-1, dimensions).astype(np.float32, copy=False)
    lengths = np.linalg.norm(vectors, axis=1)
    if not bool((np.abs(lengths - 1) < UNIT_LENGTH_TOLERANCE).all()):  # False for what is not finite, too
        raise ValueError("a vector is not of unit length")
    return vectors


def update(digest: Any, values: Mapping[str, Any]) -> None:
    """Add a row to the digest: the length of each value before it, so that no two rows give the same bytes."""
    for name in sorted(values):
        value = values[name]
        if isinstance(value, datetime):
            value = value.isoformat()
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        digest.update(f"{name}:{type(value).__name__}:{len(data)}:".encode())
        digest.update(data)
