"""What a run that was killed leaves to the next one, and when that must not take it."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from lore.errors import ConversionError, SourceError, StoreError
from lore.ingest.report import ShardReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.redact.redactor import Redactor
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Cursor, Document, Failure, Recipe

from tests.conftest import ROOT
from tests.contracts.sync import KilledError, kill_at
from tests.fakes import FakeEmbedder, make_document
from tests.syncs import make_sync


@dataclass
class Cursored:
    """A source whose cursor is how many batches came; `listing` None: it cannot say what exists."""

    batches: list[Batch | SourceError]
    reads: list[Cursor | None] = field(default_factory=list)
    id: str = "fake"

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        self.reads.append(since)
        for number, batch in enumerate(self.batches):
            if number < int(since or 0):
                continue
            if isinstance(batch, SourceError):
                raise batch
            yield replace(batch, cursor=str(number + 1))


class Listed(Cursored):
    """One that says what exists."""

    listing: Sequence[str] = ()

    def list_ids(self) -> Iterator[str]:
        yield from self.listing


def pages(*names: str, text: str = "First state.") -> tuple[Document, ...]:
    return tuple(make_document(name, f"# {name}\n\n{text}\n") for name in names)


def convert(document: Document) -> Document:
    if "UNREADABLE" in document.text:
        raise ConversionError("The page is unreadable.")
    return document


class House:
    def __init__(self, folder: Path) -> None:
        self.staging = folder / "staging"
        self.embedder = FakeEmbedder()
        self.store = LanceStore(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))

    def sync(self, source: Cursored, **changes: object) -> Sync:
        values: dict[str, object] = {"staging_uri": str(self.staging), **changes}
        return make_sync(source, self.store, self.embedder, MarkdownSplitter(300), convert, **values)  # type: ignore[arg-type]

    def kill(self, source: Cursored, stage: str = "extract", tells: int = 2, **changes: object) -> None:
        with pytest.raises(KilledError):
            self.sync(source, **changes).run(progress=kill_at(stage, tells))

    def texts(self) -> dict[str, str]:
        return {
            document.id.partition(":")[2]: document.text.split("\n")[2] for document in self.store.documents("fake")
        }

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.staging.rglob(pattern))


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
