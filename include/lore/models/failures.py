"""Errors of the vendors' SDKs as one ModelError: the cause, a remedy, and whether to try again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lore.errors import ContextTooLongError, ModelError

__all__ = ["model_error", "refuses_options", "retry_after"]

LONGEST_REASON = 300
TRANSIENT = {408, 409, 425, 429}
STATUS_OF_KIND = {
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "throttlingexception": 429,
    "validationexception": 400,
    "modeltimeoutexception": 408,
    "modelstreamerrorexception": 500,
    "internalserverexception": 500,
    "serviceunavailableexception": 503,
}
"""The status for an error in the middle of a stream, whose own status was 200."""
TOO_LONG_STATUSES = {None, 400, 413, 422, 500}
TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size|limit)|maximum (?:input|prompt) length|(?:prompt|input) is too long"
    r"|too many tokens|request[_ ](?:is )?too[_ ]large",
    re.IGNORECASE,
)
"""The codes and words of vendors and compatible servers for a prompt that does not fit."""
SPENT_STATUSES = {400, 402, 403, 429}
SPENT = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?)|exceeded your current quota|billing_hard_limit"
    r"|credit balance is too low|limited to [\d,]+ API calls / month",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content[_ ](?:filter|policy|management policy)|responsible ?ai|invalid_prompt", re.IGNORECASE)
OPTION_STATUSES = {400, 415, 422, 501}
TRANSPORT_WORDS = ("Timeout", "Connect", "Transport", "Protocol")


def model_error(
    error: Exception, *, model: str, setting: str, secret: str | None = None, key: str | None = None
) -> ModelError:
    """The ModelError for anything that a call to `model` raised; ContextTooLongError if a shorter prompt may succeed.

    `setting` is the prefix of its settings, such as "LORE_OPENAI", and `key` the setting of its key if that is not
    `setting` with _API_KEY. The message quotes at most 300 characters of the server's, nothing about the key, and never
    `secret`. Raise it `from None`: the original may hold the request's headers or the key.
    """
    if isinstance(error, ModelError):
        return error
    key = key or f"{setting}_API_KEY"
    status, reason = status_of(error), _reason(error, secret)
    if any(isinstance(cause, UnicodeError) or "LocalProtocol" in type(cause).__name__ for cause in _causes(error)):
        # The original error quotes the header.
        return ModelError(
            f"{model} could not be called: the key has characters that no key can have.",
            remedy=f"Check {key} for line breaks and accented letters.",
        )
    if refusal := _by_words(error, status, model, reason):
        return refusal
    if status is not None:
        return _by_status(status, model, setting, key, reason)
    if _is_transport(error):
        remedy = f"Check the network and {setting}_BASE_URL, or raise LORE_TIMEOUT_SECONDS."
        first = list(_causes(error))[-1]  # the SDK itself only says "Connection error."
        reason = _reason(first, secret) or reason
        return ModelError(
            f"{model} could not be reached ({type(first).__name__}{reason}).", remedy=remedy, retryable=True
        )
    if isinstance(error, AttributeError | TypeError | KeyError | IndexError):
        reason = ": not a reply of this API"  # the SDK stumbled over it; its message tells nothing
    return ModelError(
        f"{model} gave an unreadable reply ({type(error).__name__}{reason}).",
        remedy=f"Check that {setting}_BASE_URL, if set, is the address of such an API.",
        retryable=True,
    )


def refuses_options(error: Exception) -> bool:
    """True if a server may have rejected a request because of an unknown option, not because of its content."""
    status = status_of(error)
    return status in OPTION_STATUSES and _by_words(error, status, "", "") is None


def status_of(error: BaseException) -> int | None:
    """The HTTP status of an SDK's error, or the one for the kind of error that its body names."""
    response = getattr(error, "response", None)
    aws = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, Mapping) else None
    for value in (getattr(error, "status_code", None), getattr(error, "code", None), aws):
        if isinstance(value, int) and 400 <= value < 600:
            return value
    body = _body(error)
    known = (STATUS_OF_KIND.get(str(body.get(name)).lower()) for name in ("code", "type"))
    return next((status for status in known if status), None)


def retry_after(error: BaseException) -> float | None:
    """The pause in seconds that the server asks for in milliseconds, in seconds or by a date; None without one."""
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or getattr(error, "headers", None)
    if isinstance(response, Mapping):
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders")
    given = {str(name).lower(): str(value) for name, value in dict(headers or {}).items()}
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        seconds = _number(given.get(name, ""))
        if seconds is not None:
            return max(0.0, seconds / unit)
    try:
        until = parsedate_to_datetime(given.get("retry-after", ""))
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _by_words(error: BaseException, status: int | None, model: str, reason: str) -> ModelError | None:
    """The error that the body's words reveal, but its status does not."""
    body = _body(error)
    words = " ".join(str(body.get(name, "")) for name in ("code", "type", "message"))
    detail = f"HTTP {status}{reason}" if status else reason.removeprefix(": ")
    # A single request may exceed OpenAI's tokens per minute: waiting does not help, a shorter prompt does.
    over_rate = status == 429 and "tokens must be reduced" in words
    if over_rate or status == 413 or (status in TOO_LONG_STATUSES and TOO_LONG.search(words)):
        message = f"{model} rejected a prompt that is too long ({detail})."
        return ContextTooLongError(message, remedy="Shorten it, or choose a model with a longer context.")
    if status in SPENT_STATUSES and SPENT.search(words):
        remedy = "Check the account's plan and billing."
        return ModelError(f"{model} rejected the request: your quota is used up ({detail}).", remedy=remedy)
    if status == 400 and FILTERED.search(words):
        return ModelError(f"{model} refused to answer ({detail}).")
    if status is None and words.strip() and not _is_transport(error):
        return ModelError(f"{model} failed ({detail}).", remedy="Try again later.", retryable=True)
    return None


def _by_status(status: int, model: str, setting: str, key: str, reason: str) -> ModelError:
    if status in (401, 403):
        return ModelError(f"{model} rejected the key (HTTP {status}).", remedy=f"Check {key}.")
    if status == 404:
        remedy = f"Check the model's name and {setting}_BASE_URL."
        return ModelError(f"{model} was not found (HTTP 404{reason}).", remedy=remedy)
    if status == 429:
        message = f"{model} is over its rate limit (HTTP 429{reason})."
        return ModelError(message, remedy="Try again later.", retryable=True)
    transient = status in TRANSIENT or status >= 500
    verb = "failed" if transient else "rejected the request"
    remedy = "Try again later." if transient else ""
    return ModelError(f"{model} {verb} (HTTP {status}{reason}).", remedy=remedy, retryable=transient)


def _reason(error: BaseException, secret: str | None) -> str:
    message = _body(error).get("message")
    text = message if isinstance(message, str) else "" if status_of(error) else str(error)
    text = " ".join(text.split())
    if secret:
        text = text.replace(secret, "[key]")
    return f": {text[:LONGEST_REASON]}" if text else ""


def _body(error: BaseException) -> Mapping[str, Any]:
    """The code, type and message of the response, wherever the SDK puts them."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
        body = body["error"]  # plain text from loosely compatible servers
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # AWS
        details = response.get("Error") or {}
        body = {"code": details.get("Code"), "message": details.get("Message")}
    elif body is None:
        body = getattr(error, "error", None)  # Ollama
    if isinstance(body, str):
        return {"message": body}
    return body if isinstance(body, Mapping) else {}


def _is_transport(error: BaseException) -> bool:
    """True if the connection failed. The SDKs share no base class for that, but similar names."""
    return any(
        word in kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__ for word in TRANSPORT_WORDS
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__  # the HTTP clients hide the socket's own error, which tells most
