"""One tree of errors; every one says what was wrong, what to do, and whether trying again can help.

LoreError
├── ConfigurationError          settings, keys, options: a person must change something (exit code 2)
│   ├── DeclarationError        a file in dags/sources/
│   ├── MissingPackageError     an optional package is not installed
│   └── IndexMismatchError      the stored index was built by another model or by other code
├── SourceError                 a source could not be read
│   └── RemovalFloorError       a sync would remove more of a source than its declaration allows
├── ConversionError             one document cannot be turned into Markdown (it fails alone)
├── SyncError                   a sync ended in failure
├── GateError                   a version of the index may not be promoted: it is not known to be as good
├── StoreError                  the store refused, is locked, or holds something else than was written
├── RecordsError                the records of what was asked could not be opened, read or written
└── ModelError                  an embedder, reranker or language model failed
    └── ContextTooLongError     what it was sent is longer than it reads; with less of it the call may succeed
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec

__all__ = [
    "ConfigurationError",
    "ContextTooLongError",
    "ConversionError",
    "DeclarationError",
    "GateError",
    "IndexMismatchError",
    "LoreError",
    "MissingPackageError",
    "ModelError",
    "RecordsError",
    "RemovalFloorError",
    "SourceError",
    "StoreError",
    "SyncError",
    "require",
]

DISTRIBUTION = "lore-assistant"


class LoreError(Exception):
    """The root: `message` says what was wrong and where, `remedy` what to do, `retryable` whether to try again."""

    def __init__(self, message: str, *, remedy: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.retryable = retryable

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ConfigurationError(LoreError):
    """A setting, key or option is wrong; nothing was attempted."""


class DeclarationError(ConfigurationError):
    """A declaration file is wrong; the message names file, line and key."""


class MissingPackageError(ConfigurationError):
    """An optional package is missing; `package` is what pip has to install."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which isn't installed.", remedy=f"Run: pip install {shlex.quote(package)}"
        )


def require(module: str, extra: str, purpose: str) -> None:
    """Raise MissingPackageError where `module`, which an extra of Lore installs, is missing. Nothing heavy is imported.

    Call it where the work begins, so that nobody waits for an error that was certain.
    """
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:  # the package that holds the module
        found = False
    if not found:
        raise MissingPackageError(f"{DISTRIBUTION}[{extra}]", purpose)


class IndexMismatchError(ConfigurationError):
    """The stored index does not fit the settings; vectors of two models are never mixed."""


class SourceError(LoreError):
    """A source could not be read: unreachable, refused, or not what was declared."""


class RemovalFloorError(SourceError):
    """The source lost more documents at once than is plausible; nothing was removed."""


class ConversionError(LoreError):
    """A document cannot be turned into Markdown; the reason names what was found."""


class SyncError(LoreError):
    """A sync ended in failure; its report is in the message."""


class GateError(LoreError):
    """A version of the index may not become the live one; nothing was changed."""


class StoreError(LoreError):
    """The store could not do what was asked."""


class ModelError(LoreError):
    """A model could not be reached, refused the request, or returned something unusable."""


class ContextTooLongError(ModelError):
    """What a model was sent is longer than it reads. The same again fails again; a shorter context may succeed."""


class RecordsError(LoreError):
    """The records of what was asked and answered could not be opened, read or written; answering goes on."""
