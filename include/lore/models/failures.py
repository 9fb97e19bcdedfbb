"""What a vendor's SDK raises, told as one ModelError: what failed, what to do, whether to try again."""

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
PASSING = {408, 409, 425, 429}
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
"""The status that goes with an error in the middle of a stream, whose own status was 200."""
TOO_LONG_STATUSES = {None, 400, 413, 422, 500}
TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size|limit)|maximum (?:input|prompt) length|(?:prompt|input) is too long"
    r"|too many tokens|request[_ ](?:is )?too[_ ]large",
    re.IGNORECASE,
)
"""How the vendors, and servers that speak their APIs, say that a prompt does not fit, in their code or their words."""
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
    """A ModelError for anything that a call to `model` raised; ContextTooLongError where less might succeed.

    `setting` is the prefix of its settings, such as "LORE_OPENAI", and `key` names what holds its key where that is
    something else than `setting` with _API_KEY. The server's own words are repeated (at most 300 characters) except
    where they are about the key, and never with `secret` in them. Raise it `from None`: the original may hold the
    request's headers or the key.
    """
    if isinstance(error, ModelError):
        return error
    key = key or f"{setting}_API_KEY"
    status, reason = status_of(error), _reason(error, secret)
    if any(isinstance(cause, UnicodeError) or "LocalProtocol" in type(cause).__name__ for cause in _causes(error)):
        # What was raised quotes the header that could not be sent.
        return ModelError(
            f"{model} could not be asked: the key holds characters that no key has.",
            remedy=f"Check {key} for line breaks and letters with accents.",
        )
    if refusal := _said_no(error, status, model, reason):
        return refusal
    if status is not None:
        return _by_status(status, model, setting, key, reason)
    if _is_transport(error):
        remedy = f"Check the network and {setting}_BASE_URL, or raise LORE_TIMEOUT_SECONDS."
        first = list(_causes(error))[-1]  # the SDK's own words are "Connection error."
        reason = _reason(first, secret) or reason
        return ModelError(
            f"{model} could not be reached ({type(first).__name__}{reason}).", remedy=remedy, retryable=True
        )
    if isinstance(error, AttributeError | TypeError | KeyError | IndexError):
        reason = ": not what this API answers"  # the SDK stumbled; its words say nothing to anybody
    return ModelError(
        f"{model} gave an answer that cannot be read ({type(error).__name__}{reason}).",
        remedy=f"Check that {setting}_BASE_URL, where it is set, leads to an API of this kind.",
        retryable=True,
    )


def refuses_options(error: Exception) -> bool:
    """Whether a server may have refused a request for an option that it does not know, and not for what is asked."""
    status = status_of(error)
    return status in OPTION_STATUSES and _said_no(error, status, "", "") is None


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an SDK's error carries, or that goes with the kind of error that its body names."""
    response = getattr(error, "response", None)
    aws = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, Mapping) else None
    for value in (getattr(error, "status_code", None), getattr(error, "code", None), aws):
        if isinstance(value, int) and 400 <= value < 600:
            return value
    body = _body(error)
    known = (STATUS_OF_KIND.get(str(body.get(name)).lower()) for name in ("code", "type"))
    return next((status for status in known if status), None)


def retry_after(error: BaseException) -> float | None:
    """The seconds that the server asks to wait, in milliseconds, seconds or as a date; None where it does not say."""
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


def _said_no(error: BaseException, status: int | None, model: str, reason: str) -> ModelError | None:
    """What the words of the answer tell and its status does not."""
    body = _body(error)
    words = " ".join(str(body.get(name, "")) for name in ("code", "type", "message"))
    told = f"HTTP {status}{reason}" if status else reason.removeprefix(": ")
    # One request may be over OpenAI's tokens of a minute: then waiting does not help, and less does.
    over_a_minute = status == 429 and "tokens must be reduced" in words
    if over_a_minute or status == 413 or (status in TOO_LONG_STATUSES and TOO_LONG.search(words)):
        message = f"{model} was sent more than it reads ({told})."
        return ContextTooLongError(message, remedy="Send less, or choose a model with a longer context.")
    if status in SPENT_STATUSES and SPENT.search(words):
        remedy = "Check the account's plan and billing."
        return ModelError(f"{model} refused the request: the quota is used up ({told}).", remedy=remedy)
    if status == 400 and FILTERED.search(words):
        return ModelError(f"{model} refused to answer ({told}).")
    if status is None and words.strip() and not _is_transport(error):
        return ModelError(f"{model} failed ({told}).", remedy="Try again later.", retryable=True)
    return None


def _by_status(status: int, model: str, setting: str, key: str, reason: str) -> ModelError:
    if status in (401, 403):
        return ModelError(f"{model} refused the key (HTTP {status}).", remedy=f"Check {key}.")
    if status == 404:
        remedy = f"Check the model's name and {setting}_BASE_URL."
        return ModelError(f"{model} was not found (HTTP 404{reason}).", remedy=remedy)
    if status == 429:
        message = f"{model} is over its rate limit (HTTP 429{reason})."
        return ModelError(message, remedy="Try again later.", retryable=True)
    passing = status in PASSING or status >= 500
    verb = "failed" if passing else "refused the request"
    remedy = "Try again later." if passing else ""
    return ModelError(f"{model} {verb} (HTTP {status}{reason}).", remedy=remedy, retryable=passing)


def _reason(error: BaseException, secret: str | None) -> str:
    message = _body(error).get("message")
    text = message if isinstance(message, str) else "" if status_of(error) else str(error)
    text = " ".join(text.split())
    if secret:
        text = text.replace(secret, "[key]")
    return f": {text[:LONGEST_REASON]}" if text else ""


def _body(error: BaseException) -> Mapping[str, Any]:
    """What came with the status: code, type and message, wherever the SDK puts them."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
        body = body["error"]  # a text in servers that speak the API only roughly
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # AWS
        said = response.get("Error") or {}
        body = {"code": said.get("Code"), "message": said.get("Message")}
    elif body is None:
        body = getattr(error, "error", None)  # Ollama
    if isinstance(body, str):
        return {"message": body}
    return body if isinstance(body, Mapping) else {}


def _is_transport(error: BaseException) -> bool:
    """Whether the connection failed. The SDKs share no base class for that, but their names for it agree."""
    return any(
        word in kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__ for word in TRANSPORT_WORDS
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__  # the HTTP clients hide the socket's own error, which says most
