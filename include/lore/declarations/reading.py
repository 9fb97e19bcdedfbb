"""What can go wrong with a YAML file that a person wrote, said with its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from lore.errors import ConfigurationError

__all__ = ["unique_keys", "yaml_errors"]


@contextmanager
def yaml_errors(path: Path, error: type[ConfigurationError], *, quoting: str) -> Iterator[None]:
    """Turn what reading and parsing `path` raises into an `error`; `quoting` says which values must stand in quotes."""
    try:
        yield
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        raise error(
            f"{path}{where}: not valid YAML: {problem.problem or problem.context}.",
            remedy=f"Correct the line; {quoting} must stand in quotes.",
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as problem:
        raise error(f"{path}: cannot be read as YAML: {problem}.", remedy="Write YAML in UTF-8.") from None


def unique_keys(
    node: yaml.MappingNode, path: Path, error: type[ConfigurationError], *, called: str = "the key "
) -> Iterator[tuple[str, int, yaml.Node]]:
    """Each key of a mapping with its line and its value. One that is there twice is an `error`: YAML would keep the
    last without a word. `called` is what the error calls a key.
    """
    seen: dict[str, int] = {}
    for key, value in node.value:
        line, name = key.start_mark.line + 1, str(key.value)
        if name in seen:
            raise error(
                f"{path}, line {line}: {called}`{name[:100]}` is here twice; the first is on line {seen[name]}.",
                remedy="Delete one of them.",
            )
        seen[name] = line
        yield name, line, value
