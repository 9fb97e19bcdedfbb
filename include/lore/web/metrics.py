"""Metrics of this process for Prometheus: questions, latencies, costs and opinions, and the age of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from secrets import compare_digest
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.responses import Response

from lore.errors import LoreError
from lore.query.events import Answered, Event
from lore.types import Answer
from lore.web.access import refusal

if TYPE_CHECKING:
    from lore.web.services import ServedSource

__all__ = ["Metrics", "make_metrics_route"]

BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
"""Seconds: from a search without a model to the longest answer."""


class Metrics:
    """Counts in a registry of its own. `sources` lists the sources, and `waiting` counts the questions in the queue."""

    def __init__(self, sources: Callable[[], Sequence[ServedSource]], waiting: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._questions = Counter(
            "lore_questions", "Questions by outcome", ["outcome"], registry=self._registry
        )  # found, not_found, failed, left, refused
        self._seconds = Histogram(
            "lore_stage_seconds", "Time of each stage of an answer", ["stage"], buckets=BUCKETS, registry=self._registry
        )
        self._cost = Counter(
            "lore_cost_dollars", "Cost of models' calls, as far as known", ["model"], registry=self._registry
        )
        self._unpriced = Counter(
            "lore_unpriced_calls", "Calls of models without a price", ["model"], registry=self._registry
        )
        self._feedback = Counter("lore_feedback", "Opinions of readers", ["helpful"], registry=self._registry)
        Gauge("lore_questions_waiting", "Questions in the queue", registry=self._registry).set_function(waiting)
        self._registry.register(_Sources(sources))

    def watch(self, events: Iterator[Event]) -> Iterator[Event]:
        """Yield the events of a question, and count it by how it ends."""
        outcome = "left"
        try:
            for event in events:
                if isinstance(event, Answered):
                    outcome = "found" if event.answer.found else "not_found"
                    self._measure(event.answer)
                yield event
        except Exception:
            outcome = "failed"
            raise
        finally:
            self._questions.labels(outcome).inc()

    def refuse(self) -> None:
        """Count a question that was refused, because its sender asked too often or all places were taken."""
        self._questions.labels("refused").inc()

    def judge(self, helpful: bool) -> None:
        """Count an opinion."""
        self._feedback.labels("yes" if helpful else "no").inc()

    def text(self) -> bytes:
        """Return the metrics in Prometheus's text format."""
        return generate_latest(self._registry)

    def _measure(self, answer: Answer) -> None:
        for stage, seconds in answer.trace.seconds.items():
            self._seconds.labels(stage).observe(seconds)
        for usage in answer.trace.usage:
            if usage.cost is None:
                self._unpriced.labels(usage.model).inc()
            else:
                self._cost.labels(usage.model).inc(usage.cost)


class _Sources(Collector):
    """The sources as the index has them at the moment of reading; nothing while it can't be read."""

    def __init__(self, sources: Callable[[], Sequence[ServedSource]]) -> None:
        self._sources = sources

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return nothing, so that registering doesn't read the index."""
        return ()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield documents and last sync of each source."""
        documents = GaugeMetricFamily("lore_source_documents", "Documents in the index", labels=["source"])
        synced = GaugeMetricFamily("lore_source_synced_timestamp_seconds", "Time of the last sync", labels=["source"])
        try:
            sources = self._sources()
        except LoreError:
            return
        for source in sources:
            documents.add_metric([source.id], source.documents)
            if source.synced_at:
                synced.add_metric([source.id], source.synced_at.timestamp())
        yield from (documents, synced)


def make_metrics_route(metrics: Metrics, token: str | None) -> APIRouter:
    """Return the route of the metrics. With a `token` it must be sent; None lets everybody read, "" nobody."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/metrics", response_class=Response)
    def read(request: Request) -> Response:
        """Return the metrics of this process in Prometheus's text format."""
        if "origin" in request.headers:  # a page, also of a site that shows the widget
            return refusal(403, "The metrics are for no page.", "Read them with Prometheus.")
        sent = request.headers.get("authorization", "").encode()
        if token == "":
            return refusal(
                403, "The metrics aren't public.", "Set LORE_WEB_METRICS_TOKEN, and send it as Bearer token."
            )
        if token is not None and not compare_digest(sent, f"Bearer {token}".encode()):
            headers = {"WWW-Authenticate": "Bearer"}
            return refusal(401, "The metrics need a token.", "Send LORE_WEB_METRICS_TOKEN as Bearer token.", headers)
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})

    return routes
