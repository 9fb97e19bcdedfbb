"""How collections are laid out on the server: made as the code needs them, and compared with what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lore.stores.weaviate.schema import VECTOR_NAME, Property, Shape

NEIGHBOURS, LOOKED_AT = 16, 320
"""How many a vector has in the graph (twice as many in its lowest layer), and how many at most a search of 100 follows
up, unless vectors are quantized: the server would take 32 and 500, which costs it a seventh more. What either finds is
in docs/scale.md."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One collection; `vectors` says whether its objects have one."""

    name: str
    properties: Sequence[Property]
    vectors: bool = False


def create(client: Any, spec: Layout, shape: Shape, description: str = "") -> None:
    """Make a collection; of several that make it at once one succeeds. Raises what the client raises."""
    from weaviate.classes.config import Configure, DataType, StopwordsPreset, Tokenization
    from weaviate.classes.config import Property as Made

    client.collections.create(
        spec.name,
        description=description or None,
        properties=[
            Made(
                name=made.name,
                data_type=DataType(made.type),
                index_filterable=made.filterable,
                index_searchable=made.searchable if made.tokenization else None,
                tokenization=Tokenization(made.tokenization) if made.tokenization else None,
            )
            for made in spec.properties
        ],
        vector_config=_vector_config(shape) if spec.vectors else None,
        inverted_index_config=Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
        replication_config=Configure.replication(factor=shape.replication_factor),
    )


def _vector_config(shape: Shape) -> Any:
    from weaviate.classes.config import Configure, VectorDistances

    make: Any = Configure.VectorIndex
    quantizer = {"none": make.Quantizer.none, "rq": make.Quantizer.rq, "bq": make.Quantizer.bq}[shape.quantization]()
    cosine = VectorDistances.COSINE
    looked_at = LOOKED_AT if shape.quantization == "none" else None
    graph = make.hnsw(distance_metric=cosine, quantizer=quantizer, max_connections=NEIGHBOURS, dynamic_ef_max=looked_at)
    if shape.vector_index == "dynamic":
        index: Any = make.dynamic(distance_metric=cosine, hnsw=graph)
    else:
        index = graph if shape.vector_index == "hnsw" else make.flat(distance_metric=cosine, quantizer=quantizer)
    return Configure.Vectors.self_provided(name=VECTOR_NAME, vector_index_config=index)


def differences(config: Any, spec: Layout) -> list[str]:
    """What the code needs and the collection does not have, field by field; more than is needed does no harm."""
    found = {held.name: held for held in config.properties}
    wrong: list[str] = []
    for needed in spec.properties:
        held = found.get(needed.name)
        if held is None:
            wrong.append(f"{needed.name} is missing")
            continue
        pairs = {
            "dataType": (held.data_type.value, needed.type),
            "indexFilterable": (held.index_filterable or not needed.filterable, True),
            "indexSearchable": (held.index_searchable or not needed.searchable, True),
        }
        if needed.filterable or needed.searchable:
            pairs["tokenization"] = (held.tokenization.value if held.tokenization else None, needed.tokenization)
        wrong += [
            f"{needed.name}.{field} is {has}, not {needs}" for field, (has, needs) in pairs.items() if has != needs
        ]
    stop_words = config.inverted_index_config.stopwords.preset.value
    if stop_words != "none":
        wrong.append(f"stopwords.preset is {stop_words}, not none")
    if spec.vectors:
        vector = (config.vector_config or {}).get(VECTOR_NAME)
        metric = vector and vector.vector_index_config.distance_metric.value
        if metric != "cosine":
            wrong.append(f"vector {VECTOR_NAME}.distance is {metric}, not cosine")
    return wrong


def deviations(config: Any, spec: Layout, shape: Shape) -> list[str]:
    """What the settings ask for and the collection, made earlier, does not have."""
    wrong: list[str] = []
    if config.replication_config.factor != shape.replication_factor:
        wrong.append(f"replication factor is {config.replication_config.factor}, not {shape.replication_factor}")
    if spec.vectors:
        index = config.vector_config[VECTOR_NAME].vector_index_config
        kind = index.vector_index_type()
        if kind != shape.vector_index:
            wrong.append(f"vector index is {kind}, not {shape.vector_index}")
        held = getattr(index, "hnsw", index) if kind == "dynamic" else index
        quantizer = (
            type(held.quantizer).__name__.strip("_").removesuffix("Config").lower() if held.quantizer else "none"
        )
        if quantizer != shape.quantization:
            wrong.append(f"quantization is {quantizer}, not {shape.quantization}")
    return wrong
