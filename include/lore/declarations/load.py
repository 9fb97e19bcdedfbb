"""From YAML files to declarations; what is wrong is named with file, line, key and the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from include.lore.declarations.kinds import KINDS, Declaration
from include.lore.declarations.reading import yaml_errors
from include.lore.errors import ConfigurationError, DeclarationError

__all__ = ["Declarations", "load_declaration", "load_declarations"]

MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Declarations:
    """What a folder declares: the sources that can be used, and one error for each file that cannot."""

    valid: tuple[Declaration, ...] = ()
    broken: tuple[DeclarationError, ...] = ()


def load_declarations(folder: Path) -> Declarations:
    """Every `*.yaml` and `*.yml` of the folder, in file order; a broken file never hides the others.

    Of two files with one id the later is broken. Raises ConfigurationError when there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"The folder of declarations {folder} does not exist.",
            remedy="Create it, or point LORE_SOURCES_DIR at the right one.",
        )
    valid: dict[str, tuple[Declaration, Path]] = {}
    broken: list[DeclarationError] = []
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml")):
        try:
            declaration = load_declaration(path)
            if declaration.id in valid:
                raise DeclarationError(
                    f"{path}: the id {declaration.id!r} is already declared in {valid[declaration.id][1].name}.",
                    remedy="Give one of the two another `id`.",
                )
            valid[declaration.id] = (declaration, path)
        except DeclarationError as error:
            broken.append(error)
    return Declarations(tuple(declaration for declaration, _ in valid.values()), tuple(broken))


def load_declaration(path: Path) -> Declaration:
    """One file. Raises DeclarationError, which names file, line and key, and the nearest known name for a wrong one."""
    values, lines = _read_yaml(path)
    values.setdefault("id", path.stem)
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        said = f"unknown kind {kind!r}" if "kind" in values else "the key `kind` is missing"
        near = difflib.get_close_matches(str(kind), KINDS, n=1)
        raise DeclarationError(
            f"{path}, line {lines.get(('kind',), 1)}: {said}.",
            remedy=f"Did you mean {near[0]!r}?" if near else f"Known kinds: {', '.join(KINDS)}.",
        )
    try:
        return KINDS[kind].model_validate(values, context={"folder": path.absolute().parent})
    except ValidationError as error:
        raise _explain(path, error, lines, list(KINDS[kind].model_fields)) from None
    except (ValueError, RecursionError) as error:  # pydantic passes on what Python itself refuses
        raise DeclarationError(f"{path}: a value cannot be used: {error}.", remedy="Correct the file.") from None


KeyPath: TypeAlias = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """YAML without merge keys (`<<`): through them a few lines stand for billions, and keys come from nowhere."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "merge keys are not read", key.start_mark)


def _read_yaml(path: Path) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    """The file's mapping, and the line of each of its keys."""
    with yaml_errors(path, DeclarationError, quoting="a value that starts with @, * or %"):
        if path.exists() and not path.is_file():
            raise DeclarationError(f"{path}: is no file.", remedy="Move it elsewhere, or give it another suffix.")
        if path.stat().st_size > MAX_BYTES:
            raise DeclarationError(f"{path}: is larger than {MAX_BYTES:,} bytes.", remedy="Move it elsewhere.")
        loader = _Loader(path.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        lines = dict(_lines(node, path)) if node else {}
        values = loader.construct_document(node) if node else None
    if values is None:
        raise DeclarationError(f"{path}: is empty.", remedy="Write at least `kind`, or delete the file.")
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise DeclarationError(f"{path}, line 1: is not a mapping of keys to values.", remedy="Write `kind: files` …")
    return values, lines


def _lines(node: yaml.Node, path: Path, at: KeyPath = (), depth: int = 0) -> Iterator[tuple[KeyPath, int]]:
    """Key path → line. Declarations are two levels deep, so nothing further down is looked at."""
    if depth > 2:
        return
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield (*at, position), item.start_mark.line + 1
            yield from _lines(item, path, (*at, position), depth + 1)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line, name = key.start_mark.line + 1, str(key.value)
            if name in seen:
                raise DeclarationError(
                    f"{path}, line {line}: the key `{name}` is here twice; the first is on line {seen[name]}.",
                    remedy="Delete one of them.",
                )
            seen[name] = line
            yield (*at, name), line
            yield from _lines(value, path, (*at, name), depth + 1)


def _explain(path: Path, error: ValidationError, lines: Mapping[KeyPath, int], known: list[str]) -> DeclarationError:
    wrong: list[str] = []
    remedies: list[str] = []
    for item in error.errors(include_input=False, include_url=False):
        key = tuple(item["loc"])
        line = next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), 1)
        name = ".".join(str(part) for part in key)
        wrong.append(f"line {line}: {_what_is_wrong(name, item)}")
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, known, n=1)
            remedies.append(f"Did you mean `{near[0]}`?" if near else f"Known keys: {', '.join(sorted(known))}.")
    return DeclarationError(f"{path}, {'; '.join(wrong)}.", remedy=" ".join(remedies) or "Correct the file.")


def _what_is_wrong(name: str, item: ErrorDetails) -> str:
    match item["type"]:
        case "extra_forbidden":
            return f"unknown key `{name}`"
        case "missing":
            return f"the key `{name}` is missing"
        case "value_error":
            return f"`{name}` {item['ctx']['error']}"
        case "tuple_type":
            return f"`{name}` should be a list"
        case "string_pattern_mismatch" if name == "id":
            return "`id` (by default the file's name) takes a-z, 0-9, _ and - only"
        case "string_pattern_mismatch" if name == "repository":
            return "`repository` should be OWNER/NAME, not an address"
    return f"`{name}`: {item['msg'][:1].lower()}{item['msg'][1:]}"
