"""One document made ready to be stored: converted, redacted and split, or a failure that says why not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC

from lore.errors import ConfigurationError, ConversionError, LoreError, ModelError, StoreError
from lore.ingest.report import readable
from lore.protocols import Splitter
from lore.redact.redactor import Redactor
from lore.types import Chunk, Document, Failure

__all__ = ["Prepared", "Preparer"]

MODEL_FAILURES = 5
"""So many documents in a row for which the model that writes summaries failed mean that it is down."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A converted document and its passages."""

    document: Document
    chunks: Sequence[Chunk]


class Preparer:
    """Makes documents ready, one after another.

    Whatever goes wrong with one document is that document's failure alone. What concerns all of them is raised: no
    model for summaries (ConfigurationError), one that is down (ModelError), summaries that cannot be kept (StoreError).
    """

    def __init__(self, convert: Callable[[Document], Document], redactor: Redactor, splitter: Splitter) -> None:
        self._convert = convert
        self._redactor = redactor
        self._splitter = splitter
        self._failed_in_a_row = 0

    def prepare(self, document: Document) -> Prepared | Failure:
        """A document as its source has it, ready to be stored."""
        converted = self.convert(document)
        return converted if isinstance(converted, Failure) else self.split(converted)

    def convert(self, document: Document) -> Document | Failure:
        """A document as its source has it, converted and redacted."""
        try:
            converted = self._redactor.document(self._convert(document))
            _check_storable(converted)
        except ConversionError as error:
            return self._failure(document, str(error))
        except Exception as error:
            return self._failure(document, _unexpected(error))
        return converted

    def split(self, document: Document) -> Prepared | Failure:
        """A converted document with its passages."""
        try:
            chunks = self._splitter.split(document)
        except (ConfigurationError, StoreError):
            raise
        except ModelError as error:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= MODEL_FAILURES:
                raise
            return self._failure(document, f"It could not be summarized: {error}")
        except LoreError as error:
            return self._failure(document, str(error))
        except Exception as error:
            return self._failure(document, _unexpected(error))
        self._failed_in_a_row = 0
        return Prepared(document, chunks)

    def _failure(self, document: Document, reason: str) -> Failure:
        return Failure(readable(document.id), self._redactor.text(reason))


def _unexpected(error: Exception) -> str:
    return f"Unexpected {type(error).__name__}: {error}"[:500]


def _check_storable(document: Document) -> None:
    """Raise ConversionError for what no store can hold, so that the document fails alone and not its whole group."""
    try:
        document.id.encode()
        json.dumps(dict(document.metadata))
        if document.updated_at and document.updated_at.tzinfo:
            document.updated_at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        raise ConversionError(f"It cannot be stored: {error}.", remedy="Look at its id, metadata and date.") from None
