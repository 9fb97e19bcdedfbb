"""The addresses of one GitHub: github.com, an Enterprise server, or Enterprise Cloud with its own domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import httpx

from lore.errors import ConfigurationError
from lore.sources.http.addresses import DEFAULT_PORTS, Origin, origin_of

__all__ = ["GitHubHosts"]


@dataclass(frozen=True, slots=True)
class GitHubHosts:
    """Addresses of the web pages and of GraphQL, and the servers that may deliver archives.

    | | API | pages | archives |
    | --- | --- | --- | --- |
    | github.com | api.github.com | github.com | codeload.github.com |
    | Enterprise server | HOST/api/v3 | HOST | HOST or codeload.HOST |
    | Enterprise Cloud | api.NAME.ghe.com | NAME.ghe.com | codeload.NAME.ghe.com |
    """

    web_url: str
    graphql_url: str
    archives: frozenset[Origin]

    @classmethod
    def of(cls, base_url: str, archive_hosts: tuple[str, ...] = ()) -> Self:
        """Derive the addresses from the API's base URL. Raises ConfigurationError when it is invalid."""
        try:
            url, api = httpx.URL(base_url), origin_of(base_url)
        except (httpx.InvalidURL, ValueError):
            api = None
        if api is None:
            raise ConfigurationError(
                f"{base_url!r} is not a web address.",
                remedy="Correct the base URL (base_url, LORE_GITHUB_BASE_URL): https://…",
            )
        root, path = url.host.removeprefix("api."), url.path.rstrip("/")
        archives = {api, (url.scheme, root, api[2]), (url.scheme, f"codeload.{root}", api[2])}
        for host in archive_hosts:
            name, _, port = host.partition(":")
            archives.add((url.scheme, name, int(port) if port else DEFAULT_PORTS[url.scheme]))
        return cls(
            web_url=str(url.copy_with(host=root, path=path.removesuffix("/api/v3") or "/", query=None)).rstrip("/"),
            graphql_url=str(url.copy_with(path=path.removesuffix("/v3") + "/graphql", query=None)),
            archives=frozenset(archives),
        )
