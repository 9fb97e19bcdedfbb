"""A row of a baseline: a document with its fingerprint and vectors, and its columns in Parquet."""

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

__all__ = ["BaselineRow", "passages", "row_of", "schema", "update_digest", "values_of"]

UNIT_LENGTH_TOLERANCE = 1e-2


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A document of the file. `fingerprint` is "" if it doesn't match the document and its passages.

    `vectors` has a row for each passage of the header's splitter, in order; None if left out.
    """

    document: Document
    fingerprint: str
    vectors: Matrix | None = None


def passages(splitter: Splitter, document: Document, fingerprint: str) -> Sequence[Chunk]:
    """Return the passages of a document, in the order of a row's vectors; a hidden document has none."""
    return () if is_hidden(fingerprint) else splitter.split(document)


def schema() -> pa.Schema:
    """Return the columns of the file."""
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


def values_of(row: BaselineRow) -> dict[str, Any]:
    """Return the columns of a row; a time without a zone is in UTC."""
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


def row_of(values: Mapping[str, Any], dimensions: int) -> BaselineRow:
    """Return the row with these columns; vectors have `dimensions` numbers.

    Raises ValueError, TypeError or AttributeError for values that no export writes.
    """
    metadata = json.loads(values["metadata"])
    if not isinstance(metadata, dict):
        raise TypeError("its metadata should be a JSON object")
    if not all(isinstance(audience, str) for audience in values["audiences"]):
        raise TypeError("an audience should be text")
    names = [field.name for field in fields(Document) if field.name in values]
    document = Document(
        **{name: values[name] for name in names} | {"metadata": metadata, "audiences": tuple(values["audiences"])}
    )
    return BaselineRow(document, values["fingerprint"], _to_vectors(values["vectors"], dimensions))


def _to_vectors(data: bytes | None, dimensions: int) -> Matrix | None:
    import numpy as np

    if data is None:
        return None
    vectors: Matrix = np.frombuffer(data, dtype="<f4").reshape(-1, dimensions).astype(np.float32, copy=False)
    lengths = np.linalg.norm(vectors, axis=1)
    if not bool((np.abs(lengths - 1) < UNIT_LENGTH_TOLERANCE).all()):  # False for values that aren't finite, too
        raise ValueError("a vector should have unit length")
    return vectors


def update_digest(digest: Any, values: Mapping[str, Any]) -> None:
    """Add a row to the digest, each value with its length, so that no two rows give the same bytes."""
    for name in sorted(values):
        value = values[name]
        if isinstance(value, datetime):
            value = value.isoformat()
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        digest.update(f"{name}:{type(value).__name__}:{len(data)}:".encode())
        digest.update(data)
