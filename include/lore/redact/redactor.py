"""Taking secrets, and by setting people's addresses, out of documents before anything is written down.

A sync redacts what a source gave before it stages it: title, text, metadata, address and id. Text that comes as bytes
is decoded for it, and given on as UTF-8 if something was taken out. Bytes of PDF and office files are staged as they
are, because their text is only known after conversion; what conversion gives, of every format, is redacted again before
it is split, embedded and stored. What was taken out leaves a marker that names its kind, `[redacted: GitHub token]`.
The same document always gives the same result, and one that is redacted already stays as it is.
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
from lore.redact.rules import Span, find_secrets
from lore.types import Document, Failure

__all__ = ["REDACTION_VERSION", "Policy", "Redactor"]

REDACTION_VERSION = 1
"""Another number makes all documents anew: raise it whenever what is taken out changes."""

Policy = Literal["secrets", "secrets+contacts", "none"]


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes out what the policy says: secrets; secrets, e-mail addresses and telephone numbers; or nothing."""

    policy: Policy = "secrets"

    @property
    def name(self) -> str:
        """Names what is taken out, "" for nothing; documents that another one went over are made anew."""
        return "" if self.policy == "none" else f"{self.policy}-{REDACTION_VERSION}"

    def text(self, text: str) -> str:
        """The text with a marker in the place of each thing taken out; the same object where there is none."""
        return _replaced(text, self._spans(text), "[redacted: {}]")

    def address(self, url: str) -> str:
        """A URL or an id with plain "redacted" in those places, which keeps it one word."""
        return _replaced(url, self._spans(url), "redacted")

    def document(self, document: Document) -> Document:
        """The document, redacted; the bytes of binary formats stay as they are until they are converted."""
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
        """The failure, with what it says redacted."""
        return Failure(self.address(failure.document_id), self.text(failure.reason))

    def _spans(self, text: str) -> list[Span]:
        if self.policy == "none" or not text:
            return []
        spans = find_secrets(text)
        if self.policy == "secrets":
            return spans
        spans += (Span(*place, "e-mail address") for place in find_emails(text))
        spans += (Span(*place, "phone number") for place in find_phones(text))
        return _apart(spans)

    def _data(self, document: Document) -> bytes | None:
        data = document.data
        if data is None or document.format in BINARY_FORMATS:
            return data
        try:
            text = decode(data)
        except ConversionError:  # it will not be indexed, but it is staged: what is ASCII in it can be read
            return self.text(data.decode("latin-1")).encode("latin-1")
        redacted = self.text(text)
        return data if redacted == text else codecs.BOM_UTF8 + redacted.encode("utf-8", "surrogatepass")

    def _value(self, value: Any, name: str = "") -> Any:
        """JSON values with their texts redacted; a name such as "token" tells of its value what it would in a text."""
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


def _replaced(text: str, spans: Sequence[Span], marker: str) -> str:
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += text[done : span.start], marker.format(span.kind)
        done = span.end
    return "".join((*parts, text[done:])) if spans else text


def _apart(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, without those that lie in part in one before them."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept
