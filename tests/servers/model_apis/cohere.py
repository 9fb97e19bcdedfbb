"""A small server with Cohere's v2 rerank call: a document's score is the share of the query's words that it holds.

    with CohereServer() as server:
        CohereReranker("rerank-v4.0-pro", api_key="k", base_url=server.base_url, ...)

Each request takes one queued fault. Needs only the standard library.
"""

from __future__ import annotations

import re
from typing import Any

from tests.servers.model_apis.models import Fault, ModelHandler, ModelServer, json_fault

__all__ = ["CohereServer", "Fault", "error"]


def error(status: int, message: str, **headers: str) -> Fault:
    """An error in Cohere's form; headers are given with underscores, such as Retry_After="1"."""
    return json_fault(status, {"id": "1", "message": message}, headers)


class Handler(ModelHandler):
    def respond(self, body: dict[str, Any], fault: Fault) -> None:
        if self.path != "/v2/rerank":
            self.send(404, b'{"message": "not found"}', {})
        elif not body["documents"]:
            self.send(400, b'{"message": "invalid request: list of documents must not be empty"}', {})
        else:
            searches = -(-len(body["documents"]) // 100)
            meta = {"api_version": {"version": "2"}, "billed_units": {"search_units": searches}}
            self.answer({"id": "1", "results": ranked(body), "meta": meta}, fault)


class CohereServer(ModelServer):
    """Serves on a free port of 127.0.0.1 while the context is open."""

    handler = Handler


def ranked(body: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = set(re.findall(r"\w+", body["query"].lower()))
    scores = [len(wanted & set(re.findall(r"\w+", text.lower()))) / max(1, len(wanted)) for text in body["documents"]]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])[: body.get("top_n", len(scores))]
    return [{"index": index, "relevance_score": scores[index]} for index in order]
