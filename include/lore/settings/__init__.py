"""The only reader of the environment: every setting is a `LORE_…` variable, in the process or in a `.env` file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from lore.errors import ConfigurationError
from lore.settings.groups import (
    BudgetSettings,
    CallSettings,
    DatabaseSettings,
    EvaluationSettings,
    GitHubSettings,
    IndexSettings,
    IngestSettings,
    ModelSettings,
    ProjectSettings,
    ProviderSettings,
    QuerySettings,
    RecordSettings,
    SettingsGroup,
    SlackSettings,
    SourceSettings,
    TraceSettings,
    WeaviateSettings,
    WebSettings,
)
from lore.validation import explain_error

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["PREFIX", "RESERVED", "SETTINGS", "VENDOR_NAMES", "Setting", "Settings", "load_settings", "read_variable"]

PREFIX = "LORE_"
RESERVED = ("LORE_TEST_", "LORE_BENCH_")  # read by the test suite and the benches, not by Lore
VENDOR_NAMES = {
    "openai_api_key": "OPENAI_API_KEY",
    "cohere_api_key": "COHERE_API_KEY",
    "github_token": "GITHUB_TOKEN",
    "slack_token": "SLACK_BOT_TOKEN",
    "slack_app_token": "SLACK_APP_TOKEN",
    "slack_signing_secret": "SLACK_SIGNING_SECRET",
}
"""Keys that are also read from the variables that the vendors' own tools use."""
REMEDY = "See docs/configuration.md."


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by group: read once, passed on, never changed."""

    project: ProjectSettings
    sources: SourceSettings
    github: GitHubSettings
    slack: SlackSettings
    ingest: IngestSettings
    index: IndexSettings
    weaviate: WeaviateSettings
    models: ModelSettings
    providers: ProviderSettings
    calls: CallSettings
    budget: BudgetSettings
    query: QuerySettings
    sql: DatabaseSettings
    evaluation: EvaluationSettings
    records: RecordSettings
    traces: TraceSettings
    web: WebSettings

    @staticmethod
    def of(**values: object) -> Settings:
        """Return settings with these values, by setting name: `Settings.of(slack_token=…)`.

        Raises ConfigurationError for an unknown name or an invalid value, which is not repeated.
        """
        return Settings(**_groups({name: {} for name in GROUPS}, values))

    def with_values(self, **values: object) -> Settings:
        """Return a copy with other values, by setting name. Raises ConfigurationError as `of` does."""
        return Settings(**_groups({name: dict(getattr(self, name)) for name in GROUPS}, values))

    def value(self, name: str) -> Any:
        """Return the value of a setting by its name, such as "slack_token"."""
        setting = SETTINGS[name]
        return getattr(getattr(self, setting.group), setting.field)


@dataclass(frozen=True, slots=True)
class Setting:
    """Place and definition of a setting: `settings.<group>.<field>`."""

    group: str
    field: str
    info: FieldInfo


GROUPS: Mapping[str, type[SettingsGroup]] = get_type_hints(Settings)
"""Name of a group → its class."""

SETTINGS: Mapping[str, Setting] = {
    kind.variable_prefix + field: Setting(group, field, info)
    for group, kind in GROUPS.items()
    for field, info in kind.model_fields.items()
}
"""Name of a setting → the setting. The name is that of its variable, in lower case and without `LORE_`."""


def _groups(before: Mapping[str, Mapping[str, object]], values: Mapping[str, object]) -> dict[str, Any]:
    """Return the validated groups, made of the values before and those that change."""
    for name in values:
        if name not in SETTINGS:
            raise ConfigurationError(f"Unknown setting {name!r}.", remedy=_near(name, SETTINGS))
    changes = {(SETTINGS[name].group, SETTINGS[name].field): value for name, value in values.items()}
    groups: dict[str, SettingsGroup] = {}
    problems: list[str] = []
    for name, kind in GROUPS.items():
        changed = {field: value for (group, field), value in changes.items() if group == name}
        try:
            groups[name] = kind.model_validate({**before[name], **changed})
        except ValidationError as error:
            problems += (_problem(kind, item) for item in error.errors(include_input=False, include_url=False))
    if problems:
        raise ConfigurationError(f"Invalid settings: {'; '.join(problems)}.", remedy=REMEDY)
    return groups


def _problem(kind: type[SettingsGroup], item: ErrorDetails) -> str:
    return f"{PREFIX}{(kind.variable_prefix + str(item['loc'][0])).upper()} {explain_error(item)}"


def load_settings(
    environ: Mapping[str, str] | None = None, *, defaults: Mapping[str, object] | None = None, **overrides: object
) -> Settings:
    """Read the settings from `environ` (default: the process) and from `.env` below it; overrides win.

    `defaults` replace the settings' own defaults. Raises ConfigurationError for an unknown `LORE_…` name, naming the
    nearest known one, and for an invalid value. Values are never repeated in the message: they may be secrets.
    """
    values = _read_dotenv()
    values.update(os.environ if environ is None else environ)
    known = {f"{PREFIX}{name.upper()}": name for name in SETTINGS}
    for key in values:
        if key.startswith(PREFIX) and not key.startswith(RESERVED) and key not in known:
            raise ConfigurationError(f"Unknown setting {key}.", remedy=_near(key, known))
    filled = {key: value.strip() for key, value in values.items() if value.strip()}  # a blank value is not set
    given: dict[str, object] = dict(defaults or {})
    given |= {name: filled[key] for name, key in VENDOR_NAMES.items() if key in filled}
    given |= {name: filled[key] for key, name in known.items() if key in filled}
    return Settings.of(**(given | overrides))


def read_variable(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return a variable that a declaration names, from `environ` (default: the process) or `.env`; None if blank."""
    values = os.environ if environ is None else environ
    return (values.get(name) or _read_dotenv().get(name) or "").strip() or None


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else REMEDY


def _read_dotenv() -> dict[str, str]:
    from dotenv import dotenv_values

    try:
        return {key: value for key, value in dotenv_values(".env").items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        path = Path(".env").absolute()
        raise ConfigurationError(f"Couldn't read {path}: {reason}.", remedy="Correct or remove the file.") from None
