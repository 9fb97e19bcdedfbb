"""Loading of declarations from YAML files; an error names file, line, key and the nearest known name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from lore.declarations.duplicates import Duplicates
from lore.declarations.kinds import KINDS, Declaration
from lore.declarations.yaml_file import explain, read_mapping
from lore.errors import ConfigurationError, DeclarationError

__all__ = ["Declarations", "load_declaration", "load_declarations"]


@dataclass(frozen=True, slots=True)
class Declarations:
    """The valid declarations of a folder, and one error for each broken file."""

    valid: tuple[Declaration, ...] = ()
    broken: tuple[DeclarationError, ...] = ()


def load_declarations(folder: Path) -> Declarations:
    """Load every `*.yaml` and `*.yml` of the folder, in file order; a broken file never hides the others.

    Of two files with the same id, the second is broken. Raises ConfigurationError without such a folder.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"The folder of declarations {folder.absolute()} doesn't exist.",
            remedy="Run the command in the project's folder, or set LORE_SOURCES_DIR.",
        )
    valid: dict[str, tuple[Declaration, Path]] = {}
    broken: list[DeclarationError] = []
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml")):
        try:
            declaration = load_declaration(path)
            if declaration.id in valid:
                raise DeclarationError(
                    f"{path}: the id {declaration.id!r} is already declared in {valid[declaration.id][1].name}.",
                    remedy="Give one of them another `id`.",
                )
            valid[declaration.id] = (declaration, path)
        except DeclarationError as error:
            broken.append(error)
    return Declarations(tuple(declaration for declaration, _ in valid.values()), tuple(broken))


def load_declaration(path: Path) -> Declaration:
    """Load one file. Raises DeclarationError, which names file, line, key and the nearest known name."""
    values, lines = read_mapping(path, least="kind")
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
        nested = (f"duplicates.{name}" for name in Duplicates.model_fields)
        raise explain(path, error, lines, [*KINDS[kind].model_fields, *nested]) from None
    except (ValueError, RecursionError) as error:  # pydantic passes on errors of Python itself
        raise DeclarationError(f"{path}: invalid value: {error}.", remedy="Correct the file.") from None
