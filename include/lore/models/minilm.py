"""all-MiniLM-L6-v2 as an int8 ONNX graph, built from the official fp32 weights with onnxruntime's own operators.

The graph reads one text at a time, without padding and so without a mask. That makes it fast, because onnxruntime uses
its flash attention, and repeatable: dynamic quantization scales activations by the largest value in the input, so in a
batch a vector would depend on the other texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lore.types import Vector

__all__ = ["DIMENSIONS", "GRAPH_VERSION", "MAX_TOKENS", "Weights", "build_graph", "reference_embedding"]

GRAPH_VERSION = 1
"""Raise it with every change of `build_graph`, so that cached graphs are rebuilt."""
DIMENSIONS = 384
MAX_TOKENS = 256
LAYERS = 6
HEADS = 12
EPSILON = 1e-12
CONTRIB = "com.microsoft"
WEIGHT_LIMIT = 63
"""Weights use 7 of 8 bits: processors without VNNI add two 8-bit products in 16 bits, and 8-bit weights overflow."""

Weights = Mapping[str, NDArray[np.float32]]


def build_graph(weights: Weights) -> bytes:
    """The serialized model: `ids` int32 (1, tokens ≤ 256) → `hidden` float32 (1, tokens, 384).

    Weights of the linear layers are int8 per output channel, activations uint8 per text at run time.
    """
    from onnx import TensorProto, helper

    graph = _Graph(weights)
    state = graph.embeddings("ids")
    for layer in range(LAYERS):
        state = graph.layer(f"encoder.layer.{layer}.", state)
    graph.node("Identity", [state], "hidden")
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT32, [1, "tokens"])],
            [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [1, "tokens", DIMENSIONS])],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)],
        ir_version=9,
    )
    return bytes(model.SerializeToString())


class _Graph:
    """A graph under construction; every method adds nodes and returns the name of their output."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def node(self, operator: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, values: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def embeddings(self, ids: str) -> str:
        # Half precision for word vectors: the file is 23 MB smaller, and no vector changes measurably.
        words = self.constant("words", self._weights["embeddings.word_embeddings.weight"].astype(np.float16))
        self.node("Gather", [words, ids], "words.half")
        self.node("Cast", ["words.half"], "words.float", to=1)
        # Every token is of type 0, so add its type vector to the positions at build time.
        positions = self._weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        table = self.constant("positions", positions + self._weights["embeddings.token_type_embeddings.weight"][0])
        zero = self.constant("zero", np.zeros(1, np.int64))
        self.node("Shape", [ids], "length", start=1, end=2)
        self.node("Slice", [table, zero, "length", zero], "positions.used")
        self.node("Add", ["words.float", "positions.used"], "embeddings.sum")
        return self.layer_norm("embeddings.LayerNorm", "embeddings.sum")

    def layer(self, prefix: str, state: str) -> str:
        attended = self.attention(f"{prefix}attention.self.", state)
        output = self.linear(f"{prefix}attention.output.dense", attended)
        self.node("Add", [output, state], f"{prefix}attention.sum")
        state = self.layer_norm(f"{prefix}attention.output.LayerNorm", f"{prefix}attention.sum")
        wide = self.linear(f"{prefix}intermediate.dense", state, bias=False)
        bias = self.constant(f"{prefix}intermediate.bias", self._weights[f"{prefix}intermediate.dense.bias"])
        wide = self.node("BiasGelu", [wide, bias], f"{prefix}gelu", domain=CONTRIB)
        output = self.linear(f"{prefix}output.dense", wide)
        # Add and LayerNormalization take half the time of onnxruntime's fused SkipLayerNormalization on a CPU.
        self.node("Add", [output, state], f"{prefix}output.sum")
        return self.layer_norm(f"{prefix}output.LayerNorm", f"{prefix}output.sum")

    def attention(self, prefix: str, state: str) -> str:
        """Quantize the input once and multiply it three times, which saves splitting one large product."""
        quantized = [f"{prefix}input", f"{prefix}input.scale", f"{prefix}input.zero"]
        from onnx import helper

        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [state], quantized))
        data, data_scale, data_zero = quantized
        projected = []
        for part in ("query", "key", "value"):
            matrix, scale, bias = self.quantized_weights(prefix + part)
            inputs = [data, matrix, data_scale, scale, data_zero, "", bias]
            projected.append(self.node("MatMulIntegerToFloat", inputs, f"{prefix}{part}.output", domain=CONTRIB))
        return self.node("MultiHeadAttention", projected, f"{prefix}output", domain=CONTRIB, num_heads=HEADS)

    def linear(self, name: str, state: str, *, bias: bool = True) -> str:
        matrix, scale, offset = self.quantized_weights(name, bias=bias)
        inputs = [state, matrix, scale, "", offset] if bias else [state, matrix, scale]
        return self.node("DynamicQuantizeMatMul", inputs, f"{name}.output", domain=CONTRIB)

    def quantized_weights(self, name: str, *, bias: bool = True) -> tuple[str, str, str]:
        matrix = self._weights[f"{name}.weight"].T
        scale = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / WEIGHT_LIMIT
        return (
            self.constant(f"{name}.weight", np.rint(matrix / scale).astype(np.int8)),
            self.constant(f"{name}.scale", scale.astype(np.float32)),
            self.constant(f"{name}.bias", self._weights[f"{name}.bias"]) if bias else "",
        )

    def layer_norm(self, name: str, state: str) -> str:
        gain = self.constant(f"{name}.weight", self._weights[f"{name}.weight"])
        bias = self.constant(f"{name}.bias", self._weights[f"{name}.bias"])
        return self.node("LayerNormalization", [state, gain, bias], f"{name}.output", epsilon=EPSILON)


def reference_embedding(weights: Weights, ids: list[int]) -> Vector:
    """The embedding of one tokenized text in full precision and plain numpy: slow, a reference for the graph.

    Devlin et al. 2019 (BERT), pooled by the mean over tokens as sentence-transformers does.
    """

    def linear(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        centred = values - values.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return np.asarray(scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    def heads(values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    erf = np.frompyfunc(math.erf, 1, 1)
    state = weights["embeddings.word_embeddings.weight"][ids]
    state = state + weights["embeddings.position_embeddings.weight"][: len(ids)]
    state = norm("embeddings.LayerNorm", state + weights["embeddings.token_type_embeddings.weight"][0])
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        query, key, value = (heads(linear(f"{prefix}attention.self.{p}", state)) for p in ("query", "key", "value"))
        logits = query @ key.transpose(0, 2, 1) / math.sqrt(DIMENSIONS // HEADS)
        share = np.exp(logits - logits.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        attended = (share @ value).transpose(1, 0, 2).reshape(len(ids), DIMENSIONS)
        state = norm(f"{prefix}attention.output.LayerNorm", linear(f"{prefix}attention.output.dense", attended) + state)
        wide = linear(f"{prefix}intermediate.dense", state)
        wide = wide * 0.5 * (1.0 + erf(wide / math.sqrt(2.0)).astype(np.float32))
        state = norm(f"{prefix}output.LayerNorm", linear(f"{prefix}output.dense", wide) + state)
    mean = state.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
