"""What a team writes in `dags/sources/*.yaml`: one file, one source, checked key by key before anything runs.

A file for each family of kinds; `kinds` registers them, `load` reads the files, `fields` has the types of values.
`assistant` is no source: it is what the team says of the assistant itself.
"""

from include.lore.declarations.assistant import Assistant, load_assistant
from include.lore.declarations.discourse import DiscourseDeclaration
from include.lore.declarations.duplicates import Duplicates
from include.lore.declarations.files import FilesDeclaration
from include.lore.declarations.github import GitHubIssuesDeclaration, GitHubRepoDeclaration
from include.lore.declarations.json_api import JsonApiDeclaration
from include.lore.declarations.kinds import KINDS, Declaration
from include.lore.declarations.load import Declarations, load_declaration, load_declarations
from include.lore.declarations.site import SiteDeclaration
from include.lore.declarations.slack import SlackDeclaration, SlackExportDeclaration
from include.lore.declarations.stackoverflow import StackOverflowDeclaration
from include.lore.declarations.templates import Expression, Template

__all__ = [
    "KINDS",
    "Assistant",
    "Declaration",
    "Declarations",
    "DiscourseDeclaration",
    "Duplicates",
    "Expression",
    "FilesDeclaration",
    "GitHubIssuesDeclaration",
    "GitHubRepoDeclaration",
    "JsonApiDeclaration",
    "SiteDeclaration",
    "SlackDeclaration",
    "SlackExportDeclaration",
    "StackOverflowDeclaration",
    "Template",
    "load_assistant",
    "load_declaration",
    "load_declarations",
]
