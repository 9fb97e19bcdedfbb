"""Concurrent handles, threads and processes, and kills."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from lore.protocols import Store
from lore.types import Counts

from tests.contracts.store.base import StoreFixtures
from tests.contracts.store.entries import (
    MakeStore,
    assert_holds,
    embed,
    make_entry,
    texts,
)
from tests.contracts.store.workers import STAGES, Workers, fresh, rewritten


class ConcurrencyContract(StoreFixtures):
    def test_another_handle_sees_what_was_written(self, make_store: MakeStore) -> None:
        reader, writer = make_store(), make_store()
        assert reader.count() == Counts(0, 0, 0)
        for number in range(3):
            writer.replace([make_entry(f"d{number}", [f"text{number}"])])
            assert reader.count() == Counts(number + 1, number + 1, number + 1)
            assert texts(reader.search(f"text{number}", None, 5, 0.0)) == [f"text{number}"]
        writer.optimize()
        writer.delete("fake", ["fake:d0"])
        assert reader.document("fake:d0") is None
        assert reader.search("text0", None, 5, 0.0) == []

    def test_threads_write_through_shared_and_separate_handles(self, store: Store, make_store: MakeStore) -> None:
        handles = [store, make_store()]

        def write(thread: int) -> None:
            store = handles[thread % 2]
            for number in range(3):
                store.replace([make_entry(f"t{thread}", [f"thread {thread} version {number}"]), make_entry("x", ["x"])])
                assert store.search("thread", embed("thread"), 10, 0.5)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert_holds(
            store,
            [
                *(make_entry(f"t{thread}", [f"thread {thread} version 2"]) for thread in range(4)),
                make_entry("x", ["x"]),
            ],
        )

    @pytest.mark.slow
    def test_the_fingerprint_is_the_last_thing_to_change(self, store: Store, make_store: MakeStore) -> None:
        """A reader of a fingerprint finds its document and chunks until the next fingerprint is written."""
        writer = make_store()
        versions = {str(number): make_entry("a", [f"v{number}"], fingerprint=str(number)) for number in range(15)}
        store.replace([versions["0"]])
        checked = 0
        seen = threading.Event()

        def write() -> None:
            for number in range(150):  # a slow machine may need many rounds until a reader comes in between
                if number >= len(versions) and seen.wait(0.02):
                    break
                writer.replace([versions[str(number % len(versions))]])
            writer.replace([versions["14"]])

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            while not writing.done():
                before = store.fingerprints("fake")["fake:a"]
                document, chunks = store.document("fake:a"), store.chunks("fake:a")
                if before and before == store.fingerprints("fake")["fake:a"]:
                    assert document == versions[before].document
                    assert chunks == list(versions[before].chunks)
                    checked += 1
                    seen.set()
            writing.result()
        assert checked
        assert_holds(store, [versions["14"]])

    @pytest.mark.slow
    def test_two_processes_write_the_same_documents(self, store: Store, address: str) -> None:
        """Nothing is duplicated, and a concurrent reader never misses an existing document."""
        stable = rewritten(0)
        store.replace(stable)
        missing: list[str] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                for entry in stable:
                    name = entry.document.id
                    ids = {chunk.id for chunk in store.chunks(name)}
                    versions = [{chunk.id for chunk in stage[name]} for stage in STAGES]
                    if store.document(name) is None or not any(version <= ids for version in versions):
                        missing.append(name)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            with Workers(self.opener, address, count=2) as workers:
                for number in range(8):
                    workers.tell_all(f"rewrite {number % 4}")
                    workers.wait_all()
                    workers.tell_all(f"fresh {number}")
                    workers.wait_all()
        finally:
            stop.set()
            reader.join()
        assert missing == []
        assert_holds(store, [*rewritten(3), *(entry for number in range(8) for entry in fresh(number))])

    @pytest.mark.slow
    def test_a_killed_write_is_healed_by_writing_again(self, store: Store, address: str, make_store: MakeStore) -> None:
        old, new = rewritten(0), rewritten(1)
        moments = random.Random(3)
        with Workers(self.opener, address, count=5) as workers:
            for worker in range(5):
                store.replace(old)
                workers.tell(worker, "slowly 1")
                workers.wait(worker)  # it has begun
                time.sleep(moments.uniform(0.0, 0.12))
                workers.kill(worker)
                fingerprints = store.fingerprints("fake")
                for before, after in zip(old, new, strict=True):
                    name = after.document.id
                    chunks = {chunk.id for chunk in store.chunks(name)}
                    assert chunks >= {chunk.id for chunk in before.chunks} or chunks >= {c.id for c in after.chunks}
                    if fingerprints[name] == after.fingerprint:
                        assert store.document(name) == after.document
                        assert store.chunks(name) == list(after.chunks)
                store.replace(new)
                assert_holds(store, new)
                store.optimize()
        assert_holds(make_store(), new)
