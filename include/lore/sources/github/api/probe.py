"""The check behind `lore doctor`: the token's owner, missing permissions, and the calls left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lore.errors import SourceError
from lore.sources.github.api.app import AppToken
from lore.sources.github.api.client import GitHubAccess, GitHubClient
from lore.sources.http.client import HttpError
from lore.sources.payload import as_mapping, as_text

__all__ = ["GitHubProbe", "RequiredAccess", "probe_github"]

LISTS = {"issues": "issues", "pull requests": "pulls"}
"""Permission → a list that requires it."""
DISCUSSIONS = """
query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { discussions(first: 1) { totalCount } }
}
"""
SHA = "application/vnd.github.sha"
REFUSAL_STATUSES = (401, 403, 404)
EMPTY_STATUSES = (409, 410)
"""Statuses of an empty repository, and of issues that are turned off."""


@dataclass(frozen=True, slots=True)
class RequiredAccess:
    """The `permissions` that a repository (OWNER/NAME) needs: "contents", "issues", "pull requests", "discussions"."""

    repository: str
    permissions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GitHubProbe:
    """The token's owner `who`, the calls left in this hour (None: no limit), and missing permissions in words."""

    who: str
    calls_left: int | None
    lacking: tuple[str, ...]


def probe_github(access: GitHubAccess, needs: Sequence[RequiredAccess]) -> GitHubProbe:
    """Check the token, with one call for its owner, one for the limit and one for each permission.

    Raises SourceError when GitHub is unreachable or rejects the token.
    """
    remedies = {401: "The token is wrong or has expired: set LORE_GITHUB_TOKEN or the connection github_default again."}
    with access.open(remedies) as client:
        who = access.token.name() if isinstance(access.token, AppToken) else _login(client)
        lacking = tuple(
            f"{need.repository} ({permission})"
            for need in needs
            for permission in need.permissions
            if not _has_permission(client, need.repository, permission)
        )
        return GitHubProbe(who, _calls_left(client), lacking)


def _login(client: GitHubClient) -> str:
    """Return the account of a person's token, with the scopes of a classic one."""
    try:
        reply = client.get("/user")
    except HttpError as error:
        if error.status != 403:
            raise
        return "an installation's token"  # belongs to no person
    login = as_text(as_mapping(reply.data).get("login"))
    if not login:
        raise SourceError("The server doesn't answer like GitHub's API.", remedy="Set LORE_GITHUB_BASE_URL.")
    return f"{login}, scopes {reply.scopes or 'none'}" if reply.scopes is not None else login


def _calls_left(client: GitHubClient) -> int | None:
    try:
        resources = as_mapping(as_mapping(client.get("/rate_limit").data).get("resources"))
    except HttpError as error:
        if error.status == 404:  # GitHub Enterprise without rate limits
            return None
        raise
    left = as_mapping(resources.get("core")).get("remaining")
    return left if isinstance(left, int) else None


def _has_permission(client: GitHubClient, repository: str, permission: str) -> bool:
    owner, _, name = repository.partition("/")
    if permission == "discussions":
        return _is_allowed(lambda: client.graphql(DISCUSSIONS, {"owner": owner, "name": name}))
    if permission == "contents":
        return _is_allowed(lambda: client.get_text(f"/repos/{repository}/commits/HEAD", SHA))
    return _is_allowed(lambda: client.get(f"/repos/{repository}/{LISTS[permission]}", {"per_page": 1}))


def _is_allowed(call: Callable[[], object]) -> bool:
    """Return True unless GitHub refuses the call; an empty repository counts as allowed."""
    try:
        call()
    except HttpError as error:
        if error.status in REFUSAL_STATUSES:
            return False
        if error.status not in EMPTY_STATUSES:
            raise
    return True
