"""Declarations in `dags/sources/*.yaml`: one file for each source, checked key by key before anything runs.

A module for each family of kinds; `kinds` registers them, `load` reads the files, `fields` has the types of values.
`assistant` declares the assistant itself, `access` who reads as which audience, and `slack_bot` what the bot answers.
"""

from lore.declarations.access import Access, load_access
from lore.declarations.assistant import Assistant, load_assistant
from lore.declarations.discourse import DiscourseDeclaration
from lore.declarations.duplicates import Duplicates
from lore.declarations.files import FilesDeclaration
from lore.declarations.github import GitHubIssuesDeclaration, GitHubRepoDeclaration
from lore.declarations.json_api import JsonApiDeclaration
from lore.declarations.kinds import KINDS, Declaration
from lore.declarations.load import Declarations, load_declaration, load_declarations
from lore.declarations.site import SiteDeclaration
from lore.declarations.slack import SlackDeclaration, SlackExportDeclaration
from lore.declarations.slack_bot import SlackRules, load_slack_rules
from lore.declarations.stackoverflow import StackOverflowDeclaration
from lore.declarations.templates import Expression, Template

__all__ = [
    "KINDS",
    "Access",
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
    "SlackRules",
    "StackOverflowDeclaration",
    "Template",
    "load_access",
    "load_assistant",
    "load_declaration",
    "load_declarations",
    "load_slack_rules",
]
