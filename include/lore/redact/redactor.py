"""Redaction: secrets, and by setting contacts, removed from documents before anything is written.

A sync redacts a document before it stages it: title, text, metadata, address and id. Text in bytes is decoded first,
and passed on as UTF-8 if something was removed. Bytes of PDF and office files are staged unchanged, because only
conversion reveals their text. Converted documents of every format are redacted again before they are split, embedded
and stored. A marker such as `[redacted: GitHub token]` replaces what was removed. The result is always the same for the
same document, and redacting it again changes nothing.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lore.convert.decoding import decode
from lore.convert.formats import BINARY_FORMATS
from lore.errors import ConversionError
from lore.redact.contacts import find_emails, find_phones
from lore.redact.rules import SecretSpan, find_secrets
from lore.types import Document, Failure

__all__ = ["REDACTION_VERSION", "Policy", "Redactor"]

REDACTION_VERSION = 1
"""Raise it whenever redaction changes: all documents are then made again."""

Policy = Literal["secrets", "secrets+contacts", "none"]


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes what the policy names: secrets; secrets, e-mail addresses and telephone numbers; or nothing."""

    policy: Policy = "secrets"

    @property
    def name(self) -> str:
        """Name of the redaction, "" for none; documents redacted under another name are made again."""
        return "" if self.policy == "none" else f"{self.policy}-{REDACTION_VERSION}"

    def text(self, text: str) -> str:
        """Return the text with a marker for everything removed; the same object if nothing was."""
        return _replaced(text, self._spans(text), "[redacted: {}]")

    def address(self, url: str) -> str:
        """Return a URL or id with plain "redacted" in those places, which keeps it one word."""
        return _replaced(url, self._spans(url), "redacted")

    def document(self, document: Document) -> Document:
        """Return the document redacted; bytes of binary formats are left for after their conversion."""
        if self.policy == "none":
            return document
        return replace(
            document,
            id=self.address(document.id),
            url=self.address(document.url),
            title=self.text(document.title),
            text=self.text(document.text),
            data=self._data(document),
            metadata=self._value(document.metadata),
        )

    def failure(self, failure: Failure) -> Failure:
        """Return the failure with id and reason redacted."""
        return Failure(self.address(failure.document_id), self.text(failure.reason))

    def _spans(self, text: str) -> list[SecretSpan]:
        if self.policy == "none" or not text:
            return []
        spans = find_secrets(text)
        if self.policy == "secrets":
            return spans
        spans += (SecretSpan(*place, "e-mail address") for place in find_emails(text))
        spans += (SecretSpan(*place, "phone number") for place in find_phones(text))
        return _disjoint(spans)

    def _data(self, document: Document) -> bytes | None:
        data = document.data
        if data is None or document.format in BINARY_FORMATS:
            return data
        try:
            text = decode(data)
        except ConversionError:  # it won't be indexed, but it is staged: its ASCII parts are readable
            return self.text(data.decode("latin-1")).encode("latin-1")
        redacted = self.text(text)
        return data if redacted == text else codecs.BOM_UTF8 + redacted.encode("utf-8", "surrogatepass")

    def _value(self, value: Any, name: str = "") -> Any:
        """Return JSON values with their texts redacted; a name such as "token" counts as it would in a text."""
        if isinstance(value, str):
            redacted = self.text(value)
            if redacted == value and name:
                lead = f"{name}: "
                redacted = self.text(lead + value).removeprefix(lead)
            return redacted
        if isinstance(value, Mapping):
            return {key: self._value(item, key if isinstance(key, str) else "") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item, name) for item in value]
        return value


def _replaced(text: str, spans: Sequence[SecretSpan], marker: str) -> str:
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += text[done : span.start], marker.format(span.kind)
        done = span.end
    return "".join((*parts, text[done:])) if spans else text


def _disjoint(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Return the spans in order, without those that overlap one before them."""
    kept: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept
