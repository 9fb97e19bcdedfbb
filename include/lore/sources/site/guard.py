"""Connections to public addresses only: what a page points to must not reach the machines beside us.

The name is resolved once, every address it has is looked at, and the connection is made to the very address that was
looked at. So neither a redirect nor a name that changes its address in between gets past.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

import httpcore

from lore.errors import SourceError

__all__ = ["ForbiddenAddressError", "GuardedBackend", "is_public", "resolve"]

NAT64 = IPv6Network("64:ff9b::/96")
V4_COMPATIBLE = IPv6Network("::/96")


class ForbiddenAddressError(SourceError):
    """A host name stands for an address that is not public, and the declaration does not allow the host."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which they are to be tried. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet: not private, loopback, link-local, shared, multicast or
    reserved, nor a form of IPv6 that carries such an IPv4 address.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and (carried := _carried(parsed)) is not None:
        return _is_global(carried)
    return _is_global(parsed)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address leads to: mapped, 6to4, Teredo, NAT64, or the old compatible form."""
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    if address.teredo:
        return address.teredo[1]
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in NAT64 or address in V4_COMPATIBLE else None


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


class GuardedBackend(httpcore.NetworkBackend):
    """Opens the connections of an httpcore pool. TLS still checks the certificate of the name that was asked for.

    `allowed_hosts` are host names whose addresses may be private. `deadline`, a time of `time.monotonic`, is when
    whatever is going on must end, also where the other side sends a byte now and then. `resolve` is there for tests.
    """

    def __init__(
        self, allowed_hosts: Collection[str] = (), *, resolve: Callable[[str, int], list[str]] = resolve
    ) -> None:
        self._allowed = frozenset(host.lower().rstrip(".") for host in allowed_hosts)
        self._resolve = resolve
        self._backend = httpcore.SyncBackend()
        self.deadline = math.inf

    def left(self, timeout: float | None) -> float | None:
        """How long the next step may take, in seconds. Raises httpcore.ReadTimeout when there is no time left."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the time for the call is over")
        return min(left, math.inf if timeout is None else timeout) if left < math.inf else timeout

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of the host that answers. Raises ForbiddenAddressError before any is tried."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in self._addresses(host, port):
            try:
                stream = self._backend.connect_tcp(address, port, self.left(timeout), local_address, socket_options)
                return _TimedStream(stream, self)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise httpcore.ConnectError(f"{host} cannot be resolved: {reason}") from None
        if host.lower().rstrip(".") not in self._allowed:
            for address in addresses:
                if not is_public(address):
                    raise ForbiddenAddressError(
                        f"{host} has the address {address}, which is not public; nothing was sent there.",
                        remedy=f"If it is a server of yours, add {host} to `allow_hosts` in the declaration.",
                    )
        return addresses


class _TimedStream(httpcore.NetworkStream):
    """A connection that keeps to its backend's deadline."""

    def __init__(self, stream: httpcore.NetworkStream, backend: GuardedBackend) -> None:
        self._stream = stream
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._backend.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._backend.left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._backend.left(timeout))
        return _TimedStream(stream, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
