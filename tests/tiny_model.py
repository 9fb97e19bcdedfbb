"""Tiny models in folders, laid out as on Hugging Face's hub: they compare pairs of letters, in any script.

A text's vector is the mean of random vectors, one for each pair of neighbouring characters, so texts with the same
words are near each other. There is nothing to download and nothing trained.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

DIMENSIONS = 256
PAIRS = 4_096
LAST_CHARACTER = 0xA000  # kana and Han are before it
SPECIAL = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3}


def write_embedder(folder: Path, *, name: str = "tiny-e5-letters", graph: str = "onnx/model.onnx") -> Path:
    """Write an embedder that pools by the mean; its name decides its prompts, unless a file says them."""
    nodes, tables = _hidden_states()
    _write(folder, name, graph, nodes, tables, ["input_ids", "attention_mask"], ["batch", "length", DIMENSIONS])
    return folder


def write_cross_encoder(folder: Path, *, name: str = "tiny-cross-encoder") -> Path:
    """Write a cross-encoder whose score is ten times the cosine of question and passage, less five."""
    from onnx import helper

    nodes, tables = _hidden_states(output="hidden")
    tables |= {"ones": np.array(1, np.int64), "last": np.array([2], np.int64), "middle": np.array([1], np.int64)}
    tables |= {"ten": np.array(10, np.float32), "five": np.array(5, np.float32), "tiny": np.array(1e-6, np.float32)}
    nodes += [helper.make_node("Sub", ["ones", "token_type_ids"], ["is_question"])]
    for part, of in (("question", "is_question"), ("passage", "token_type_ids")):
        nodes += [
            helper.make_node("Mul", [of, "attention_mask"], [f"{part}_mask"]),
            helper.make_node("Cast", [f"{part}_mask"], [f"{part}_float"], to=1),
            helper.make_node("Unsqueeze", [f"{part}_float", "last"], [f"{part}_wide"]),
            helper.make_node("Mul", ["hidden", f"{part}_wide"], [f"{part}_states"]),
            helper.make_node("ReduceSum", [f"{part}_states", "middle"], [f"{part}_sum"], keepdims=0),
            helper.make_node("ReduceL2", [f"{part}_sum"], [f"{part}_length"], axes=[1], keepdims=1),
            helper.make_node("Add", [f"{part}_length", "tiny"], [f"{part}_norm"]),
            helper.make_node("Div", [f"{part}_sum", f"{part}_norm"], [f"{part}_unit"]),
        ]
    nodes += [
        helper.make_node("Mul", ["question_unit", "passage_unit"], ["products"]),
        helper.make_node("ReduceSum", ["products", "middle"], ["cosine"], keepdims=1),
        helper.make_node("Mul", ["cosine", "ten"], ["scaled"]),
        helper.make_node("Sub", ["scaled", "five"], ["output"]),
    ]
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    _write(folder, name, "model.onnx", nodes, tables, inputs, ["batch", 1])
    return folder


def _hidden_states(output: str = "output") -> tuple[list[Any], dict[str, np.ndarray]]:
    from onnx import helper

    vectors = np.random.default_rng(17).standard_normal((PAIRS, DIMENSIONS)).astype(np.float32)
    tables = {
        "vectors": vectors,
        "shift": np.array([0, 1, 0, -1], np.int64),
        "left": np.array(7_919, np.int64),
        "right": np.array(31, np.int64),
        "pairs": np.array(PAIRS, np.int64),
    }
    nodes = [
        helper.make_node("Pad", ["input_ids", "shift"], ["before"]),
        helper.make_node("Mul", ["before", "left"], ["first"]),
        helper.make_node("Mul", ["input_ids", "right"], ["second"]),
        helper.make_node("Add", ["first", "second"], ["sum"]),
        helper.make_node("Mod", ["sum", "pairs"], ["pair"]),
        helper.make_node("Gather", ["vectors", "pair"], [output]),
    ]
    return nodes, tables


def _write(
    folder: Path, name: str, graph: str, nodes: list[Any], tables: dict[str, np.ndarray], inputs: list[str], shape: Any
) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    made = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(each, TensorProto.INT64, ["batch", "length"]) for each in inputs],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table, each) for each, table in tables.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / graph).parent.mkdir(parents=True, exist_ok=True)
    save(model, folder / graph)
    _tokenizer().save(str(folder / "tokenizer.json"))
    settings = {"model_max_length": 512, "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "config.json").write_text(
        json.dumps({"_name_or_path": f"example/{name}", "hidden_size": DIMENSIONS, "pad_token_id": 0}), encoding="utf-8"
    )


def _tokenizer() -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = {chr(code): code for code in range(4, LAST_CHARACTER)}
    tokenizer = Tokenizer(models.WordLevel(SPECIAL | letters, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(".|\\n"), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokenizer
