"""Stand-ins that keep the contracts: small, deterministic, without network or weights."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from lore.errors import LoreError
from lore.protocols import OnUsage
from lore.types import Batch, Cursor, Document, Message, Usage


class FakeEmbedder:
    """Words hashed into a vector: texts that share words are near. Counts what it embeds."""

    def __init__(self, dimensions: int = 64, name: str = "fake:words") -> None:
        self.name = name
        self.dimensions = dimensions
        self.max_tokens = 256
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded.extend(texts)
        return self._embed(texts)

    def embed_query(self, text: str) -> np.ndarray:
        return self._embed([text])[0]

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
                row[int.from_bytes(digest, "big") % self.dimensions] += 1.0
            row[0] += 1e-3
            row /= np.linalg.norm(row)
        return rows


@dataclass
class FakeSource:
    """A source made of batches; `listing` None makes it list the ids of its batches."""

    batches: list[Batch | LoreError]
    id: str = "fake"
    listing: list[str] | None = None
    reads: list[Cursor | None] = field(default_factory=list)

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        self.reads.append(since)
        for batch in self.batches:
            if isinstance(batch, LoreError):
                raise batch
            yield batch

    def list_ids(self) -> Iterator[str]:
        if self.listing is not None:
            yield from self.listing
            return
        for batch in self.batches:
            if isinstance(batch, Batch):
                yield from (document.id for document in batch.documents)


class FakeChatModel:
    """Answers from a script: a pydantic model or error for `structured`, a text or error for `stream`."""

    name = "fake:chat"

    def __init__(self, structured: Sequence[object] = (), streamed: Sequence[object] = ()) -> None:
        self._structured = list(structured)
        self._streamed = list(streamed)
        self.calls: list[list[Message]] = []

    def structured(self, messages: Sequence[Message], schema: type, *, on_usage: OnUsage | None = None) -> object:
        self.calls.append(list(messages))
        if on_usage is not None:
            on_usage(Usage(self.name, input_tokens=100, output_tokens=10))
        reply = self._structured.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, schema) else schema.model_validate(reply)

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        self.calls.append(list(messages))
        reply = self._streamed.pop(0)
        if isinstance(reply, Exception):
            raise reply
        yield from re.findall(r"\S+\s*", str(reply))
        if on_usage is not None:
            on_usage(Usage(self.name, input_tokens=1_000, output_tokens=50))


def make_document(
    name: str = "a", text: str = "# Title\n\nSome text.", source_id: str = "fake", **changes: object
) -> Document:
    values: dict[str, object] = {
        "id": f"{source_id}:{name}",
        "source_id": source_id,
        "url": f"https://docs.example.com/{name}",
        "title": f"Page {name}",
        "text": text,
    }
    return Document(**(values | changes))  # type: ignore[arg-type]
