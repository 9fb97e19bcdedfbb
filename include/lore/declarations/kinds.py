"""The registry of kinds of sources: a class in the union is known by the name in its `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias, get_args

from pydantic import Field

from lore.declarations.discourse import DiscourseDeclaration
from lore.declarations.files import FilesDeclaration
from lore.declarations.github import GitHubIssuesDeclaration, GitHubRepoDeclaration
from lore.declarations.json_api import JsonApiDeclaration
from lore.declarations.site import SiteDeclaration
from lore.declarations.slack import SlackDeclaration, SlackExportDeclaration
from lore.declarations.stackoverflow import StackOverflowDeclaration

__all__ = ["KINDS", "Declaration"]

Declaration: TypeAlias = Annotated[
    FilesDeclaration
    | SlackDeclaration
    | SlackExportDeclaration
    | GitHubIssuesDeclaration
    | GitHubRepoDeclaration
    | SiteDeclaration
    | StackOverflowDeclaration
    | DiscourseDeclaration
    | JsonApiDeclaration,
    Field(discriminator="kind"),
]

KINDS: Mapping[str, type[Declaration]] = {
    declaration.model_fields["kind"].default: declaration for declaration in get_args(get_args(Declaration)[0])
}
"""Name of a kind → class of its declarations, in the order of the union."""
