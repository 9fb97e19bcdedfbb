"""Interrupted reads: what a later run takes up, and what it reads again."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from lore.redact.redactor import Redactor
from lore.types import Batch

from tests.ingest.extract.resume_setup import Cursored, House, pages


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def source() -> Cursored:
    return Cursored([Batch(pages("a", "b")), Batch(pages("c")), Batch(pages("d"))])


def test_the_next_run_goes_on_after_the_last_batch_that_was_staged(house, source):
    house.kill(source)
    report = house.sync(source).run()
    assert source.reads == [None, "2"]
    assert (report.new, report.resumed, set(house.texts())) == (4, 3, {"a", "b", "c", "d"})
    assert "3 documents already read by an interrupted run" in report.summary()
    assert "cut off" not in house.sync(source).run().summary()
    assert house.store.state("fake").cursor == "3"
    assert not house.files("*.gz")


def test_a_run_that_is_killed_again_and_again_gets_to_its_end(house, source):
    for _ in source.batches:
        house.kill(source, tells=1)
    house.sync(source).run()
    assert source.reads == [None, "1", "2", "3"]
    assert set(house.texts()) == {"a", "b", "c", "d"}


def test_a_run_that_was_killed_while_it_indexed_is_not_read_again(house, source):
    house.kill(source, "index", 2)
    house.sync(source).run()
    assert source.reads == [None, "3"]
    assert set(house.texts()) == {"a", "b", "c", "d"}
    assert not house.files("*.gz")


def test_a_later_sync_goes_on_too(house, source):
    house.sync(source).run()
    source.batches += [Batch(pages("e")), Batch(pages("a", text="Second state.")), Batch(pages("f"))]
    house.kill(source)
    report = house.sync(source).run()
    assert source.reads == [None, "3", "5"]
    assert (report.new, report.changed) == (2, 1)
    assert house.texts()["a"] == "Second state."


def redeclared(house: House, source: Cursored) -> None:
    house.sync(source, selection="other").run()


def otherwise_redacted(house: House, source: Cursored) -> None:
    house.sync(source, redactor=Redactor("secrets+contacts")).run()


def tampered(house: House, source: Cursored, **values: object) -> None:
    for path in house.files("progress-*.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    house.sync(source).run()


def much_later(house: House, source: Cursored) -> None:
    tampered(house, source, begun=time.time() - 4 * 24 * 3600)


def after_a_clock_ran_ahead(house: House, source: Cursored) -> None:
    tampered(house, source, begun=time.time() + 4 * 24 * 3600)


def with_files_elsewhere(house: House, source: Cursored) -> None:
    elsewhere = house.staging.parent / "piece-00000-000.jsonl.gz"
    elsewhere.write_bytes(house.files("piece-*.gz")[0].read_bytes())
    tampered(house, source, files=["../../../../piece-00000-000.jsonl.gz"])
    elsewhere.unlink()


def with_files_at_the_root(house: House, source: Cursored) -> None:
    elsewhere = house.staging.parent / "elsewhere.gz"
    house.files("piece-*.gz")[0].rename(elsewhere)
    tampered(house, source, files=[str(elsewhere)])
    elsewhere.unlink()


def with_another_kind_of_time(house: House, source: Cursored) -> None:
    tampered(house, source, begun="yesterday", number=None)


def with_another_kind_of_cursor(house: House, source: Cursored) -> None:
    tampered(house, source, cursor=7)


def with_what_a_later_release_adds(house: House, source: Cursored) -> None:
    tampered(house, source, depth=7)


def with_what_is_not_hashable(house: House, source: Cursored) -> None:
    tampered(house, source, deleted=[{}])


def with_json_without_an_end(house: House, source: Cursored) -> None:
    for path in house.files("progress-*.json"):
        path.write_text("[" * 200_000)
    house.sync(source).run()


def with_another_json(house: House, source: Cursored) -> None:
    for path in house.files("progress-*.json"):
        path.write_text('["failures"]')
    house.sync(source).run()


def of_another_source(house: House, source: Cursored) -> None:
    shutil.rmtree(house.staging / "fake")
    house.kill(replace(source, id="other"))
    (house.staging / "other").rename(house.staging / "fake")
    source.reads.pop()
    house.sync(source).run()


def with_a_cut_shard(house: House, source: Cursored) -> None:
    for path in house.files("piece-*.gz")[-1:]:
        path.write_bytes(path.read_bytes()[:-9])
    house.sync(source).run()


def with_a_missing_shard(house: House, source: Cursored) -> None:
    house.files("piece-*.gz")[0].unlink()
    house.sync(source).run()


def with_a_shard_of_something_else(house: House, source: Cursored) -> None:
    for path in house.files("piece-*.gz"):
        path.write_bytes(gzip.compress(b'{"updated_at": 7}'))
    house.sync(source).run()


@pytest.mark.slow
@pytest.mark.parametrize(
    "go_on",
    [
        redeclared, otherwise_redacted, much_later, after_a_clock_ran_ahead, with_a_cut_shard, with_a_missing_shard,
        with_a_shard_of_something_else, with_files_elsewhere, with_files_at_the_root, with_another_kind_of_time,
        with_another_kind_of_cursor, with_what_a_later_release_adds, with_what_is_not_hashable,
        with_json_without_an_end, with_another_json, of_another_source,
    ],
)  # fmt: skip
def test_what_is_no_more_or_broken_is_read_again_from_the_start(
    house: House, source: Cursored, go_on: Callable[[House, Cursored], None]
) -> None:
    house.kill(source)
    go_on(house, source)
    assert source.reads == [None, None]
    assert set(house.texts()) == {"a", "b", "c", "d"}
    assert not house.files("*.gz")


def test_a_checkpoint_that_a_kill_cut_leaves_the_one_before(house, source):
    house.kill(source)
    path = house.files("progress-1.json")[0]
    path.write_bytes(path.read_bytes()[:40])
    house.sync(source).run()
    assert source.reads == [None, "1"]
    assert set(house.texts()) == {"a", "b", "c", "d"}


def test_what_a_killed_run_left_is_not_taken_once_another_sync_came_to_its_end(house):
    """The cursor stands still where a document failed, so it does not tell that what was staged is old."""
    many = [f"p{number}" for number in range(30)]
    place = f"memory://{house.staging.parent.name}/staging"  # where what was left stays
    source = Cursored([Batch(pages(*many)), Batch(pages("bad", text="UNREADABLE"))])
    house.kill(source, tells=1, staging_uri=place)
    assert house.sync(source, staging_uri=place).run().status == "warning"
    assert house.store.state("fake").cursor is None
    source.batches = [Batch(pages(*many, text="Second state.")), Batch(pages("bad", text="Good now."))]
    assert house.sync(source, staging_uri=place).run().status == "ok"
    assert source.reads == [None, "1", None]
    assert house.texts()["p0"] == "Second state."
