"""Baselines that are damaged, foreign, or written at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lore.errors import ConfigurationError
from lore.ingest.baseline.parquet_file import FORMAT, atomic_file
from lore.types import SourceState

from tests.fakes import make_document
from tests.ingest.baseline.baseline_setup import House, header_of, of_another_converter, pages, rewrite, source


@pytest.fixture
def old(tmp_path: Path) -> House:
    """An installation that has synced two sources."""
    house = House(tmp_path / "old")
    house.sync(source(pages()))
    house.sync(source([make_document("only", source_id="other")], None, id="other"))
    return house


@pytest.fixture
def new(tmp_path: Path) -> House:
    return House(tmp_path / "new")


@pytest.fixture
def file(old: House, tmp_path: Path) -> Path:
    path = tmp_path / "baseline.parquet"
    old.baseline().export(path)
    return path


def test_two_exports_at_once_to_one_place_leave_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "baseline.parquet"
    with atomic_file(path, force=True) as first:
        first.write(b"first, which is long")
        with atomic_file(path, force=True) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
        first.write(b" and whole")
    assert path.read_bytes() == b"first, which is long and whole"
    assert list(tmp_path.iterdir()) == [path]


def change_column(path: Path, name: str, change: Callable[[Any], Any]) -> None:
    table = pq.read_table(path)
    position = table.schema.get_field_index(name)
    values = [change(value) for value in table[name].to_pylist()]
    field = table.schema.field(position)
    rewrite(path, table.set_column(position, field, pa.array(values, field.type)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def cut_in_the_middle(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:500] + data[900:])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(bytes(data))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "cut off": cut,
    "with a hole": cut_in_the_middle,
    "with a flipped byte": flip,
    "empty": lambda path: path.write_bytes(b""),
    "no Parquet": lambda path: path.write_text("id,text\n1,Hello\n"),
    "another's Parquet": lambda path: pq.write_table(pa.table({"id": ["a"]}), path),
    "a newer format": lambda path: rewrite(path, format=FORMAT + 1),
    "a header of other keys": lambda path: rewrite(path, nonsense=1),
    "a header of other types": lambda path: rewrite(path, sources=[]),
    "another cursor": lambda path: rewrite(
        path, states={k: v | {"cursor": "c0"} for k, v in header_of(path)["states"].items()}
    ),
    "a row less": lambda path: rewrite(path, pq.read_table(path).slice(1)),
    "a row twice": lambda path: rewrite(path, pa.concat_tables([pq.read_table(path), pq.read_table(path).slice(0, 1)])),
    "another text": lambda path: change_column(path, "text", lambda text: text.replace("lamps", "snakes")),
    "another source": lambda path: change_column(path, "source_id", lambda _: "../../elsewhere"),
    "metadata that is none": lambda path: change_column(path, "metadata", lambda _: "[1]"),
    "other vectors": lambda path: change_column(path, "vectors", lambda data: data[:-4] + b"\0\0\xc0\x7f"),
    "half a vector": lambda path: change_column(path, "vectors", lambda data: data[:-2]),
    "other columns": lambda path: rewrite(path, pq.read_table(path).drop_columns(["text"])),
    "missing": lambda path: path.unlink(),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_is_not_what_was_exported_is_refused_before_anything_is_written(
    new: House, file: Path, damage: Callable[[Path], None]
) -> None:
    damage(file)
    with pytest.raises(ConfigurationError) as refusal:
        new.baseline().load(file)
    assert str(file) in refusal.value.message
    assert new.store.count().documents == 0 and new.store.states() == {}


def test_a_newer_format_is_named(new: House, file: Path) -> None:
    rewrite(file, format=FORMAT + 1, something_new=True)
    with pytest.raises(ConfigurationError, match=f"format {FORMAT + 1}.*reads format {FORMAT}"):
        new.baseline().load(file)


def test_an_exported_import_is_a_baseline_again(new: House, file: Path, tmp_path: Path) -> None:
    of_another_converter(file)
    new.baseline().load(file)
    again = tmp_path / "again.parquet"
    assert new.baseline().export(again).unsettled == {}
    third = House(tmp_path / "third")
    third.baseline().load(again)
    assert third.content() == new.content()
    assert third.sync(source(pages())).changed == 5  # none of these was ever made by a sync


def test_a_source_that_was_never_synced_to_its_end_has_no_cursor(new: House, tmp_path: Path) -> None:
    house = House(tmp_path / "first")
    house.sync(source(pages()))
    house.store.save_state(SourceState("fake"))
    path = tmp_path / "first.parquet"
    house.baseline().export(path)
    assert new.baseline().load(path).cursors == ()
    assert new.sync(source(pages())).unchanged == 5
