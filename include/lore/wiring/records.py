"""Wiring of the records and of trace collectors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from socket import gethostname
from threading import Lock
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError
from lore.records.engine import check_url, database_file
from lore.records.otel import check_endpoint
from lore.records.recorder import KEEP_SECONDS, QueuedRecorder
from lore.records.recorders import Recorders
from lore.settings import Settings
from lore.wiring.secrets import secret

if TYPE_CHECKING:
    from lore.ingest.leases import SourceLeases
    from lore.records.clean import Redact
    from lore.records.leases import LeaseStore
    from lore.records.otel import TraceSink
    from lore.records.recorders import ClosingRecorder
    from lore.records.records import Records

__all__ = [
    "describe_records",
    "is_recording",
    "make_ledger",
    "make_recorder",
    "make_source_leases",
    "open_records",
    "records_file",
]

DEFAULT_URL = "sqlite:///.lore/records.db"
OFF = "none"


def make_recorder(settings: Settings) -> Recorders:
    """Make the recorder of every answer: the records and the trace collector of the settings, or nothing.

    Close it when no more answers come, or use it in a `with`; it closes itself when the process ends. Raises
    ConfigurationError for an invalid address.
    """
    recorders: list[ClosingRecorder] = []
    url = _url(settings)
    if url != OFF:
        check_url(url)
        recorders.append(QueuedRecorder(partial(_open, url, settings), "the records", wait=KEEP_SECONDS))
    if settings.traces.endpoint:
        check_endpoint(settings.traces.endpoint)
        recorders.append(QueuedRecorder(partial(_open_traces, settings.traces.endpoint, settings), "the traces"))
    return Recorders(recorders)


def open_records(settings: Settings, *, make: bool = False) -> Records:
    """Open the records for reading and changing; expired answers are removed first.

    Raises ConfigurationError if there are none and they may not be created, and RecordsError.
    """
    url = _url(settings)
    if url == OFF:
        raise ConfigurationError("Answers are not recorded: LORE_RECORDS_URL is none.", remedy="Unset or change it.")
    check_url(url)
    file = database_file(url)
    if file is not None and not file.exists() and not make:
        raise ConfigurationError(f"There are no records at {file.absolute()} yet.", remedy="Run: lore ask QUESTION")
    records = _open(url, settings)
    try:
        while records.tidy():
            pass
    except BaseException:
        records.close()
        raise
    return records


def is_recording(settings: Settings) -> bool:
    """Return True unless the records are turned off."""
    return _url(settings) != OFF


def describe_records(settings: Settings) -> str:
    """Describe the present records in words, without creating or changing anything.

    Raises ConfigurationError for an invalid address and for records of a newer version of Lore, and RecordsError.
    """
    url = _url(settings)
    if url == OFF:
        return "answers are not recorded"
    check_url(url)
    file = database_file(url)
    if file is not None and not file.exists():
        return f"none at {file.absolute()} yet"
    from lore.records.engine import open_engine
    from lore.records.records import Records
    from lore.records.schema import is_up_to_date

    engine = open_engine(url)
    try:
        if not is_up_to_date(engine):
            return f"a {engine.dialect.name} database; the tables are made or changed when the first answer comes"
        return f"{Records(engine, _redact(settings)).count():,} answers, in {engine.dialect.name}"
    finally:
        engine.dispose()


def records_file(settings: Settings) -> Path | None:
    """Return the file of the records; None if they are in PostgreSQL or turned off."""
    return database_file(_url(settings))


def make_ledger(settings: Settings) -> Callable[[datetime], float] | None:
    """Return a function for the cost of all model calls since a moment, in US dollars; None if nothing is recorded.

    Its first call opens the records and raises as `open_records` does, but creates them if there are none.
    """
    url = _url(settings)
    if url == OFF:
        return None
    check_url(url)
    opened: list[Records] = []
    opening = Lock()

    def spent_since(moment: datetime) -> float:
        from lore.records.costs import spent

        with opening:
            if not opened:
                opened.append(_open(url, settings))
        return spent(opened[0].engine, moment)

    return spent_since


def make_source_leases(settings: Settings, *, scheduler: str = "") -> SourceLeases:
    """Make the leases on sources, in the records; without records there are none.

    A file of records that doesn't exist is only created for a `scheduler`: until then nobody holds a lease in it.
    """
    from lore.ingest.leases import NoLeases

    url = _url(settings)
    if url == OFF:
        return NoLeases()
    check_url(url)
    file = database_file(url)
    if file is not None and not file.exists() and not scheduler:
        return NoLeases()
    from lore.records.source_leases import StoredSourceLeases

    staging = settings.ingest.staging_uri
    machine = "" if "://" in staging else f"{gethostname()}:{Path(staging).absolute()}"
    return StoredSourceLeases(partial(_lease_store, url, settings), machine=machine, scheduler=scheduler)


@lru_cache(maxsize=1)
def _lease_store(url: str, settings: Settings) -> LeaseStore:
    """Return the leases in the records, opened once in a process."""
    from lore.records.leases import LeaseStore

    return LeaseStore(_open(url, settings).engine)


def _url(settings: Settings) -> str:
    return secret(settings.records.url) or DEFAULT_URL


def _open(url: str, settings: Settings) -> Records:
    from lore.records.records import Records

    return Records.open(url, _redact(settings), settings.records.retention_days)


def _open_traces(endpoint: str, settings: Settings) -> TraceSink:
    from lore.records.otel import TraceSink

    return TraceSink(endpoint, content=settings.traces.content, redact=_redact(settings))


def _redact(settings: Settings) -> Redact:
    from lore.redact.redactor import Redactor

    # Documents may be kept with their secrets, if their owners say so; what somebody pastes into a question may not.
    return Redactor("secrets" if settings.ingest.redact == "none" else settings.ingest.redact).text
