"""The keys that every kind of source has."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lore.declarations.duplicates import Duplicates
from lore.declarations.fields import Name, Schedule
from lore.types import PUBLIC, Strategy

__all__ = ["BaseDeclaration"]


class BaseDeclaration(BaseModel):
    """What every kind of source may say about itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100, description="Default: the file's name")
    title: str = Field("", description="What people see; default: the id")
    description: str = ""
    schedule: Schedule | None = Field("@daily", description='Cron, "@daily" and the like, or null: only when triggered')
    owner: str = Field("lore", min_length=1)
    tags: tuple[Name, ...] = ()
    audiences: tuple[Name, ...] = Field((PUBLIC,), min_length=1, description="Who may see what comes from here")
    strategy: Strategy = Field("basic", description="What is embedded, and what the model is given")
    duplicates: Duplicates | None = Field(None, description="Which pages count as one; default: each is shown")
    max_failed_share: float = Field(0.05, ge=0, le=1, description="A sync with a larger share of failures fails")
    max_removed_share: float = Field(0.5, ge=0, le=1, description="A sync that would remove more stops instead")

    @model_validator(mode="before")
    @classmethod
    def _title_from_id(cls, values: Any) -> Any:
        return {"title": values["id"], **values} if isinstance(values, dict) and "id" in values else values
