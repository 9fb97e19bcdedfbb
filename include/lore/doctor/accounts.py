"""Checks of the accounts that sources are read with: identity, missing permissions, and calls left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from lore.declarations import (
    GitHubIssuesDeclaration,
    GitHubRepoDeclaration,
    SlackDeclaration,
    load_declarations,
)
from lore.doctor.finding import Finding, guarded
from lore.errors import LoreError
from lore.settings import Settings

if TYPE_CHECKING:
    from lore.sources.github.api.probe import RequiredAccess

GitHubDeclaration: TypeAlias = GitHubRepoDeclaration | GitHubIssuesDeclaration

MAX_REPOSITORIES = 20
SLACK_SCOPES = ("channels:read", "channels:history", "users:read")
"""Scopes that every declaration of the kind needs; private channels also need groups:read and groups:history."""


def examine_accounts(settings: Settings) -> Iterator[Finding]:
    """Yield a finding for each server that sources are read from."""
    try:
        declared = load_declarations(settings.project.sources_dir).valid
    except LoreError:  # which is a finding already
        declared = ()
    github: dict[str, list[GitHubDeclaration]] = {}
    slack: dict[str, list[SlackDeclaration]] = {}
    for one in declared:
        if isinstance(one, GitHubRepoDeclaration | GitHubIssuesDeclaration):
            github.setdefault(one.base_url or settings.github.base_url, []).append(one)
        elif isinstance(one, SlackDeclaration):
            slack.setdefault(one.base_url or "", []).append(one)
    for repositories in github.values() or [[]]:
        yield guarded("github", partial(check_github, settings, repositories))
    for channels in slack.values() or [[]]:
        yield guarded("slack", partial(check_slack, settings, channels))


def check_github(settings: Settings, declarations: Sequence[GitHubDeclaration] = ()) -> Finding:
    """Check that GitHub accepts the token or App, and that it may read the declared repositories of one server."""
    from lore.sources.github.api.client import GitHubAccess
    from lore.sources.github.api.probe import probe_github
    from lore.sources.http.retries import RetryPolicy
    from lore.wiring.secrets import secret
    from lore.wiring.sources import make_github_access

    if settings.github.token is None and not settings.github.app_id:
        return Finding("github", "skipped", "no token is set: 60 calls an hour, public repositories only")
    if settings.github.app_id and not declarations:
        return Finding("github", "skipped", "an App is set, and no repository is declared to look at")
    token = secret(settings.github.token)
    access = (
        make_github_access(declarations[0], settings)
        if declarations
        else GitHubAccess(settings.github.base_url, lambda: token, settings.calls.timeout_seconds, RetryPolicy(0))
    )
    found = probe_github(access, [_need(declaration) for declaration in declarations[:MAX_REPOSITORIES]])
    left = "no rate limit" if found.calls_left is None else f"{found.calls_left:,} calls left this hour"
    detail = f"{found.who}, {access.base_url}, {left}"
    if found.lacking:
        return Finding(
            "github",
            "problem",
            f"{detail}; it may not read {', '.join(found.lacking)}",
            "Give the token or the App read access to that (a classic token: the scope repo), or correct `repository`.",
        )
    return Finding("github", "ok", detail)


def check_slack(settings: Settings, declarations: Sequence[SlackDeclaration]) -> Finding:
    """Check that Slack accepts the token, and that it has the needed scopes, for the declarations of one server."""
    from lore.sources.slack.probe import probe_slack
    from lore.wiring.sources import make_slack_connection

    if settings.slack.token is None and not declarations:
        return Finding("slack", "skipped", "no token is set, and no channel is declared")
    files = any(declaration.include_files for declaration in declarations)
    needed = (*SLACK_SCOPES, *(("files:read",) if files else ()))
    declaration = declarations[0] if declarations else SlackDeclaration.model_validate({"id": "slack"})
    found = probe_slack(make_slack_connection(declaration, settings), needed)
    told = f"scopes {', '.join(found.scopes)}" if found.scopes else "its scopes are not told"
    if found.lacking:
        return Finding(
            "slack",
            "problem",
            f"{found.who}; the token lacks {', '.join(found.lacking)}",
            "Add what it lacks to the app under OAuth & Permissions, and reinstall it.",
        )
    return Finding("slack", "ok", f"{found.who}, {told}")


def _need(declaration: GitHubDeclaration) -> RequiredAccess:
    from lore.sources.github.api.probe import RequiredAccess

    if isinstance(declaration, GitHubRepoDeclaration):
        return RequiredAccess(declaration.repository, ("contents",))
    pulls = ("pull requests",) if declaration.include_pull_requests else ()
    discussions = ("discussions",) if declaration.include_discussions else ()
    return RequiredAccess(declaration.repository, ("issues", *pulls, *discussions))
