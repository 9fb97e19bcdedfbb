"""Which addresses are public, in every form that an address has."""

from __future__ import annotations

import httpcore
import pytest
from lore.sources.site.guard import ForbiddenAddressError, GuardedBackend, is_public, resolve


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
)
def test_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",  # the metadata service of clouds
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "no address",
        "",
    ],
)
def test_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "localhost", "LOCALHOST.", "[::1]", "::1"]
)
def test_no_spelling_of_loopback_is_connected_to(host):
    with pytest.raises((ForbiddenAddressError, httpcore.ConnectError)):
        GuardedBackend(resolve=resolve).connect_tcp(host, 80, timeout=1.0)


def test_one_private_address_among_public_ones_is_enough():
    backend = GuardedBackend(resolve=lambda host, port: ["8.8.8.8", "10.0.0.1"])
    with pytest.raises(ForbiddenAddressError, match=r"10\.0\.0\.1"):
        backend.connect_tcp("docs.example.com", 80, timeout=1.0)


def test_an_allowed_host_is_that_host_alone():
    backend = GuardedBackend(["Intranet.Example."], resolve=lambda host, port: ["127.0.0.1"])
    with pytest.raises(httpcore.ConnectError):
        backend.connect_tcp("intranet.example", 1, timeout=1.0)
    with pytest.raises(ForbiddenAddressError):
        backend.connect_tcp("other.intranet.example", 1, timeout=1.0)
