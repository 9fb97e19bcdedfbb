"""A folder with a model of one's own: an ONNX graph with its tokenizer, laid out as on Hugging Face's hub."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore.errors import ConfigurationError
from lore.models.fastembed.prompts import prompts_of

__all__ = ["ModelFolder", "is_folder", "read_folder"]

GRAPHS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
"""Places of a graph, in the order of the search; else the only ONNX file of the folder."""
REQUIRED = ("tokenizer.json", "tokenizer_config.json")
REMEDY = "Copy the ONNX graph, tokenizer.json, tokenizer_config.json and config.json of the model into the folder."
POOLING = "1_Pooling/config.json"
PROMPTS = "config_sentence_transformers.json"
SAMPLE = 1 << 20
LONGEST_CONTEXT = 8_192
DEFAULT_CONTEXT = 512

_PATH = re.compile(r"[/~.]")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model in a folder. `graph` is the path of the ONNX graph in it; `dimensions` is 0 if no file says.

    `name` has the model's own name and a digest of its files, so that it is the same on every machine, and another one
    for another model. `pooling` is "CLS", "MEAN" or "LAST_TOKEN". `prompts` go before texts, by "query" and "document".
    """

    path: Path
    graph: str
    name: str
    dimensions: int
    max_tokens: int
    pooling: str
    prompts: dict[str, str]


def is_folder(model: str) -> bool:
    """Return True if a model is given by its folder: a path, or the name of an existing folder."""
    return bool(_PATH.match(model)) or Path(model).is_dir()


def read_folder(model: str) -> ModelFolder:
    """Read what the files of a folder say about its model; the graph isn't loaded.

    Raises ConfigurationError that names what is missing.
    """
    path = Path(model).expanduser().absolute()
    if not path.is_dir():
        raise ConfigurationError(f"The model folder {path} doesn't exist.", remedy="Correct the path in the setting.")
    graph = _graph(path)
    if missing := [name for name in REQUIRED if not (path / name).is_file()]:
        raise ConfigurationError(f"The model folder {path} has no {' and no '.join(missing)}.", remedy=REMEDY)
    config, pooling = _json(path / "config.json"), _json(path / POOLING)
    own_name = str(config.get("_name_or_path") or "").rstrip("/").rpartition("/")[2]
    return ModelFolder(
        path,
        graph,
        f"{own_name or 'folder'}@{_digest(path, graph)}",
        _whole(pooling.get("word_embedding_dimension")) or _whole(config.get("hidden_size")),
        _max_tokens(_json(path / "tokenizer_config.json")),
        _pooling(pooling),
        {name: text for name, text in _prompts(path, own_name).items() if text},
    )


def _graph(path: Path) -> str:
    for name in GRAPHS:
        if (path / name).is_file():
            return name
    found = sorted(str(each.relative_to(path)) for each in path.rglob("*.onnx"))
    if len(found) == 1:
        return found[0]
    has = f"several ONNX graphs ({', '.join(found[:5])}), none of them model.onnx" if found else "no ONNX graph"
    raise ConfigurationError(f"The model folder {path} has {has}.", remedy=REMEDY)


def _pooling(config: dict[str, Any]) -> str:
    if config.get("pooling_mode_cls_token"):
        return "CLS"
    return "LAST_TOKEN" if config.get("pooling_mode_lasttoken") else "MEAN"


def _prompts(path: Path, own_name: str) -> dict[str, str]:
    """Return the prompts that the model's own file names; "passage" is another word for "document"."""
    prompts = _json(path / PROMPTS).get("prompts")
    if not isinstance(prompts, dict) or not any(prompts.values()):
        return prompts_of(own_name or path.name)
    return {
        "query": str(prompts.get("query") or ""),
        "document": str(prompts.get("document") or prompts.get("passage") or ""),
    }


def _max_tokens(config: dict[str, Any]) -> int:
    lengths = [_whole(config.get(name)) for name in ("model_max_length", "max_length")]
    known = [length for length in lengths if 0 < length <= LONGEST_CONTEXT]
    return min(known, default=DEFAULT_CONTEXT)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, {} without the file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise ConfigurationError(f"Couldn't read {path}: {reason}.", remedy=REMEDY) from error
    return found if isinstance(found, dict) else {}


def _digest(path: Path, graph: str) -> str:
    """Return a digest of everything that decides the vectors; of weights their size, beginning and end."""
    digest = hashlib.sha256()
    for name in ("tokenizer.json", "tokenizer_config.json", POOLING, PROMPTS):
        if (path / name).is_file():
            digest.update(name.encode() + (path / name).read_bytes())
    for file in sorted((path / graph).parent.glob(f"{Path(graph).name}*")):
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}".encode())
        with file.open("rb") as weights:
            digest.update(weights.read(SAMPLE))
            weights.seek(max(0, size - SAMPLE))
            digest.update(weights.read(SAMPLE))
    return digest.hexdigest()[:12]
