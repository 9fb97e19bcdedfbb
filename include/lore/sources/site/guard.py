"""Connections to public addresses only: a page must not lead the crawler into the local network.

A host name is resolved once, all its addresses are checked, and the connection goes to a checked address. So neither a
redirect nor a changing DNS entry gets around the check.
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
    """A host name resolves to an address that isn't public, and the declaration doesn't allow the host."""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host in the order to try them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Return True if an address is public.

    Private, loopback, link-local, shared, multicast and reserved addresses are not, nor are IPv6 forms that carry one.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and (carried := _carried(parsed)) is not None:
        return _is_global(carried)
    return _is_global(parsed)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address inside an IPv6 address: mapped, 6to4, Teredo, NAT64, or the old compatible form."""
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    if address.teredo:
        return address.teredo[1]
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in NAT64 or address in V4_COMPATIBLE else None


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


class GuardedBackend(httpcore.NetworkBackend):
    """Opens the connections of an httpcore pool. TLS still checks the certificate of the requested host name.

    `allowed_hosts` may have private addresses. `deadline`, a `time.monotonic` value, ends the current call, even if the
    server keeps sending single bytes. Tests replace `resolve`.
    """

    def __init__(
        self, allowed_hosts: Collection[str] = (), *, resolve: Callable[[str, int], list[str]] = resolve
    ) -> None:
        self._allowed = frozenset(host.lower().rstrip(".") for host in allowed_hosts)
        self._resolve = resolve
        self._backend = httpcore.SyncBackend()
        self.deadline = math.inf

    def left(self, timeout: float | None) -> float | None:
        """Return the seconds that the next step may take. Raises httpcore.ReadTimeout when no time is left."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the call's time limit is reached")
        return min(left, math.inf if timeout is None else timeout) if left < math.inf else timeout

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of the host that answers. Raises ForbiddenAddressError before connecting."""
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
            raise httpcore.ConnectError(f"{host} can't be resolved: {reason}") from None
        if host.lower().rstrip(".") not in self._allowed:
            for address in addresses:
                if not is_public(address):
                    raise ForbiddenAddressError(
                        f"{host} has the address {address}, which isn't public; nothing was sent there.",
                        remedy=f"If it is your own server, add {host} to `allow_hosts` in the declaration.",
                    )
        return addresses


class _TimedStream(httpcore.NetworkStream):
    """A connection that respects its backend's deadline."""

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
