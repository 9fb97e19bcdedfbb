"""Login by OpenID Connect: the way to the provider, the way back, and the end of a session."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lore.errors import LoreError
from lore.web.people import MAX_ID, PERSON, Person, session_value

if TYPE_CHECKING:
    from lore.declarations import Access
    from lore.declarations.access import Login

__all__ = ["LOGIN_PATH", "make_login_routes"]

LOGIN_PATH = "/login"
SECONDS = 10.0
"""For each call of the provider."""
MAX_PENDING = 2
"""Logins that a browser has begun and not ended; each takes about 700 bytes of a cookie's 4,096."""
MAX_SESSION = 2_400
"""Characters of the groups of a session."""
UNSIGNED = ("none", "HS256", "HS384", "HS512")

logger = logging.getLogger(__name__)


class LoginError(LoreError):
    """A login failed."""


def _local(path: str) -> str:
    """Return a path of this server, "/" for anything that leads elsewhere."""
    local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if local and len(path) <= 2_000 else "/"


class OpenIdClient:
    """The declared OpenID provider. Every call has a timeout; what it says is checked before it is believed."""

    def __init__(self, login: Login, secret: str | None) -> None:
        from authlib.integrations.starlette_client import OAuth

        self._login = login
        self._client = OAuth().register(
            "lore",
            client_id=login.client_id,
            client_secret=secret,
            server_metadata_url=f"{login.issuer}/.well-known/openid-configuration",
            client_kwargs={"scope": " ".join(login.scopes), "code_challenge_method": "S256", "timeout": SECONDS},
        )

    async def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = await self._client.load_server_metadata()
        if str(metadata.get("issuer", "")).rstrip("/") != self._login.issuer:
            metadata.pop("_loaded_at", None)
            raise LoginError(
                f"{self._login.issuer} says that it is another provider.", remedy="Correct `issuer` in access.yaml."
            )
        supported = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        metadata["id_token_signing_alg_values_supported"] = [one for one in supported if one not in UNSIGNED]
        return metadata

    async def begin(self, request: Request) -> Response:
        """Return the redirect to the provider."""
        await self._metadata()
        redirect: Response = await self._client.authorize_redirect(request, f"{self._login.url}{LOGIN_PATH}/callback")
        return redirect

    async def end(self, request: Request) -> Person:
        """Return the person whom the provider sent back.

        Raises LoginError, and the errors of the client library and of the connection.
        """
        metadata = await self._metadata()
        options = {
            "iss": {"essential": True, "values": [metadata["issuer"]]},
            "aud": {"essential": True, "value": self._login.client_id},
            "sub": {"essential": True},
        }
        token = await self._client.authorize_access_token(request, claims_options=options)
        claims = dict(token.get("userinfo") or {})
        if not claims.get("sub"):
            raise LoginError("The provider sent no identity.", remedy="Add `openid` to `scopes` in access.yaml.")
        if self._groups(claims) is None and metadata.get("userinfo_endpoint"):
            just_issued = {"access_token": token["access_token"], "token_type": "Bearer"}  # expires, but not yet
            more = await self._client.userinfo(token=just_issued)
            if more.get("sub") == claims["sub"]:
                claims = {**more, **claims}
        return self._person(claims)

    def _groups(self, claims: dict[str, Any]) -> list[str] | None:
        found: Any = claims
        for part in self._login.groups_claim.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(found, str):
            return [found]
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else None

    def _person(self, claims: dict[str, Any]) -> Person:
        known = str(claims["sub"])
        if len(known) > MAX_ID or not known.isprintable():
            raise LoginError("The provider sent an invalid identity.", remedy="Ask whoever runs it.")
        name = next((claims[key] for key in ("name", "preferred_username", "email") if claims.get(key)), known)
        return Person(known, str(name)[:MAX_ID], tuple(self._groups(claims) or ()))


def make_login_routes(access: Access, secret: str | None) -> APIRouter:
    """Return the routes of a login; sessions need Starlette's SessionMiddleware."""
    assert access.login is not None  # noqa: S101  the caller looked
    login = access.login
    provider = OpenIdClient(login, secret)
    routes = APIRouter(include_in_schema=False)

    @routes.get(LOGIN_PATH, response_model=None)
    async def begin(request: Request, to: str = "/") -> Response:
        pending = [key for key in request.session if key.startswith("_state_")]
        for key in pending[: -MAX_PENDING + 1]:
            del request.session[key]
        request.session["to"] = _local(to)
        return await _or_notice(login, provider.begin(request))

    @routes.get(f"{LOGIN_PATH}/callback", response_model=None)
    async def end(request: Request) -> Response:
        async def ending() -> Response:
            person = await provider.end(request)
            value = session_value(person, access, time.time() + login.hours * 3600)
            if len(str(value)) > MAX_SESSION:
                raise LoginError("You are in too many groups.", remedy="Declare fewer groups in access.yaml.")
            to = _local(str(request.session.get("to", "/")))
            request.session.clear()
            request.session[PERSON] = value
            return RedirectResponse(f"{login.url}{to}", 303)

        return await _or_notice(login, ending())

    @routes.post("/logout", response_model=None)
    async def leave(request: Request) -> Response:
        request.session.clear()
        return Response(status_code=204)

    return routes


async def _or_notice(login: Login, step: Awaitable[Response]) -> Response:
    import httpx
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError

    try:
        return await step
    except LoginError as error:
        logger.warning("A login failed: %s %s", error.message, error.remedy)
        return _notice(login.url, error.message)
    except AuthlibBaseError as error:
        logger.warning("A login failed: %s", str(error)[:MAX_ID])
        return _notice(login.url, (error.description or error.error or "The provider refused it.")[:MAX_ID])
    except JoseError as error:
        logger.warning("A login failed: the provider's token is invalid: %s", str(error)[:MAX_ID])
        return _notice(login.url, "The provider sent an invalid token.")
    except (httpx.HTTPError, ValueError, KeyError, RuntimeError) as error:
        logger.warning("A login failed: %s didn't answer as a provider: %s", login.issuer, type(error).__name__)
        return _notice(login.url, "The login provider can't be reached, or didn't answer as one. Try again later.")


def _notice(url: str, reason: str) -> Response:
    again = f"{url}{LOGIN_PATH}?to={quote('/')}"
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The login failed</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{escape(url)}/static/page.css"></head><body><main><h1>The login failed</h1>'
        f'<div class="notice" role="alert"><p>{escape(reason)}</p>'
        f'<p><a href="{escape(again)}">Log in again</a></p></div></main></body></html>'
    )
    return HTMLResponse(text, 401, headers={"Cache-Control": "no-store"})
