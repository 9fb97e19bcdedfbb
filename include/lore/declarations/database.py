"""Declarations of databases in `dags/databases/*.yaml`: what may be read, by whom, and what its names mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from lore.declarations.fields import Name
from lore.declarations.yaml_file import explain, read_mapping
from lore.errors import ConfigurationError, DeclarationError
from lore.types import PUBLIC

__all__ = ["DatabaseDeclaration", "DatabaseDeclarations", "QueryPolicy", "load_database", "load_databases"]

MAX_TEXT = 1_000


def _column(value: str) -> str:
    if not re.fullmatch(r"[^.]+(?:\.[^.]+)?\.[^.]+", value):
        raise ValueError("should be TABLE.COLUMN, with * for any characters")
    return value


ColumnName: TypeAlias = Annotated[str, Field(max_length=300), AfterValidator(_column)]
"""TABLE.COLUMN or SCHEMA.TABLE.COLUMN; `*` is any text."""
Meaning: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
_STRICT = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class QueryPolicy(BaseModel):
    """Limits of a statement. Reading is all that any statement may do."""

    model_config = _STRICT

    rows: int = Field(1_000, ge=1, le=100_000, description="Most rows of a result")
    seconds: float = Field(30, gt=0, le=3_600, description="Longest time of a statement")
    forbidden_tables: tuple[Name, ...] = Field((), description="Tables that no statement may read; `*` is any text")
    forbidden_columns: tuple[ColumnName, ...] = Field((), description="Columns that no statement may name or return")


class ExampleQuery(BaseModel):
    """A question with the statement that answers it."""

    model_config = _STRICT

    question: Meaning
    sql: Annotated[str, Field(min_length=1, max_length=10 * MAX_TEXT)]


class DatabaseDeclaration(BaseModel):
    """A database that people may ask."""

    model_config = _STRICT

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100, description="Default: the file's name")
    title: str = Field("", description="What people see; default: the id")
    description: str = ""
    url_variable: str | None = Field(
        None,
        pattern=r"^[A-Z][A-Z0-9_]*$",
        description="Environment variable with the address, as SQLAlchemy writes it",
    )
    connection: str | None = Field(None, min_length=1, description="Airflow connection with the address, instead")
    schemas: tuple[Name, ...] = Field((), description="Schemas to read; default: the connection's own")
    include: tuple[Name, ...] = Field((), description="Tables that exist for the assistant; default: all")
    exclude: tuple[str, ...] = Field((), description="Tables, or TABLE.COLUMN, that don't")
    tables: Mapping[str, Meaning] = Field({}, description="Table → its meaning in this business")
    columns: Mapping[ColumnName, Meaning] = Field({}, description="TABLE.COLUMN → its meaning")
    terms: Mapping[str, Meaning] = Field({}, description="Word of this business → its meaning")
    examples: tuple[ExampleQuery, ...] = Field((), max_length=100)
    samples: tuple[ColumnName, ...] = Field((), description="Columns whose few values the model may see")
    policy: QueryPolicy = Field(default_factory=lambda: QueryPolicy.model_validate({}))
    audiences: tuple[Name, ...] = Field((PUBLIC,), min_length=1, description="Audiences that may ask")
    approvers: tuple[Name, ...] = Field((), description="Who may approve a statement; default: the asker")

    @model_validator(mode="before")
    @classmethod
    def _title_from_id(cls, values: Any) -> Any:
        return {"title": values["id"], **values} if isinstance(values, dict) and "id" in values else values

    @model_validator(mode="after")
    def _one_address(self) -> DatabaseDeclaration:
        if (self.url_variable is None) == (self.connection is None):
            raise ValueError("needs either `url_variable` or `connection`; the address itself never goes into the file")
        return self


@dataclass(frozen=True, slots=True)
class DatabaseDeclarations:
    """The valid declarations of a folder by id, and one error for each broken file."""

    valid: Mapping[str, DatabaseDeclaration]
    broken: tuple[DeclarationError, ...] = ()


def load_databases(folder: Path) -> DatabaseDeclarations:
    """Load every `*.yaml` and `*.yml` of the folder; of two files with the same id, the second is broken.

    Raises ConfigurationError without such a folder.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"The folder of databases {folder.absolute()} doesn't exist.",
            remedy="Run the command in the project's folder, or set LORE_DATABASES_DIR.",
        )
    valid: dict[str, DatabaseDeclaration] = {}
    broken: list[DeclarationError] = []
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml")):
        try:
            declaration = load_database(path)
            if declaration.id in valid:
                raise DeclarationError(
                    f"{path}: the id {declaration.id!r} is already declared.", remedy="Give one of them another `id`."
                )
            valid[declaration.id] = declaration
        except DeclarationError as error:
            broken.append(error)
    return DatabaseDeclarations(valid, tuple(broken))


def load_database(path: Path) -> DatabaseDeclaration:
    """Load one file. Raises DeclarationError, which names file, line, key and the nearest known name."""
    values, lines = read_mapping(path, least="url_variable")
    values.setdefault("id", path.stem)
    if "url" in values:
        raise DeclarationError(
            f"{path}, line {lines.get(('url',), 1)}: an address may hold a password, so it doesn't belong in the file.",
            remedy="Put it into an environment variable, and name that as `url_variable`.",
        )
    try:
        return DatabaseDeclaration.model_validate(values)
    except ValidationError as error:
        known = [*DatabaseDeclaration.model_fields, *(f"policy.{name}" for name in QueryPolicy.model_fields)]
        raise explain(path, error, lines, known) from None
    except (ValueError, RecursionError) as error:  # pydantic passes on errors of Python itself
        raise DeclarationError(f"{path}: invalid value: {error}.", remedy="Correct the file.") from None
