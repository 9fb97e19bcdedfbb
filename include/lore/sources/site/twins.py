"""The Markdown that some sites serve beside each page, at the page's address with `.md` (llmstxt.org)."""

from __future__ import annotations

__all__ = ["page_address", "twin_addresses"]


def twin_addresses(address: str) -> tuple[str, ...]:
    """Return possible addresses of a page's Markdown, likeliest first."""
    path = address.partition("?")[0]
    if path.endswith("/"):
        folder = path.rstrip("/")
        named = (f"{folder}.md",) if folder.count("/") > 2 else ()  # at the root there is no name to add it to
        return (*named, f"{path}index.md", f"{path}index.html.md")
    if path.endswith((".html", ".htm")):
        return (f"{path}.md", f"{path.rpartition('.')[0]}.md")
    return (f"{path}.md", f"{path}/index.md")


def page_address(twin: str) -> str:
    """Return the page that a Markdown address belongs to, or the address itself if it is no Markdown address."""
    page = twin.removesuffix(".md")
    return page[: -len("index")] if page != twin and page.endswith("/index") else page
