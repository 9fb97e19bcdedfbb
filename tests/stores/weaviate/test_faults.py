"""Weaviate rejects, is down, answers late or is cut off: a clear error, and nothing lost or duplicated."""

from __future__ import annotations

import json
import random
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import grpc
import pytest
from lore.errors import ConfigurationError, LoreError, StoreError
from lore.stores.weaviate.server.connection import WeaviateServer
from lore.stores.weaviate.store import WeaviateStore
from lore.types import Counts

from tests.contracts.store import RECIPE, assert_holds, embed, make_entry
from tests.servers.faults import Proxy, answering, failing_grpc, failing_rest
from tests.servers.weaviate import Address, Process
from tests.stores.weaviate.indexes import open_at

pytestmark = pytest.mark.xdist_group("weaviate-faults")  # a server of its own, beside the other tests

SECRET = "the-secret-key"


@pytest.fixture(scope="module")
def grpc_port() -> Iterator[int]:
    """A port that answers gRPC."""
    with failing_grpc(grpc.StatusCode.UNIMPLEMENTED, "nothing is served here") as port:
        yield port


def open_on(url: str, grpc_port: int = 1, timeout: float = 1.0, api_key: str | None = SECRET) -> WeaviateStore:
    server = WeaviateServer(url, grpc_port=grpc_port, api_key=api_key, timeout=timeout)
    return WeaviateStore(server, RECIPE)


def persist(act: Callable[[], object]) -> None:
    """Retry like a caller after a retryable error: a busy machine may exceed the timeout."""
    for attempt in range(10):
        try:
            act()
            return
        except StoreError as error:
            if not error.retryable or attempt == 9:
                raise


@pytest.mark.parametrize(
    ("status", "retryable", "remedy"),
    [
        (401, False, "LORE_WEAVIATE_API_KEY"),
        (403, False, "role"),
        (422, False, "log"),
        (429, True, "busy"),
        (500, True, "log"),
        (503, True, "LORE_WEAVIATE_URL"),
        (504, True, "LORE_TIMEOUT_SECONDS"),
    ],
)
def test_a_status_is_an_error_in_words(status: int, retryable: bool, remedy: str, grpc_port: int) -> None:
    with failing_rest(status) as url, pytest.raises(StoreError) as caught:
        open_on(url, grpc_port)
    assert caught.value.retryable == retryable
    assert remedy in caught.value.remedy
    assert caught.value.message.endswith(f"{url}: as the test asks (status {status}).")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "details", "retryable", "remedy"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, f"key {SECRET} is unknown", False, "LORE_WEAVIATE_API_KEY"),
        (grpc.StatusCode.PERMISSION_DENIED, "forbidden", False, "role"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests", True, "busy"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "late", True, "LORE_TIMEOUT_SECONDS"),
        (grpc.StatusCode.INTERNAL, "panic", True, "log"),
        (grpc.StatusCode.UNKNOWN, "store is read-only", False, "free space"),
        (grpc.StatusCode.UNKNOWN, "vector lengths don't match: 64 vs 32", False, "LORE_EMBEDDER"),
        (grpc.StatusCode.UNKNOWN, "what nobody foresaw", False, "log"),
    ],
)
def test_a_grpc_code_is_an_error_in_words(code: grpc.StatusCode, details: str, retryable: bool, remedy: str) -> None:
    with failing_grpc(code, details) as port, failing_rest(200) as url, pytest.raises(StoreError) as caught:
        open_on(url, port)
    assert caught.value.retryable == retryable
    assert remedy in caught.value.remedy
    assert SECRET not in str(caught.value)
    assert "debug_error_string" not in str(caught.value)


@pytest.mark.parametrize("key", ["line\nbreak", "caf\u00e9"])
def test_a_key_that_cannot_be_sent_stays_secret(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_on("http://127.0.0.1:2", api_key=key)
    assert key not in str(caught.value)


def test_one_port_for_both_protocols_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="LORE_WEAVIATE_GRPC_PORT"):
        open_on("https://weaviate.example.com", 443)


@pytest.mark.parametrize(
    ("url", "why"),
    [("http://127.0.0.1:2", "nothing listens there"), ("http://nobody.invalid:8080", "host is unknown")],
)
def test_a_server_that_is_not_there(url: str, why: str) -> None:
    with pytest.raises(StoreError, match="LORE_WEAVIATE_URL") as caught:
        open_on(url)
    assert caught.value.retryable
    assert f"{url}: " in caught.value.message
    assert why in caught.value.message
    assert "Details" not in caught.value.message


def test_https_to_a_port_of_http_is_told(grpc_port: int) -> None:
    with failing_rest(200) as url, pytest.raises(StoreError, match="does not speak https") as caught:
        open_on(url.replace("http:", "https:"), grpc_port)
    assert not caught.value.retryable
    assert "http://" in caught.value.remedy


def test_a_server_that_accepts_and_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(StoreError) as caught:
        open_on(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.3)
    assert caught.value.retryable
    assert "LORE_TIMEOUT_SECONDS" in caught.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[]", b'"text"', b'{"version": 1}', b'{"version": "x"}'])
def test_something_else_than_weaviate_answers(body: bytes, grpc_port: int) -> None:
    with answering(body) as url, pytest.raises(StoreError) as caught:
        open_on(url, grpc_port)
    assert url in caught.value.message
    with failing_rest(404, path="/v1/meta") as url, pytest.raises(StoreError):
        open_on(url, grpc_port)


@pytest.mark.parametrize("version", ["1.27.0", "1.31.9", "1.31.0-rc.1"])
def test_a_server_that_is_too_old_is_named(version: str, grpc_port: int) -> None:
    with answering(json.dumps({"version": version}).encode()) as url, pytest.raises(StoreError) as caught:
        open_on(url, grpc_port)
    assert version.partition("-")[0] in caught.value.message
    assert "1.32" in caught.value.remedy


def test_grpc_behind_a_closed_port_is_named(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([make_entry("a", ["text"])])
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1") as caught:
        open_at(weaviate_index.but(grpc_port=1, timeout=600.0))  # which is not waited for
    assert caught.value.retryable
    assert "LORE_WEAVIATE_GRPC_PORT" in caught.value.remedy


def test_a_port_that_does_not_answer_to_grpc_is_named(weaviate_index: Address) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(StoreError) as caught:
        open_at(weaviate_index.but(grpc_port=silent.getsockname()[1], timeout=0.5))
    assert caught.value.retryable
    assert "LORE_WEAVIATE_GRPC_PORT" in caught.value.remedy
    assert "LORE_TIMEOUT_SECONDS" in caught.value.remedy


def test_grpc_of_something_else_is_told(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([make_entry("a", ["text"])])
    with (
        failing_grpc(grpc.StatusCode.UNIMPLEMENTED, "unknown service weaviate.v1.Weaviate") as port,
        pytest.raises(StoreError, match="LORE_WEAVIATE_GRPC_PORT") as caught,
    ):
        open_at(weaviate_index.but(grpc_port=port))
    assert not caught.value.retryable


def test_answers_that_come_late_are_an_error_and_then_all_is_well(weaviate_index: Address) -> None:
    entry = make_entry("a", ["text"])
    open_at(weaviate_index).replace([entry])
    with Proxy(weaviate_index.grpc_port) as proxy:
        store = open_at(weaviate_index.but(grpc_port=proxy.port, timeout=1.0))
        proxy.delay = 3.0
        with pytest.raises(StoreError, match="LORE_TIMEOUT_SECONDS") as caught:
            store.search("text", embed("text"), 5, 0.5)
        assert caught.value.retryable
        proxy.delay = 0.0
    assert_holds(open_at(weaviate_index), [entry])


@pytest.mark.parametrize(
    "count", [3_000, *(pytest.param(count, marks=pytest.mark.slow) for count in (0, 30_000, 90_000))]
)
def test_a_write_that_is_cut_off_is_completed_by_writing_again(weaviate_index: Address, count: int) -> None:
    old = [make_entry(f"d{number}", ["kept", f"old {number}"]) for number in range(40)]
    new = [make_entry(f"d{number}", ["kept", f"new {number}", "more"], fingerprint="2") for number in range(40)]
    open_at(weaviate_index).replace(old)
    with Proxy(weaviate_index.grpc_port) as proxy:
        store = open_at(weaviate_index.but(grpc_port=proxy.port, timeout=1.0))
        proxy.cut_after(count)
        with pytest.raises(StoreError) as caught:
            store.replace(new)
        assert caught.value.retryable
        seen = open_at(weaviate_index).snapshot()
        fingerprints = seen.fingerprints("fake")
        for before, after in zip(old, new, strict=True):
            chunks = {chunk.id for chunk in seen.chunks(after.document.id)}
            assert chunks >= {chunk.id for chunk in before.chunks} or chunks >= {chunk.id for chunk in after.chunks}
            if fingerprints[after.document.id] == "2":
                assert chunks == {chunk.id for chunk in after.chunks}
        proxy.mend()
        persist(lambda: store.replace(new))
        assert_holds(store, new)


@pytest.mark.slow
def test_a_server_that_dies_is_an_error_and_loses_nothing_when_it_is_back(tmp_path: Path) -> None:
    program = shutil.which("weaviate")
    if program is None:
        pytest.skip("no `weaviate` on PATH that may be killed")
    entries = [make_entry(f"d{number}", [f"text {number}"]) for number in range(30)]
    process = Process(program, tmp_path, {})
    try:
        process.start()
        store = open_at(process.address.but(timeout=2.0))
        store.replace(entries[:20])
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(store.replace, [make_entry(f"x{number}", ["much " * 50]) for number in range(900)])
            process.kill()
            with pytest.raises(LoreError):
                writing.result()
        with pytest.raises(StoreError) as caught:
            store.search("text", embed("text"), 5, 0.5)
        assert caught.value.retryable
        process.start()
        again = open_at(process.address)
        again.delete("fake", [name for name in again.fingerprints("fake") if name.startswith("fake:x")])
        assert_holds(again, entries[:20])
        store.replace(entries)
        assert_holds(store, entries)
        assert store.count() == Counts(30, 30, 30)
    finally:
        process.stop()


@pytest.mark.slow
def test_what_a_killed_server_holds_but_does_not_find_is_written_anew(tmp_path: Path) -> None:
    program = shutil.which("weaviate")
    if program is None:
        pytest.skip("no `weaviate` on PATH that may be killed")
    chance = random.Random(7)
    entries = [
        make_entry(f"d{number}", [f"{number} {place} " + "many words " * 40 for place in range(60)])
        for number in range(24)
    ]
    process = Process(program, tmp_path, {})
    try:
        process.start()
        open_at(process.address).replace(entries[:1])
        for first in (0, 8, 16):
            some = entries[first : first + 8]
            store = open_at(process.address.but(timeout=5.0))
            with ThreadPoolExecutor(1) as pool:
                writing = pool.submit(store.replace, some)
                time.sleep(chance.uniform(0.15, 0.5))
                process.kill()
                with suppress(LoreError):
                    writing.result()
            process.start()
            again = open_at(process.address)
            finished = {name for name, fingerprint in again.fingerprints("fake").items() if fingerprint}
            again.replace([entry for entry in some if entry.document.id not in finished])
            assert_holds(again, entries[: first + 8])
            assert again.count("fake") == Counts(first + 8, 60 * (first + 8), 60 * (first + 8))
    finally:
        process.stop()
