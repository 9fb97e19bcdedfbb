"""The layout of collections on the server: their creation, and a comparison with existing ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lore.stores.weaviate.collections.schema import VECTOR_NAME, CollectionOptions, Property

MAX_CONNECTIONS, DYNAMIC_EF_MAX = 16, 320
"""Neighbours of a vector in the HNSW graph, and the candidates that a search of 100 follows at most.

The latter is for vectors that are not quantized. The server's defaults, 32 and 500, cost it a seventh more;
docs/scale.md has the recall of both.
"""


@dataclass(frozen=True, slots=True)
class CollectionLayout:
    """One collection; `vectors` is True if its objects have one."""

    name: str
    properties: Sequence[Property]
    vectors: bool = False


def create(client: Any, layout: CollectionLayout, options: CollectionOptions, description: str = "") -> None:
    """Create a collection; of several concurrent attempts one succeeds. Raises the client's errors."""
    from weaviate.classes.config import Configure, DataType, StopwordsPreset, Tokenization
    from weaviate.classes.config import Property as ClientProperty

    client.collections.create(
        layout.name,
        description=description or None,
        properties=[
            ClientProperty(
                name=each.name,
                data_type=DataType(each.type),
                index_filterable=each.filterable,
                index_searchable=each.searchable if each.tokenization else None,
                tokenization=Tokenization(each.tokenization) if each.tokenization else None,
            )
            for each in layout.properties
        ],
        vector_config=_vector_config(options) if layout.vectors else None,
        inverted_index_config=Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
        replication_config=Configure.replication(factor=options.replication_factor),
    )


def _vector_config(options: CollectionOptions) -> Any:
    from weaviate.classes.config import Configure, VectorDistances

    make: Any = Configure.VectorIndex
    quantizer = {"none": make.Quantizer.none, "rq": make.Quantizer.rq, "bq": make.Quantizer.bq}[options.quantization]()
    cosine = VectorDistances.COSINE
    candidates = DYNAMIC_EF_MAX if options.quantization == "none" else None
    graph = make.hnsw(
        distance_metric=cosine, quantizer=quantizer, max_connections=MAX_CONNECTIONS, dynamic_ef_max=candidates
    )
    if options.vector_index == "dynamic":
        index: Any = make.dynamic(distance_metric=cosine, hnsw=graph)
    else:
        index = graph if options.vector_index == "hnsw" else make.flat(distance_metric=cosine, quantizer=quantizer)
    return Configure.Vectors.self_provided(name=VECTOR_NAME, vector_index_config=index)


def differences(config: Any, layout: CollectionLayout) -> list[str]:
    """The fields in which an existing collection lacks what the code needs; more than needed does no harm."""
    existing = {each.name: each for each in config.properties}
    wrong: list[str] = []
    for needed in layout.properties:
        found = existing.get(needed.name)
        if found is None:
            wrong.append(f"{needed.name} is missing")
            continue
        pairs = {
            "dataType": (found.data_type.value, needed.type),
            "indexFilterable": (found.index_filterable or not needed.filterable, True),
            "indexSearchable": (found.index_searchable or not needed.searchable, True),
        }
        if needed.filterable or needed.searchable:
            pairs["tokenization"] = (found.tokenization.value if found.tokenization else None, needed.tokenization)
        wrong += [
            f"{needed.name}.{field} is {has}, not {needs}" for field, (has, needs) in pairs.items() if has != needs
        ]
    stop_words = config.inverted_index_config.stopwords.preset.value
    if stop_words != "none":
        wrong.append(f"stopwords.preset is {stop_words}, not none")
    if layout.vectors:
        vector = (config.vector_config or {}).get(VECTOR_NAME)
        metric = vector and vector.vector_index_config.distance_metric.value
        if metric != "cosine":
            wrong.append(f"vector {VECTOR_NAME}.distance is {metric}, not cosine")
    return wrong


def deviations(config: Any, layout: CollectionLayout, options: CollectionOptions) -> list[str]:
    """The options of an existing collection that differ from the settings."""
    wrong: list[str] = []
    if config.replication_config.factor != options.replication_factor:
        wrong.append(f"replication factor is {config.replication_config.factor}, not {options.replication_factor}")
    if layout.vectors:
        index = config.vector_config[VECTOR_NAME].vector_index_config
        kind = index.vector_index_type()
        if kind != options.vector_index:
            wrong.append(f"vector index is {kind}, not {options.vector_index}")
        quantized = getattr(index, "hnsw", index) if kind == "dynamic" else index
        name = type(quantized.quantizer).__name__ if quantized.quantizer else "none"  # such as _BQConfig
        quantizer = name.strip("_").removesuffix("Config").lower()
        if quantizer != options.quantization:
            wrong.append(f"quantization is {quantizer}, not {options.quantization}")
    return wrong
