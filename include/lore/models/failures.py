"""What a vendor's SDK raises, told as one ModelError: what failed, what to do, whether to try again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from include.lore.errors import ContextTooLongError, ModelError

__all__ = ["model_error", "status_of"]

LONGEST_REASON = 300
PASSING = {408, 409, 425, 429}
SPENT = {"insufficient_quota", "billing_hard_limit_reached"}
TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size|limit)|maximum (?:input|prompt) length|(?:prompt|input) is too long"
    r"|too many tokens|tokens must be reduced|request[_ ](?:is )?too[_ ]large",
    re.IGNORECASE,
)
"""How the vendors, and servers that speak their APIs, say that a prompt does not fit, in their code or their words."""
TOO_LONG_STATUSES = {400, 413, 422, 500}


def model_error(error: Exception, *, model: str, setting: str, secret: str | None = None) -> ModelError:
    """A ModelError for anything that a call to `model` raised.

    `setting` is the prefix of its settings, such as "LORE_OPENAI". The server's own words are repeated (at most 300
    characters) except where they are about the key, and never with `secret` in them. Raise it `from None`: the
    original may hold the request's headers or the key.
    """
    if isinstance(error, ModelError):
        return error
    status = status_of(error)
    reason = _reason(error, secret)
    if any(isinstance(cause, UnicodeError) or "LocalProtocol" in type(cause).__name__ for cause in _causes(error)):
        # What was raised quotes the header that could not be sent.
        return ModelError(
            f"{model} could not be asked: the key holds characters that no key has.",
            remedy=f"Check {setting}_API_KEY for line breaks and letters with accents.",
        )
    if status is not None:
        return _refusal(error, status, model, setting, reason)
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


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an SDK's error carries, under either of the names in use."""
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _refusal(error: BaseException, status: int, model: str, setting: str, reason: str) -> ModelError:
    """What an HTTP status means."""
    if _is_too_long(error, status):
        message = f"{model} was sent more than it reads (HTTP {status}{reason})."
        return ContextTooLongError(message, remedy="Send less, or choose a model with a longer context.")
    if status in (401, 403):
        return ModelError(f"{model} refused the key (HTTP {status}).", remedy=f"Check {setting}_API_KEY.")
    if status == 404:
        remedy = f"Check the model's name and {setting}_BASE_URL."
        return ModelError(f"{model} was not found (HTTP 404{reason}).", remedy=remedy)
    if status == 429 and SPENT & {getattr(error, "code", None), _body(error).get("code"), _body(error).get("type")}:
        remedy = "Check the account's plan and billing."
        return ModelError(f"{model} refused the request: the quota is used up (HTTP 429{reason}).", remedy=remedy)
    if status == 429:
        return ModelError(
            f"{model} is over its rate limit (HTTP 429{reason}).", remedy="Try again later.", retryable=True
        )
    passing = status in PASSING or status >= 500
    verb = "failed" if passing else "refused the request"
    remedy = "Try again later." if passing else ""
    return ModelError(f"{model} {verb} (HTTP {status}{reason}).", remedy=remedy, retryable=passing)


def _is_too_long(error: BaseException, status: int | None) -> bool:
    words = " ".join(str(_body(error).get(name, "")) for name in ("code", "type", "message"))
    if status == 429:  # OpenAI's answer where one request is over the tokens of a minute: waiting does not help
        return "tokens must be reduced" in words
    return status in TOO_LONG_STATUSES and (status == 413 or bool(TOO_LONG.search(words)))


def _reason(error: BaseException, secret: str | None) -> str:
    message = _body(error).get("message")
    text = message if isinstance(message, str) else "" if status_of(error) else str(error)
    text = " ".join(text.split())
    if secret:
        text = text.replace(secret, "[key]")
    return f": {text[:LONGEST_REASON]}" if text else ""


def _body(error: BaseException) -> Mapping[str, Any]:
    """The JSON that came with the status; some servers wrap it in "error"."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    return body if isinstance(body, Mapping) else {}


def _is_transport(error: BaseException) -> bool:
    """Whether the connection failed. The SDKs share no base class for that, but their names for it agree."""
    return any(
        word in kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__ for word in TRANSPORT_WORDS
    )


TRANSPORT_WORDS = ("Timeout", "Connect", "Transport", "Protocol")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
