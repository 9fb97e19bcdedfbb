"""Lists that the tests of JSON APIs share."""

from __future__ import annotations

from lore.declarations import JsonApiDeclaration
from lore.sources.http.retries import RetryPolicy
from lore.sources.json_api.source import JsonApiSource

PAGING = {
    "none": {},
    "page": {},
    "offset": {},
    "next": {"next": "meta.next"},
    "link": {},
    "cursor": {"next": "meta.cursor"},
}


def item(number: int, **more: object) -> dict[str, object]:
    return {"name": f"module-{number}", "about": f"Module {number} does things.", "tags": ["a", "b"]} | more


def declared(server_url: str, **options: object) -> JsonApiDeclaration:
    values = {
        "id": "registry",
        "url": f"{server_url}/items",
        "items": "results",
        "item_id": "{name}",
        "item_title": "The {name}",
        "item_text": "{about}",
    }
    return JsonApiDeclaration(**(values | options))


def source_of(server, secrets=None, max_retries=1, waits=None, timeout=5.0, **options) -> JsonApiSource:
    options = {"paging": server.paging} | PAGING[server.paging] | options
    return JsonApiSource(
        declared(server.base_url, **options),
        secrets=secrets,
        timeout=timeout,
        retries=RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append),
    )


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}


def deleted(batches):
    return [one for batch in batches for one in batch.deleted_ids]
