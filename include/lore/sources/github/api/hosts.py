"""The addresses of one GitHub: github.com, an Enterprise server, or an Enterprise Cloud with a domain of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import httpx

from lore.errors import ConfigurationError
from lore.sources.addresses import Origin

__all__ = ["GitHubHosts"]

PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class GitHubHosts:
    """Where the API, the pages, GraphQL and the archives of one GitHub are.

    | | API | pages | archives |
    | --- | --- | --- | --- |
    | github.com | api.github.com | github.com | codeload.github.com |
    | Enterprise server | HOST/api/v3 | HOST | HOST or codeload.HOST |
    | Enterprise Cloud | api.NAME.ghe.com | NAME.ghe.com | codeload.NAME.ghe.com |
    """

    api: Origin
    web_url: str
    graphql_url: str
    archives: frozenset[Origin]

    @classmethod
    def of(cls, base_url: str, archive_hosts: tuple[str, ...] = ()) -> Self:
        """The addresses that belong to an API's. Raises ConfigurationError for what is no web address."""
        try:
            url = httpx.URL(base_url)
        except (httpx.InvalidURL, ValueError):
            url = httpx.URL()
        if url.scheme not in PORTS or not url.host:
            raise ConfigurationError(
                f"{base_url!r} is no web address.",
                remedy="Set the base URL anew (base_url, LORE_GITHUB_BASE_URL): https://…",
            )
        api, root = origin(url), url.host.removeprefix("api.")
        path = url.path.rstrip("/")
        graphql = path.removesuffix("/v3") + "/graphql"
        served = {(url.scheme, root, api[2]), (url.scheme, f"codeload.{root}", api[2])}
        for host in archive_hosts:
            name, _, port = host.partition(":")
            served.add((url.scheme, name, int(port) if port else PORTS[url.scheme]))
        return cls(
            api=api,
            web_url=str(url.copy_with(host=root, path=path.removesuffix("/api/v3") or "/", query=None)).rstrip("/"),
            graphql_url=str(url.copy_with(path=graphql, query=None)),
            archives=frozenset(served | {api}),
        )

    def is_api(self, url: httpx.URL) -> bool:
        """Whether the address is the API's own server, the only one that gets the token."""
        return origin(url) == self.api

    def serves_archives(self, url: httpx.URL) -> bool:
        """Whether an archive may be taken from the address."""
        return origin(url) in self.archives


def origin(url: httpx.URL) -> Origin:
    """Scheme, host and port, with the port that the scheme implies."""
    return url.scheme, url.host, url.port or PORTS.get(url.scheme, 0)
