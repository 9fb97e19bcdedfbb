"""YAML files with line numbers: an error names file, line, key and the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lore.declarations.reading import unique_keys, yaml_errors
from lore.errors import DeclarationError
from lore.validation import explain_error

__all__ = ["KeyPath", "explain", "read_mapping", "read_model"]

MAX_BYTES = 256 * 1024

KeyPath: TypeAlias = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


class _DeclarationLoader(yaml.SafeLoader):
    """YAML without merge keys (`<<`), which let a few lines expand to billions."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "merge keys are unsupported", key.start_mark)


def read_mapping(path: Path, *, least: str) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    """Return the file's mapping, and the line of each key. `least` is the required key, for the remedy.

    Raises DeclarationError.
    """
    with yaml_errors(path, DeclarationError, quoting="a value that starts with @, * or %"):
        if path.exists() and not path.is_file():
            raise DeclarationError(f"{path}: is not a file.", remedy="Move it elsewhere, or give it another suffix.")
        if path.stat().st_size > MAX_BYTES:
            raise DeclarationError(f"{path}: is larger than {MAX_BYTES:,} bytes.", remedy="Move it elsewhere.")
        loader = _DeclarationLoader(path.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        lines = dict(_lines(node, path)) if node else {}
        values = loader.construct_document(node) if node else None
    if values is None:
        raise DeclarationError(f"{path}: is empty.", remedy=f"Write at least `{least}`, or delete the file.")
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise DeclarationError(f"{path}, line 1: is not a mapping of keys to values.", remedy=f"Write `{least}: …`")
    return values, lines


def read_model(path: Path, model: type[Model], *, least: str, parts: Sequence[type[BaseModel]] = ()) -> Model | None:
    """Return the file as a model, None without such a file. `parts` are the models inside it.

    Raises DeclarationError, which names file, line and key, and the nearest known name for a wrong one.
    """
    if not path.exists():
        return None
    models: list[type[BaseModel]] = [model, *parts]
    values, lines = read_mapping(path, least=least)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise explain(path, error, lines, [name for one in models for name in one.model_fields]) from None
    except (ValueError, RecursionError) as error:  # pydantic passes on errors of Python itself
        raise DeclarationError(f"{path}: invalid value: {error}.", remedy="Correct the file.") from None


def _lines(node: yaml.Node, path: Path, at: KeyPath = (), depth: int = 0) -> Iterator[tuple[KeyPath, int]]:
    """Yield key paths with their lines, down to the two levels that declarations have."""
    if depth > 2:
        return
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield (*at, position), item.start_mark.line + 1
            yield from _lines(item, path, (*at, position), depth + 1)
    if isinstance(node, yaml.MappingNode):
        for name, line, value in unique_keys(node, path, DeclarationError):
            yield (*at, name), line
            yield from _lines(value, path, (*at, name), depth + 1)


def explain(path: Path, error: ValidationError, lines: Mapping[KeyPath, int], known: list[str]) -> DeclarationError:
    """Return pydantic's findings with the lines of the file; `known` are the valid keys."""
    wrong: list[str] = []
    remedies: list[str] = []
    for item in error.errors(include_input=False, include_url=False):
        key = tuple(item["loc"])
        line = next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), 1)
        name = ".".join(str(part) for part in key)
        wrong.append(f"line {line}: {_what_is_wrong(name, item)}")
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(key[-1]), known, n=1) or difflib.get_close_matches(name, known, n=1)
            remedies.append(f"Did you mean `{near[0]}`?" if near else f"Known keys: {', '.join(sorted(known))}.")
    return DeclarationError(f"{path}, {'; '.join(wrong)}.", remedy=" ".join(remedies) or "Correct the file.")


def _what_is_wrong(name: str, item: ErrorDetails) -> str:
    match item["type"]:
        case "extra_forbidden":
            return f"unknown key `{name}`"
        case "missing":
            return f"the key `{name}` is missing"
        case "string_pattern_mismatch" if name == "id":
            return "`id` (by default the file's name) takes a-z, 0-9, _ and - only"
        case "string_pattern_mismatch" if name == "repository":
            return "`repository` should be OWNER/NAME, not an address"
    return f"`{name}` {explain_error(item)}"
