"""The source of each kind of declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.declarations import (
    Declaration,
    DiscourseDeclaration,
    FilesDeclaration,
    GitHubIssuesDeclaration,
    GitHubRepoDeclaration,
    JsonApiDeclaration,
    SiteDeclaration,
    SlackDeclaration,
    SlackExportDeclaration,
    StackOverflowDeclaration,
)
from lore.protocols import Source
from lore.settings import Settings
from lore.wiring.secrets import secret

if TYPE_CHECKING:
    from lore.sources.github.api.client import GitHubAccess
    from lore.sources.slack.api import SlackConnection

__all__ = ["make_github_access", "make_slack_connection", "make_source"]


def make_source(declaration: Declaration, settings: Settings) -> Source:
    """Return the source of a declaration; nothing is read yet."""
    match declaration:
        case FilesDeclaration():
            from lore.sources.files import FilesSource

            return FilesSource(declaration)
        case SlackExportDeclaration():
            from lore.sources.slack.export import SlackExportSource

            return SlackExportSource(declaration)
        case SlackDeclaration():
            from lore.sources.slack.source import SlackSource

            return SlackSource(
                declaration,
                token=secret(settings.slack.token),
                timeout=settings.calls.timeout_seconds,
                max_retries=settings.calls.max_retries,
            )
        case GitHubIssuesDeclaration():
            from lore.sources.github.issues.source import GitHubIssuesSource

            return GitHubIssuesSource(declaration, make_github_access(declaration, settings))
        case GitHubRepoDeclaration():
            from lore.sources.github.repo.source import GitHubRepoSource

            return GitHubRepoSource(declaration, make_github_access(declaration, settings))
        case SiteDeclaration():
            from lore.sources.site.source import SiteSource

            return SiteSource(
                declaration, timeout=settings.calls.timeout_seconds, max_retries=settings.calls.max_retries
            )
        case StackOverflowDeclaration() | DiscourseDeclaration() | JsonApiDeclaration():
            return _make_api_source(declaration, settings)


def _make_api_source(
    declaration: StackOverflowDeclaration | DiscourseDeclaration | JsonApiDeclaration, settings: Settings
) -> Source:
    from lore.sources.http.json_client import secrets_for
    from lore.sources.http.retries import RetryPolicy

    timeout, retries = settings.calls.timeout_seconds, RetryPolicy(settings.calls.max_retries)
    if isinstance(declaration, DiscourseDeclaration):
        from lore.sources.discourse.source import DiscourseSource

        secrets = secrets_for(declaration.url, secret(settings.sources.api_headers))
        return DiscourseSource(declaration, secrets=secrets, timeout=timeout, retries=retries)
    if isinstance(declaration, JsonApiDeclaration):
        from lore.sources.json_api.source import JsonApiSource

        secrets = secrets_for(declaration.url, secret(settings.sources.api_headers))
        return JsonApiSource(declaration, secrets=secrets, timeout=timeout, retries=retries)
    if declaration.dump:
        from lore.sources.stackoverflow.dump import StackOverflowDumpSource

        return StackOverflowDumpSource(declaration)
    from lore.sources.stackoverflow.api import BASE_URL, StackExchangeAccess
    from lore.sources.stackoverflow.source import StackOverflowSource

    key = secret(settings.sources.stackexchange_key)
    access = StackExchangeAccess(declaration.base_url or BASE_URL, key=key, timeout=timeout, retries=retries)
    return StackOverflowSource(declaration, access=access)


def make_slack_connection(declaration: SlackDeclaration, settings: Settings) -> SlackConnection:
    """Return the access to a workspace; the token is empty if none is set."""
    from lore.sources.slack.api import DEFAULT_BASE_URL, SlackConnection

    token = secret(settings.slack.token) or ""
    base_url = declaration.base_url or DEFAULT_BASE_URL
    return SlackConnection(base_url, token, settings.calls.timeout_seconds, settings.calls.max_retries)


def make_github_access(
    declaration: GitHubIssuesDeclaration | GitHubRepoDeclaration, settings: Settings
) -> GitHubAccess:
    """Return the access to a repository: as a GitHub App if one is set, else with the token, else anonymous."""
    from lore.sources.github.api.app import github_access

    return github_access(
        base_url=declaration.base_url or settings.github.base_url,
        repository=declaration.repository,
        token=secret(settings.github.token),
        app_id=settings.github.app_id,
        app_private_key=secret(settings.github.app_private_key),
        app_installation_id=settings.github.app_installation_id,
        timeout=settings.calls.timeout_seconds,
        max_retries=settings.calls.max_retries,
    )
