"""What a team writes in `dags/sources/*.yaml`: one file, one source, checked key by key before anything runs."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails

from include.lore.errors import ConfigurationError, DeclarationError
from include.lore.types import PUBLIC

__all__ = [
    "Declaration",
    "Declarations",
    "FilesDeclaration",
    "GitHubIssuesDeclaration",
    "SlackExportDeclaration",
    "load_declaration",
    "load_declarations",
]

MAX_BYTES = 256 * 1024
PRESETS = ("@once", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
CRON_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
CRON_NAMES = {
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}


def _schedule(value: str) -> str:
    if value.startswith("@"):
        if value not in PRESETS:
            raise ValueError(f"is not a schedule; presets are {', '.join(PRESETS)}")
        return value
    parts = value.split()
    if len(parts) != len(CRON_FIELDS):
        raise ValueError('is not a schedule; write five cron fields, such as "30 4 * * *", or "@daily"')
    for part, (name, low, high) in zip(parts, CRON_FIELDS, strict=True):
        for item in part.split(","):
            if not _is_cron_item(item, low, high, CRON_NAMES.get(name, [])):
                raise ValueError(f"is not a schedule: {item!r} is no {name} (cron takes {low} to {high})")
    return " ".join(parts)


def _is_cron_item(item: str, low: int, high: int, names: list[str]) -> bool:
    span, slash, step = item.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
        return False
    if span == "*":
        return True
    bounds = [str(names.index(word) + low) if word in names else word for word in span.lower().split("-")]
    if len(bounds) > 2 or not all(bound.isascii() and bound.isdigit() for bound in bounds):
        return False
    numbers = [int(bound) for bound in bounds]
    return numbers == sorted(numbers) and low <= numbers[0] and numbers[-1] <= high


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s<>\"]", value):
        raise ValueError("is not a web address; it starts with https:// or http://")
    if parts.username is not None:
        raise ValueError("holds a user name or password; secrets belong in a connection or setting")
    if parts.query or parts.fragment:
        raise ValueError("is a base address: it ends before any ? or #")
    return value.rstrip("/")


def _location(value: Path, info: ValidationInfo) -> Path:
    if value.parts[:1] and value.parts[0].startswith("~"):
        raise ValueError("starts with ~, which is not expanded; write it from the declaration's folder, or from /")
    folder: Path | None = (info.context or {}).get("folder")
    if folder is None and not value.is_absolute():
        raise ValueError("must be absolute where there is no declaration file that it could start from")
    return Path(os.path.abspath((folder or Path()) / value))  # noqa: PTH100 - `resolve` would follow links


WebAddress: TypeAlias = Annotated[str, AfterValidator(_web_address)]
Location: TypeAlias = Annotated[Path, AfterValidator(_location)]
Name: TypeAlias = Annotated[str, Field(min_length=1)]


class BaseDeclaration(BaseModel):
    """What every kind of source may say about itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100, description="Default: the file's name")
    title: str = Field("", description="What people see; default: the id")
    description: str = ""
    schedule: Annotated[str, AfterValidator(_schedule)] | None = Field(
        "@daily", description='Cron, "@daily" and the like, or null: only when triggered'
    )
    owner: str = Field("lore", min_length=1)
    tags: tuple[Name, ...] = ()
    audiences: tuple[Name, ...] = Field((PUBLIC,), min_length=1, description="Who may see what comes from here")
    max_failed_share: float = Field(0.05, ge=0, le=1, description="A sync with a larger share of failures fails")
    max_removed_share: float = Field(0.5, ge=0, le=1, description="A sync that would remove more stops instead")

    @model_validator(mode="before")
    @classmethod
    def _title_from_id(cls, values: Any) -> Any:
        return {"title": values["id"], **values} if isinstance(values, dict) and "id" in values else values


class FilesDeclaration(BaseDeclaration):
    """A folder of files. `path` starts at the declaration's own folder, and is kept absolute."""

    kind: Literal["files"] = "files"
    path: Location
    include: tuple[Name, ...] = Field((), description="Globs below path; default: every known format")
    exclude: tuple[Name, ...] = Field((), description="Globs below path that are left out")
    base_url: WebAddress | None = Field(None, description="Public address of the folder: base_url/a/b for a/b.md")
    strip_suffix: bool = Field(True, description="Whether a page's address drops .md, .rst, .html and .ipynb")
    url_suffix: str = Field("", pattern=r"^[A-Za-z0-9._-]*$", description='Put at the end of an address: ".html"')
    max_bytes: int = Field(5_000_000, gt=0, le=10**9, description="A larger file is reported as failed, not read")


class SlackExportDeclaration(BaseDeclaration):
    """A workspace export of Slack, as zip file or unpacked. `path` starts at the declaration's own folder."""

    kind: Literal["slack_export"] = "slack_export"
    path: Location
    channels: tuple[Name, ...] = Field((), description="Names or ids; default: every public channel")
    workspace_url: WebAddress | None = Field(None, description="https://WORKSPACE.slack.com, for permalinks")
    include_bots: bool = False


class GitHubIssuesDeclaration(BaseDeclaration):
    """Issues and pull requests of one repository, with their comments."""

    kind: Literal["github_issues"] = "github_issues"
    repository: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-]$", description="OWNER/NAME"
    )
    base_url: WebAddress | None = Field(None, description="GitHub Enterprise's API; default: LORE_GITHUB_BASE_URL")
    state: Literal["all", "open", "closed"] = "all"
    labels: tuple[Name, ...] = Field((), description="Only issues that carry all of these")
    since: date | None = Field(None, description="Only issues that were updated on this day or later")
    include_pull_requests: bool = True


Declaration: TypeAlias = Annotated[
    FilesDeclaration | SlackExportDeclaration | GitHubIssuesDeclaration, Field(discriminator="kind")
]

KINDS: dict[str, type[FilesDeclaration] | type[SlackExportDeclaration] | type[GitHubIssuesDeclaration]] = {
    "files": FilesDeclaration,
    "slack_export": SlackExportDeclaration,
    "github_issues": GitHubIssuesDeclaration,
}


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
    try:
        if path.exists() and not path.is_file():
            raise DeclarationError(f"{path}: is no file.", remedy="Move it elsewhere, or give it another suffix.")
        if path.stat().st_size > MAX_BYTES:
            raise DeclarationError(f"{path}: is larger than {MAX_BYTES:,} bytes.", remedy="Move it elsewhere.")
        loader = _Loader(path.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        lines = dict(_lines(node, path)) if node else {}
        values = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        raise DeclarationError(
            f"{path}{where}: not valid YAML: {error.problem or error.context}.",
            remedy="Correct the line; a value that starts with @, * or % must stand in quotes.",
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise DeclarationError(f"{path}: cannot be read as YAML: {error}.", remedy="Write YAML in UTF-8.") from None
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
