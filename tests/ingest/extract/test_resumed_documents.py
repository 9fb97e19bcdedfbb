"""Documents of interrupted reads that are gone, failed or come back, and shards that are taken over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lore.errors import SourceError, StoreError
from lore.ingest.report import ShardReport
from lore.types import Batch, Failure

from tests.conftest import ROOT
from tests.ingest.extract.resume_setup import Cursored, House, Listed, pages


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def source() -> Cursored:
    return Cursored([Batch(pages("a", "b")), Batch(pages("c")), Batch(pages("d"))])


def test_a_document_that_was_deleted_after_the_kill_is_not_indexed(house):
    source = Cursored([Batch(pages("a", "b")), Batch(pages("c"))])
    house.kill(source, tells=1)
    source.batches[1] = Batch(pages("c"), deleted_ids=("fake:a",))
    assert house.sync(source).run().new == 2
    assert set(house.texts()) == {"b", "c"}


def test_a_document_that_the_list_misses_after_the_kill_is_removed(house):
    source = Listed([Batch(pages("a", "b", "c")), Batch(pages("d"))])
    house.kill(source, tells=1)
    source.listing = ["fake:b", "fake:c", "fake:d"]
    assert house.sync(source).run().removed == 1
    assert set(house.texts()) == {"b", "c", "d"}


def test_a_document_that_was_deleted_and_came_back_stays(house):
    house.sync(Cursored([Batch(pages("a", "b", "c"))])).run()
    source = Cursored([Batch(()), Batch((), deleted_ids=("fake:a",)), Batch(pages("a", text="Back."))])
    house.kill(source, tells=1)
    house.sync(source).run()
    assert house.texts()["a"] == "Back."


@pytest.mark.parametrize("again", [True, False])
def test_a_failure_of_a_killed_run_stays_one_unless_the_document_is_read_after_all(house, again):
    failure = Failure("fake:x", "It was away.")
    rest = pages("x", *"bcdefghijklmnopqrstuvw") if again else pages(*"bcdefghijklmnopqrstuvw")
    source = Cursored([Batch(pages("a"), failures=(failure,)), Batch(rest)])
    house.kill(source, tells=1)
    report = house.sync(source).run()
    assert report.failures == (() if again else (failure,))
    assert house.store.state("fake").cursor == ("2" if again else None)


def test_what_was_staged_is_indexed_though_the_source_is_away(house, source):
    house.kill(source)
    source.batches[2] = SourceError("It is away.", retryable=True)
    with pytest.raises(SourceError, match="Couldn't read fake to its end"):
        house.sync(source).run()
    assert set(house.texts()) == {"a", "b", "c"}
    assert house.store.state("fake").cursor == "2"


def test_steps_in_other_processes_go_on_with_what_they_were_given(house, source):
    sync = house.sync(source)
    extraction = sync.extract("scheduled__1")
    house.sync(source).run()
    assert source.reads == [None, None], "its shards are for its own steps"
    reports = [ShardReport.from_json(sync.index(shard).to_json()) for shard in sync.shards(extraction)]
    assert sync.reconcile(extraction, reports).unchanged == 4
    assert not house.files("*.gz")


def test_in_a_place_without_locks_nothing_of_another_run_is_removed(house, source):
    place = f"memory://{house.staging.parent.name}/staging"
    house.kill(source, staging_uri=place)
    house.sync(source, staging_uri=place).run()
    assert source.reads == [None, "2"]
    assert set(house.texts()) == {"a", "b", "c", "d"}


def test_shards_that_are_full_are_taken_over_with_the_pieces_of_the_last(house):
    many = Cursored([Batch(pages(*(f"p{number}-{n}" for n in range(100)))) for number in range(6)])
    house.kill(many, tells=4)
    assert [path.name for path in house.files("*.gz")] == [
        "piece-00000-000.jsonl.gz", "piece-00000-001.jsonl.gz", "piece-00001-000.jsonl.gz",
        "piece-00001-001.jsonl.gz", "shard-00000.jsonl.gz",
    ]  # fmt: skip
    house.sync(many).run()
    assert many.reads == [None, "4"]
    assert len(house.texts()) == 600


@pytest.mark.slow
def test_a_process_that_was_killed_for_good_while_it_read(tmp_path):
    def start() -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "tests.ingest.extract.resume_process",
            str(tmp_path / "index"),
            str(tmp_path / "staging"),
        ]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start() as process:
        for expected in ("since None", "staged 1", "staged 2", "staged 3"):
            assert process.stdout.readline().strip() == expected
            if expected in ("staged 1", "staged 2"):
                process.stdin.write("\n")
                process.stdin.flush()
        process.kill()
    with start() as process:
        output, _ = process.communicate("\n" * 9, timeout=60)
    assert output.startswith("since 3\nstaged 4\n")
    assert "300 new" in output


@pytest.mark.parametrize("text", ["[]", "{", "[" * 200_000, '{"failures": []}', '{"failures": [{"id": 1}]}'])
def test_a_manifest_of_another_release_or_none_says_to_run_again(house, source, text):
    """As where Lore is updated between two tasks of a run."""
    sync = house.sync(source)
    extraction = sync.extract("scheduled__1")
    Path(extraction).write_text(text)
    with pytest.raises(StoreError, match="Couldn't read") as caught:
        sync.shards(extraction)
    assert "Run the sync again" in caught.value.remedy
