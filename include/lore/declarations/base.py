"""The keys that every kind of source has."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lore.declarations.duplicates import Duplicates
from lore.declarations.fields import Name, Schedule
from lore.types import PUBLIC, Strategy

__all__ = ["BaseDeclaration"]


class BaseDeclaration(BaseModel):
    """A source of any kind."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100, description="Default: the file's name")
    title: str = Field("", description="What people see; default: the id")
    description: str = ""
    schedule: Schedule | None = Field(
        "@daily", description='Five cron fields, a preset such as "@daily", or null: only when triggered'
    )
    owner: str = Field("lore", min_length=1)
    tags: tuple[Name, ...] = ()
    audiences: tuple[Name, ...] = Field((PUBLIC,), min_length=1, description="Audiences that may see its documents")
    strategy: Strategy = Field("basic", description="Text that is embedded, and text that the model gets")
    duplicates: Duplicates | None = Field(None, description="Rules for duplicate pages; default: each is shown")
    max_failed_share: float = Field(
        0.05, ge=0, le=1, description="Largest share of failed documents before a sync fails"
    )
    max_removed_share: float = Field(0.5, ge=0, le=1, description="Largest share of documents that one sync may remove")

    @model_validator(mode="before")
    @classmethod
    def _title_from_id(cls, values: Any) -> Any:
        return {"title": values["id"], **values} if isinstance(values, dict) and "id" in values else values
