"""The parts of the ingest journey: a sync of one source, and the baseline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lore.wiring.models import make_embedder
from lore.wiring.records import make_source_leases
from lore.wiring.sources import make_source
from lore.wiring.stores import make_builders, make_splitter, open_store, open_versions
from lore.wiring.strategies import make_strategy

if TYPE_CHECKING:
    from lore.declarations import Declaration
    from lore.ingest.baseline.baseline import Baseline
    from lore.ingest.sync import Sync
    from lore.protocols import Embedder, Store
    from lore.settings import Settings
    from lore.types import Usage

__all__ = ["make_baseline", "make_sync"]

DISTRIBUTION = "lore-assistant"


def make_sync(
    declaration: Declaration,
    settings: Settings,
    *,
    store: Store | None = None,
    embedder: Embedder | None = None,
    scheduler: str = "",
) -> Sync:
    """Return the sync of one source; pass `store` and `embedder` to share them between several.

    `scheduler` names what begins one run of a source after the other, if anything does.
    """
    from lore.convert import convert
    from lore.ingest.options import DocumentSteps, SyncRules, SyncTarget
    from lore.ingest.sync import Sync
    from lore.redact.redactor import Redactor
    from lore.sources.cursors import NON_SELECTING_KEYS, selection_digest

    embedder = embedder or make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    usage: list[Usage] = []
    return Sync(
        make_source(declaration, settings),
        SyncTarget(
            store or open_store(settings, embedder, splitter),
            embedder,
            versions=partial(make_builders, settings, open_versions(settings), [embedder]),
            leases=make_source_leases(settings, scheduler=scheduler),
        ),
        DocumentSteps(
            convert,
            splitter,
            redactor=Redactor(settings.ingest.redact),
            strategy=make_strategy(settings, declaration.strategy, on_usage=usage.append),
            usage=usage,
        ),
        staging_uri=settings.ingest.staging_uri,
        rules=SyncRules(
            max_failed_share=declaration.max_failed_share,
            max_removed_share=declaration.max_removed_share,
            duplicates=declaration.duplicates,
            selection=selection_digest(declaration.model_dump_json(exclude=set(NON_SELECTING_KEYS))),
        ),
    )


def make_baseline(settings: Settings) -> Baseline:
    """Return the export and import of the index."""
    from importlib.metadata import PackageNotFoundError, version

    from lore.ingest.baseline.baseline import Baseline
    from lore.redact.redactor import Redactor

    try:
        lore_version = version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a checkout that is not installed
        lore_version = "unknown"
    embedder = make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    return Baseline(
        open_store(settings, embedder, splitter),
        embedder,
        splitter,
        staging_uri=settings.ingest.staging_uri,
        lore_version=lore_version,
        redactor=Redactor(settings.ingest.redact),
    )
