"""The tree of errors: each has a message, a remedy, and a flag that says if a retry can help.

LoreError
├── ConfigurationError          a setting, key or option that a person must change (exit code 2)
│   ├── DeclarationError        a file in dags/sources/
│   ├── MissingPackageError     an optional package that is not installed
│   └── IndexMismatchError      a stored index built by another model or other code
├── SourceError                 a source that couldn't be read
│   └── RemovalFloorError       a sync that would remove more of a source than its declaration allows
├── ConversionError             one document that can't be converted to Markdown (it fails alone)
├── SyncError                   a failed sync
├── GateError                   a version of the index that may not be promoted
├── StoreError                  a store that refused, is locked, or returned other data than was written
├── DatabaseError               a database that couldn't be reached, read or asked
│   └── StatementRefusedError   a statement that breaks the rules; it never reached the database
├── RecordsError                records of answers that couldn't be opened, read or written
└── ModelError                  an embedder, reranker or language model that failed
    └── ContextTooLongError     a request longer than the model's context; a shorter one may succeed
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec

__all__ = [
    "ConfigurationError",
    "ContextTooLongError",
    "ConversionError",
    "DatabaseError",
    "DeclarationError",
    "GateError",
    "IndexMismatchError",
    "LoreError",
    "MissingPackageError",
    "ModelError",
    "RecordsError",
    "RemovalFloorError",
    "SourceError",
    "StatementRefusedError",
    "StoreError",
    "SyncError",
    "require",
]

DISTRIBUTION = "lore-assistant"


class LoreError(Exception):
    """Root of all errors: `message` (the fault and its place), `remedy` (the cure), `retryable` (a retry may help)."""

    def __init__(self, message: str, *, remedy: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.retryable = retryable

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ConfigurationError(LoreError):
    """A wrong setting, key or option; nothing was attempted."""


class DeclarationError(ConfigurationError):
    """A mistake in a declaration; the message names file, line and key."""


class MissingPackageError(ConfigurationError):
    """A missing optional package; `package` is the name to give pip."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which isn't installed.", remedy=f"Run: pip install {shlex.quote(package)}"
        )


def require(module: str, extra: str, purpose: str) -> None:
    """Raise MissingPackageError if `module`, which an extra of Lore installs, is missing; import nothing.

    Call it where the work begins, so that the error comes at once.
    """
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:  # the package that holds the module
        found = False
    if not found:
        raise MissingPackageError(f"{DISTRIBUTION}[{extra}]", purpose)


class IndexMismatchError(ConfigurationError):
    """A stored index that doesn't match the settings; vectors of two models are never mixed."""


class SourceError(LoreError):
    """A source that is unreachable, refuses access, or isn't as declared."""


class RemovalFloorError(SourceError):
    """A source that lost implausibly many documents at once; nothing was removed."""


class ConversionError(LoreError):
    """A document that can't be converted to Markdown, with the reason."""


class SyncError(LoreError):
    """A failed sync; the message has its report."""


class GateError(LoreError):
    """A version of the index that may not become live; nothing was changed."""


class StoreError(LoreError):
    """A store that couldn't carry out a request."""


class StagedFileError(StoreError):
    """A file of the staging area that is `missing`, incomplete or invalid."""

    def __init__(self, message: str, *, remedy: str = "", missing: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.missing = missing


class ModelError(LoreError):
    """A model that is unreachable, refused the request, or returned an unusable reply."""


class ContextTooLongError(ModelError):
    """A request longer than the model's context. A shorter one may succeed."""


class RecordsError(LoreError):
    """Records of answers that couldn't be opened, read or written; answering goes on."""


class DatabaseError(LoreError):
    """A database that couldn't be reached, read or asked; the message never has its address."""


class StatementRefusedError(DatabaseError):
    """A statement that breaks the rules of its database; it was not run."""
