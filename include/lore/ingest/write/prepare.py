"""Documents prepared to be stored: converted, redacted and split, or a failure with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC

from lore.errors import ConfigurationError, ConversionError, LoreError, ModelError, StoreError
from lore.ingest.report import escape_surrogates
from lore.protocols import Splitter
from lore.redact.redactor import Redactor
from lore.types import Chunk, Document, Failure

__all__ = ["DocumentPreparer", "PreparedDocument"]

MODEL_FAILURES = 5
"""Documents in a row whose summaries failed; the model then counts as down."""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A converted document and its passages."""

    document: Document
    chunks: Sequence[Chunk]


class DocumentPreparer:
    """Prepares documents, one after another.

    An error of one document is that document's failure alone. Errors that concern all of them are raised: no model for
    summaries (ConfigurationError), a model that is down (ModelError), and a failing cache of summaries (StoreError).
    """

    def __init__(self, convert: Callable[[Document], Document], redactor: Redactor, splitter: Splitter) -> None:
        self._convert = convert
        self._redactor = redactor
        self._splitter = splitter
        self._failed_in_a_row = 0

    def prepare(self, document: Document) -> PreparedDocument | Failure:
        """Convert, redact and split a document as its source has it."""
        converted = self.convert(document)
        return converted if isinstance(converted, Failure) else self.split(converted)

    def convert(self, document: Document) -> Document | Failure:
        """Convert and redact a document as its source has it."""
        try:
            converted = self._redactor.document(self._convert(document))
            _check_storable(converted)
        except ConversionError as error:
            return self._failure(document, str(error))
        except Exception as error:
            return self._failure(document, _unexpected(error))
        return converted

    def split(self, document: Document) -> PreparedDocument | Failure:
        """Split a converted document into passages."""
        try:
            chunks = self._splitter.split(document)
        except (ConfigurationError, StoreError):
            raise
        except ModelError as error:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= MODEL_FAILURES:
                raise
            return self._failure(document, f"Couldn't summarize it: {error}")
        except LoreError as error:
            return self._failure(document, str(error))
        except Exception as error:
            return self._failure(document, _unexpected(error))
        self._failed_in_a_row = 0
        return PreparedDocument(document, chunks)

    def _failure(self, document: Document, reason: str) -> Failure:
        return Failure(escape_surrogates(document.id), self._redactor.text(reason))


def _unexpected(error: Exception) -> str:
    return f"Unexpected {type(error).__name__}: {error}"[:500]


def _check_storable(document: Document) -> None:
    """Raise ConversionError for values that no store can hold, so that the document fails alone and not its group."""
    try:
        document.id.encode()
        json.dumps(dict(document.metadata))
        if document.updated_at and document.updated_at.tzinfo:
            document.updated_at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        raise ConversionError(f"Can't store it: {error}.", remedy="Check its id, metadata and date.") from None
