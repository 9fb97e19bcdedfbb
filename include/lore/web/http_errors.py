"""Errors as HTTP responses."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from lore.errors import ConfigurationError, LoreError
from lore.validation import explain_error
from lore.web.access import refusal
from lore.web.asking import RateLimitedError
from lore.web.callers import UnknownCallerError
from lore.web.forms import error_form
from lore.web.question_threads import TooManyQuestionsError

__all__ = ["add_error_handlers", "error_response", "status_of"]


def status_of(error: LoreError) -> tuple[int, dict[str, str]]:
    """Return the status of an error, and the headers that say when or how to try again."""
    match error:
        case RateLimitedError(retry_seconds=seconds):
            return 429, {"Retry-After": str(seconds)}
        case TooManyQuestionsError(retry_seconds=seconds):
            return 503, {"Retry-After": str(seconds)}
        case UnknownCallerError():
            return 401, {"WWW-Authenticate": "Bearer"}
        case ConfigurationError():
            return 422, {}
    return (503 if error.retryable else 500), {}


def add_error_handlers(app: FastAPI) -> None:
    """Answer errors of the package, invalid requests and unknown addresses in the form of all errors."""
    app.add_exception_handler(LoreError, _lore_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _not_served)


def error_response(error: LoreError) -> Response:
    """Return an error with its status."""
    status, headers = status_of(error)
    form = error_form(error)
    if isinstance(error, UnknownCallerError):
        form["error"]["login"] = error.login
    return JSONResponse(form, status, headers=headers)


async def _lore_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, LoreError)  # noqa: S101  registered for it
    return error_response(error)


async def _not_served(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  registered for it
    remedy = "See /openapi.json for the addresses." if error.status_code in (404, 405) else ""
    return refusal(error.status_code, f"{error.detail.rstrip('.')}.", remedy, error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  registered for it
    wrong = "; ".join(f"{'.'.join(map(str, item['loc'][1:]))} {explain_error(item)}" for item in error.errors()[:3])
    return refusal(422, f"The request is invalid: {wrong}.", "See /openapi.json for its form.")
