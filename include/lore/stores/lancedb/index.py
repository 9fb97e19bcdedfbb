"""Keeping a LanceDB table fast as it grows: when it is compacted, when indexes catch up, when vectors get an index.

`Table.optimize` joins fragments that the same index segments cover, and adds rows that are new to every index. A vector
index gets them as a further segment, so the large fragment of the segments before is left where it is, and the cost is
that of what changed and of small scalar indexes. Where vectors have no index, the whole table is rewritten; that is for
tables small enough.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lore.stores.lancedb.folder import Table
    from lore.stores.lancedb.readers import AsyncTable

KEEP_VERSIONS = timedelta(minutes=10)
"""Reads take milliseconds and start at the newest version, so an older one is in nobody's use by then."""

VECTOR_INDEX = "vector_idx"
EXACT_ROWS = 4_000
"""Up to here there is no index of vectors: reading them all takes a few milliseconds."""
PARTITION_ROWS = 512
PROBED_SHARE, PROBED_MINIMUM = 0.375, 48
"""How many vectors a partition of the index has, and into which share of the partitions a search looks.

Up to some 24,000 chunks these are all partitions.

Measured at 100,000 chunks (docs/scale.md): recall of the true nearest 100 above .99, at a tenth of the cost.
"""
LOOKED_AT = 1.25
"""How many times the vectors that are asked for are taken from the index, to be ranked again by their true distance. At
1.1 as many of the true nearest are found as at 2 (docs/scale.md)."""
SEGMENTS_MAXIMUM = 4
"""Each sync adds a segment to the vector index, and a search looks into each, at some milliseconds: above this they
become one, which at 100,000 chunks takes some 8 seconds of one processor.
"""

UNINDEXED_SHARE, UNINDEXED_MINIMUM, UNINDEXED_MAXIMUM, FRAGMENTS_MAXIMUM = 0.02, 64, 256, 32
"""How many chunks may stay outside the indexes. A search splits each into words anew, at 35 µs a chunk."""
PLAIN_SHARE, PLAIN_FRAGMENTS_MAXIMUM = 0.2, 100
"""The same for tables that are only read by key, and are rewritten whole."""


def optimize(table: Table) -> None:
    """Compact a table that is only read by key, once enough has changed for a rewrite of all of it to pay."""
    if _unindexed(table) > PLAIN_SHARE * table.count_rows() or _fragments(table) > PLAIN_FRAGMENTS_MAXIMUM:
        table.optimize(cleanup_older_than=KEEP_VERSIONS)


def optimize_chunks(table: Table, *, exact_rows: int = EXACT_ROWS) -> None:
    """Bring the indexes of a table of chunks up to date; vectors have one while there are more than `exact_rows`."""
    rows = table.count_rows()
    statistics = table.index_stats(VECTOR_INDEX)
    if rows > exact_rows and (statistics is None or statistics.num_indices > SEGMENTS_MAXIMUM):
        _index_vectors(table)
    elif statistics is not None and rows <= exact_rows // 2:
        table.drop_index(VECTOR_INDEX)
    allowed = min(max(rows * UNINDEXED_SHARE, UNINDEXED_MINIMUM), UNINDEXED_MAXIMUM)
    if _unindexed(table) > allowed or _fragments(table) > FRAGMENTS_MAXIMUM:
        table.optimize(cleanup_older_than=KEEP_VERSIONS)


async def probes(table: AsyncTable) -> int:
    """How many partitions of the vector index a search looks into; it changes nothing where there is no index."""
    rows: int = await table.count_rows()
    return max(PROBED_MINIMUM, round(PROBED_SHARE * rows / PARTITION_ROWS))


def _index_vectors(table: Table) -> None:
    """Make one index of all vectors, a byte for each number: to rank by, before the best are looked at in full."""
    from lancedb.index import IvfSq

    config = IvfSq(distance_type="cosine", target_partition_size=PARTITION_ROWS, sample_rate=64)
    table.create_index("vector", config=config, replace=True, name=VECTOR_INDEX)


def _unindexed(table: Table) -> int:
    return max((int(index.num_unindexed_rows or 0) for index in table.list_indices()), default=0)


def _fragments(table: Table) -> int:
    return int(table.stats()["fragment_stats"]["num_small_fragments"])
