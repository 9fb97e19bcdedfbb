"""Queries through the documented methods of weaviate-client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.objects.batches import any_of, id_in
from lore.stores.weaviate.search.queries import ChunkQuery, PassageContent, Ranking

if TYPE_CHECKING:
    from lore.stores.weaviate.objects.batches import Collection


class ClientQueries:
    """Queries that any client version can make. `MessageQueries` makes the same ones faster."""

    def __init__(self, chunks: Collection) -> None:
        self._query = chunks.query

    def rank(self, query: ChunkQuery) -> Ranking:
        """See `Queries.rank`."""
        from weaviate.classes.query import Filter, HybridFusion, MetadataQuery

        common: dict[str, Any] = {
            "limit": query.limit,
            "filters": Filter.all_of([any_of(name, values) for name, values in query.filters.items()]),
            "return_properties": [],
        }
        if query.vector is None:
            score = MetadataQuery(score=True)
            found = self._query.bm25(query.words, query_properties=query.fields, return_metadata=score, **common)
        elif not query.words:
            found = self._query.near_vector(query.vector.tolist(), target_vector=VECTOR_NAME, **common)
        else:
            found = self._query.hybrid(
                query.words,
                query_properties=query.fields,
                vector={VECTOR_NAME: query.vector.tolist()},
                target_vector=VECTOR_NAME,
                alpha=query.alpha,
                fusion_type=HybridFusion.RELATIVE_SCORE,
                return_metadata=MetadataQuery(score=True, explain_score=True),
                **common,
            )
        return Ranking(
            [str(one.uuid) for one in found.objects],
            [one.metadata.score or 0.0 for one in found.objects],
            [one.metadata.explain_score or "" for one in found.objects],
        )

    def read(self, ids: Sequence[str]) -> list[PassageContent]:
        """See `Queries.read`."""
        import numpy as np

        found = self._query.fetch_objects(
            filters=id_in(ids), limit=len(ids), include_vector=[VECTOR_NAME], return_properties=["payload"]
        )
        contents = []
        for one in found.objects:
            vector = np.array(one.vector.get(VECTOR_NAME, ()), dtype="<f4")
            contents.append(PassageContent(str(one.uuid), one.properties.get("payload") or "", vector.tobytes()))
        return contents
