"""What a source says of pages that are there twice: in two versions or languages, or nearly word for word."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from lore.declarations.fields import Name

__all__ = ["Duplicates"]


def _one_group(value: str) -> str:
    import regex  # as what matches addresses by it, and not `re`: it can be given a time

    try:
        groups = regex.compile(value).groups
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    if groups != 1:
        raise ValueError(
            f"has {groups} groups and should have one, around the part that differs, as in /(en|de)/; "
            "other brackets are written (?:…)"
        )
    return value


Variant: TypeAlias = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_one_group)]


class Duplicates(BaseModel):
    """Which pages count as one, and which of them is shown."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    prefer: tuple[Name, ...] = Field(
        (),
        description="Pieces of addresses, best first, a star for any characters: the page with one is shown",
    )
    variants: tuple[Variant, ...] = Field(
        (), description="Regular expressions whose group is the part in which the addresses of one page differ"
    )
    similarity: float | None = Field(
        0.9, ge=0.5, le=1, description="Pages with so large a share of equal text are one; null: texts are not compared"
    )

    @field_validator("prefer", "variants", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _compares_something(self) -> Duplicates:
        if self.similarity is None and not self.variants:
            raise ValueError("compares nothing: give `variants` or a `similarity`, or leave `duplicates` out")
        return self
