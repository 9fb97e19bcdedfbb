"""Errors of YAML files that people write, each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from lore.errors import ConfigurationError

__all__ = ["unique_keys", "yaml_errors"]


@contextmanager
def yaml_errors(path: Path, error: type[ConfigurationError], *, quoting: str) -> Iterator[None]:
    """Turn the errors of reading and parsing `path` into an `error`; `quoting` names the values that need quotes."""
    try:
        yield
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        raise error(
            f"{path}{where}: invalid YAML: {problem.problem or problem.context}.",
            remedy=f"Correct the line; {quoting} needs quotes.",
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as problem:
        raise error(f"{path}: couldn't read it as YAML: {problem}.", remedy="Write YAML in UTF-8.") from None


def unique_keys(
    node: yaml.MappingNode, path: Path, error: type[ConfigurationError], *, called: str = "the key "
) -> Iterator[tuple[str, int, yaml.Node]]:
    """Yield each key of a mapping with its line and value.

    A repeated key is an `error`: YAML would silently keep the last one. `called` is the error's word for a key.
    """
    seen: dict[str, int] = {}
    for key, value in node.value:
        line, name = key.start_mark.line + 1, str(key.value)
        if name in seen:
            raise error(
                f"{path}, line {line}: {called}`{name[:100]}` is repeated; the first is on line {seen[name]}.",
                remedy="Delete one of them.",
            )
        seen[name] = line
        yield name, line, value
