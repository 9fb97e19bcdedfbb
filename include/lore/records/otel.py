"""Answers as traces for OpenTelemetry, sent over OTLP/HTTP: a span for each stage and for each call of a model.

Names are those of the GenAI semantic conventions (https://opentelemetry.io/docs/specs/semconv/gen-ai/) where there is
one, else they begin with `lore.`. Stages follow one another, so that their durations give their true beginnings and
ends; a call of a model is shown as long as the stage that made it. Texts are sent only where that is asked for.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lore.errors import ConfigurationError, RecordsError, require
from lore.records.clean import Redact, storable_answer
from lore.records.recorder import Finished
from lore.types import Answer, Trace, Usage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, SpanKind

__all__ = ["TraceSink", "check_endpoint"]

PATH = "/v1/traces"
TIMEOUT_SECONDS = 5.0
EXPORTER_LOG = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
ROOT = "invoke_agent lore"
OPERATIONS = {"retrieve": "retrieval", "rerank": "rerank"}
"""Operations of stages that have a name; that of a model's call is "chat" where its stage has none."""


def check_endpoint(endpoint: str) -> None:
    """Raise ConfigurationError where the endpoint is no web address, or a package is missing."""
    if not endpoint.startswith(("http://", "https://")) or not urlsplit(endpoint).hostname:
        raise ConfigurationError(
            "LORE_OTEL_ENDPOINT is no web address.", remedy="Set it to a collector's, like http://localhost:4318."
        )
    for module in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        require(module, "otel", "Sending traces")


class TraceSink:
    """Sends each answer as a trace to a collector. `content` says whether texts are in it, which `redact` went over."""

    def __init__(self, endpoint: str, *, content: bool, redact: Redact) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        whole = endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + PATH
        self._heard = _Heard()
        logging.getLogger(EXPORTER_LOG).addFilter(self._heard)
        self._exporter = OTLPSpanExporter(endpoint=whole, timeout=TIMEOUT_SECONDS)
        self._provider = TracerProvider(resource=Resource.create({"service.name": "lore"}), shutdown_on_exit=False)
        self._tracer = self._provider.get_tracer("lore")
        self._content = content
        self._redact = redact

    def add_all(self, answers: Sequence[Finished]) -> None:
        """Send the answers' traces in one request. Raises RecordsError."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        spans = [
            span for one in answers for span in self._spans(storable_answer(one.answer, self._redact), one.asked_at)
        ]
        with self._heard:
            result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            raise RecordsError(f"The collector of traces did not take them. {self._heard.said}", retryable=True)

    def tidy(self) -> bool:
        """Nothing is kept here."""
        return False

    def close(self) -> None:
        """Give the connection back."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]
        logging.getLogger(EXPORTER_LOG).removeFilter(self._heard)

    def _spans(self, answer: Answer, asked_at: datetime) -> Sequence[ReadableSpan]:
        from opentelemetry.trace import SpanKind

        trace = answer.trace
        begin = round(asked_at.timestamp() * 1e9)
        stages = _intervals(trace, begin)
        whole = (begin, begin + _nanoseconds(trace.seconds.get("total", sum(trace.seconds.values()))))
        root = self._span(ROOT, SpanKind.SERVER, whole, self._of_answer(answer))
        spans = [root]
        for stage, interval in stages.items():
            span = self._span(stage, SpanKind.INTERNAL, interval, self._of_stage(stage, trace), root)
            calls = [usage for usage in trace.usage if usage.stage == stage]
            spans += (self._call(usage, interval, span) for usage in calls)
            spans.append(span)
        others = [usage for usage in trace.usage if usage.stage not in stages]
        spans += (self._call(usage, whole, root) for usage in others)
        return [span for span in spans if hasattr(span, "resource")]  # one that is not sampled is nothing to send

    def _span(
        self,
        name: str,
        kind: SpanKind,
        interval: tuple[int, int],
        attributes: Mapping[str, Any],
        parent: Span | None = None,
    ) -> Any:
        from opentelemetry.context import Context
        from opentelemetry.trace import set_span_in_context

        context = set_span_in_context(parent, Context()) if parent else Context()
        known = {key: value for key, value in attributes.items() if value not in (None, "")}
        begin, end = interval
        span = self._tracer.start_span(name, context, kind, known, start_time=begin)
        span.end(end)
        return span

    def _call(self, usage: Usage, interval: tuple[int, int], parent: Span) -> Any:
        from opentelemetry.trace import SpanKind

        provider, _, model = usage.model.partition(":")
        operation = OPERATIONS.get(usage.stage, "chat")
        attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": provider if model else None,
            "gen_ai.request.model": model or provider,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "lore.cost": usage.cost,
            "lore.stage": usage.stage,
        }
        return self._span(f"{operation} {model or provider}", SpanKind.CLIENT, interval, attributes, parent)

    def _of_answer(self, answer: Answer) -> dict[str, Any]:
        trace = answer.trace
        costs = [usage.cost for usage in trace.usage if usage.cost is not None]
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "lore",
            "gen_ai.usage.input_tokens": sum(usage.input_tokens or 0 for usage in trace.usage),
            "gen_ai.usage.output_tokens": sum(usage.output_tokens or 0 for usage in trace.usage),
            "lore.answer.id": answer.id,
            "lore.surface": answer.question.surface,
            "lore.found": answer.found,
            "lore.citations": len(answer.citations),
            "lore.notes": len(trace.notes),
            "lore.index.version": trace.version,
            "lore.cost": sum(costs) if costs else None,
        }
        if self._content:
            attributes |= {
                "gen_ai.input.messages": _messages("user", answer.question.text),
                "gen_ai.output.messages": _messages("assistant", answer.text),
            }
        return attributes

    def _of_stage(self, stage: str, trace: Trace) -> dict[str, Any]:
        attributes: dict[str, Any] = {"gen_ai.operation.name": OPERATIONS.get(stage)}
        if stage == "retrieve":
            attributes |= {"lore.retrieved": trace.retrieved, "lore.candidates": trace.candidates}
            if self._content:
                attributes["gen_ai.retrieval.query.text"] = trace.plan.question
        elif stage == "rerank":
            attributes["lore.passages"] = len(trace.passages)
        if stage in trace.prompts:
            attributes["lore.prompt.version"] = trace.prompts[stage]
        return attributes


class _Heard(logging.Filter):
    """Takes what the exporter logs while a block of this thread runs: it is said once, in our own error."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""
        self._thread: int | None = None

    def __enter__(self) -> None:
        self.said, self._thread = "", threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._thread = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Let pass what is logged elsewhere."""
        if self._thread != threading.get_ident():
            return True
        self.said = self.said or record.getMessage()
        return False


def _intervals(trace: Trace, begin: int) -> dict[str, tuple[int, int]]:
    """Beginning and end of each stage, in nanoseconds of the epoch, one after another."""
    intervals: dict[str, tuple[int, int]] = {}
    for stage, seconds in trace.seconds.items():
        if stage != "total":
            intervals[stage] = (begin, begin + _nanoseconds(seconds))
            begin = intervals[stage][1]
    return intervals


def _nanoseconds(seconds: float) -> int:
    return max(0, round(seconds * 1e9))


def _messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])
