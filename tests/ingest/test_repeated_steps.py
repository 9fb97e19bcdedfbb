"""Steps of a run that are done twice: after a kill behind the last write, and by clearing a task of a finished run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lore.errors import RemovalFloorError, StagedFileError, SyncError
from lore.ingest.report import ShardReport, SyncReport

from tests.ingest.sync_setup import House, pages, source


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def run(house: House, run_id: str) -> tuple[str, list[ShardReport], SyncReport]:
    """Do all steps in turn, as Airflow's tasks do."""
    extraction = house.sync(source(*pages(3))).extract(run_id)
    reports = [house.sync(source()).index(shard) for shard in house.sync(source()).shards(extraction)]
    return extraction, reports, house.sync(source()).reconcile(extraction, reports)


def test_a_run_that_has_ended_gives_its_report_again(house: House) -> None:
    extraction, reports, report = run(house, "first")
    assert house.staged() == []
    assert house.sync(source()).reconcile(extraction, reports) == report
    plain = json.loads(json.dumps([one.to_json() for one in reports]))
    assert house.sync(source()).reconcile(extraction, [ShardReport.from_json(one) for one in plain]) == report


def test_a_failed_run_fails_again_with_its_reason(house: House) -> None:
    run(house, "first")
    extraction = house.sync(source(cursor="2")).extract("second")  # the source lost everything
    for _ in range(2):
        with pytest.raises((RemovalFloorError, SyncError), match="would lose 3 of its 3 documents"):
            house.sync(source()).reconcile(extraction, [])


def test_what_another_run_has_followed_is_told_to_be_gone(house: House) -> None:
    extraction, reports, _ = run(house, "first")
    run(house, "second")
    with pytest.raises(StagedFileError) as caught:
        house.sync(source()).reconcile(extraction, reports)
    assert caught.value.missing
    with pytest.raises(StagedFileError):
        house.sync(source()).index(f"{Path(extraction).parent}/shard-00000.jsonl.gz")


def test_a_report_of_the_version_before_is_read(house: House) -> None:
    _, _, report = run(house, "first")
    older = {name: value for name, value in report.to_json().items() if name != "attempt"}
    assert SyncReport.from_json(json.loads(json.dumps(older))).attempt == ""
