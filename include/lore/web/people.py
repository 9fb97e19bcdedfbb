"""People who logged in: by a session of this server, or by headers of a proxy that is trusted."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request

from lore.web.callers import Caller, FindCaller, UnknownCallerError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from lore.declarations import Access

__all__ = ["KeepPeer", "Person", "caller_by_proxy", "caller_by_session", "session_value"]

PERSON = "person"
"""The session's key of the person who logged in."""
PEER = "lore.peer"
MAX_ID = 200
"""Characters of a person's id."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person as a login names them."""

    id: str
    name: str
    groups: tuple[str, ...] = ()


def _caller(person: Person, access: Access, rate: int) -> Caller:
    return Caller(access.audiences_of(person.groups), f"user {person.id}", rate, f"user:{person.id}", person.name)


def session_value(person: Person, access: Access, expires: float) -> dict[str, Any]:
    """Return what the session keeps of a person until the time `expires`: of the groups, only declared ones."""
    groups = [group for group in person.groups if group in access.groups]
    return {"id": person.id, "name": person.name, "groups": groups, "expires": expires}


def caller_by_session(access: Access, rate: int) -> FindCaller:
    """Return a function that finds who logged in; audiences are those that the declaration gives now."""

    def find(request: Request) -> Caller | None:
        kept = request.session.get(PERSON)
        if not kept or kept["expires"] < time.time():
            return None
        return _caller(Person(kept["id"], kept["name"], tuple(kept["groups"])), access, rate)

    return find


class KeepPeer:
    """Notes the address that the connection comes from, before headers of a proxy replace it by the reader's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            scope[PEER] = scope["client"]
        await self._app(scope, receive, send)


def caller_by_proxy(access: Access, rate: int) -> FindCaller:
    """Return a function that reads a person from headers, if the connection comes from the declared proxy.

    A header that is sent twice is refused: one of both may be the reader's own.
    """
    proxy = access.proxy
    assert proxy is not None  # noqa: S101  the caller looked
    networks = [ipaddress.ip_network(one) for one in proxy.addresses]

    def find(request: Request) -> Caller | None:
        peer = request.scope.get(PEER) or request.scope.get("client")
        if not peer or not _is_in(peer[0], networks):
            return None
        if not (user := _header(request, proxy.user_header)):
            return None
        if len(user) > MAX_ID or not user.isprintable():
            raise UnknownCallerError(
                f"The proxy's header {proxy.user_header} is invalid.", remedy="Set it to the person's id."
            )
        groups = filter(None, map(str.strip, _header(request, proxy.groups_header).split(",")))
        return _caller(Person(user, user, tuple(groups)), access, rate)

    return find


def _is_in(address: str, networks: Collection[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        known = ipaddress.ip_address(address)
    except ValueError:  # a socket of the machine has no address
        return False
    mapped = getattr(known, "ipv4_mapped", None)
    return any((mapped or known) in network for network in networks)


def _header(request: Request, name: str) -> str:
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise UnknownCallerError(
            f"The header {name} came twice, and one of both may be forged.",
            remedy="Have the proxy replace the header instead of adding another one.",
        )
    return values[0].strip() if values else ""
