"""Rules for duplicate pages of a source: in two versions or languages, or nearly word for word."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from lore.declarations.fields import Name

__all__ = ["Duplicates"]


def _one_group(value: str) -> str:
    import regex  # like the code that matches addresses, because it supports a timeout

    try:
        groups = regex.compile(value).groups
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        raise ValueError(f"is an invalid regular expression: {error}") from None
    if groups != 1:
        raise ValueError(
            f"has {groups} groups instead of one around the part that differs, as in /(en|de)/; "
            "write other brackets as (?:…)"
        )
    return value


Variant: TypeAlias = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_one_group)]


class Duplicates(BaseModel):
    """Conditions for pages to count as one, and the order in which one is chosen."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    prefer: tuple[Name, ...] = Field(
        (),
        description="Parts of addresses, best first, `*` for any characters; the page with the best one is shown",
    )
    variants: tuple[Variant, ...] = Field(
        (), description="Regular expressions with one group: the part in which the addresses of a page differ"
    )
    similarity: float | None = Field(
        0.9,
        ge=0.5,
        le=1,
        description="Share of equal text from which two pages count as one; null: texts aren't compared",
    )

    @field_validator("prefer", "variants", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _compares_something(self) -> Duplicates:
        if self.similarity is None and not self.variants:
            raise ValueError("compares nothing: set `variants` or `similarity`, or leave out `duplicates`")
        return self
