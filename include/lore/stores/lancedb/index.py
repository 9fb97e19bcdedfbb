"""Maintenance of LanceDB tables as they grow: when to compact, to update indexes, and to index vectors.

`Table.optimize` joins fragments that share index segments and adds new rows to every index. A vector index gets a new
segment, so older fragments stay in place and the cost follows the change. A table without a vector index is rewritten
whole, which only small tables can afford.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lore.stores.lancedb.folder import Table
    from lore.stores.lancedb.readers import AsyncTable

KEEP_COMMITS = timedelta(minutes=10)
"""Reads take milliseconds and start at the newest commit, so nobody uses an older one by then."""

VECTOR_INDEX = "vector_idx"
EXACT_ROWS = 4_000
"""Up to here vectors have no index: reading them all takes a few milliseconds."""
PARTITION_ROWS = 512
"""Vectors in a partition of the index."""
PROBED_SHARE, PROBED_MINIMUM = 0.375, 48
"""Partitions that a search probes: all of them up to some 24,000 chunks.

Measured at 100,000 chunks (docs/scale.md): recall of the true nearest 100 above .99, at a tenth of the cost.
"""
OVERSAMPLING = 1.25
"""Candidates taken from the quantized index per hit wanted; true distances then rank them again.

1.1 finds as many of the true nearest as 2 does (docs/scale.md).
"""
SEGMENTS_MAXIMUM = 4
"""Above this the vector index is built anew, in some 8 seconds of one processor at 100,000 chunks.

Each sync adds a segment, and each segment costs a search some milliseconds.
"""

UNINDEXED_SHARE, UNINDEXED_MINIMUM, UNINDEXED_MAXIMUM, FRAGMENTS_MAXIMUM = 0.02, 64, 256, 32
"""Chunks that may stay outside the indexes; a search tokenizes each of them, at 35 µs a chunk."""
PLAIN_SHARE, PLAIN_FRAGMENTS_MAXIMUM = 0.2, 100
"""The same for tables that are read by key only, and rewritten whole."""


def optimize(table: Table) -> None:
    """Compact a table that is read by key only, once enough has changed to justify rewriting it."""
    if _unindexed(table) > PLAIN_SHARE * table.count_rows() or _fragments(table) > PLAIN_FRAGMENTS_MAXIMUM:
        table.optimize(cleanup_older_than=KEEP_COMMITS)


def optimize_chunks(table: Table, *, exact_rows: int = EXACT_ROWS) -> None:
    """Update the indexes of a chunk table; vectors have one as long as there are more than `exact_rows`."""
    rows = table.count_rows()
    statistics = table.index_stats(VECTOR_INDEX)
    if rows > exact_rows and (statistics is None or statistics.num_indices > SEGMENTS_MAXIMUM):
        _index_vectors(table)
    elif statistics is not None and rows <= exact_rows // 2:
        table.drop_index(VECTOR_INDEX)
    allowed = min(max(rows * UNINDEXED_SHARE, UNINDEXED_MINIMUM), UNINDEXED_MAXIMUM)
    if _unindexed(table) > allowed or _fragments(table) > FRAGMENTS_MAXIMUM:
        table.optimize(cleanup_older_than=KEEP_COMMITS)


async def probes(table: AsyncTable) -> int:
    """The number of index partitions that a search probes; without an index it has no effect."""
    rows: int = await table.count_rows()
    return max(PROBED_MINIMUM, round(PROBED_SHARE * rows / PARTITION_ROWS))


def _index_vectors(table: Table) -> None:
    """Build one index of all vectors, quantized to a byte per component."""
    from lancedb.index import IvfSq

    config = IvfSq(distance_type="cosine", target_partition_size=PARTITION_ROWS, sample_rate=64)
    table.create_index("vector", config=config, replace=True, name=VECTOR_INDEX)


def _unindexed(table: Table) -> int:
    return max((int(index.num_unindexed_rows or 0) for index in table.list_indices()), default=0)


def _fragments(table: Table) -> int:
    return int(table.stats()["fragment_stats"]["num_small_fragments"])
