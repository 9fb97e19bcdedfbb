"""Traces, through the real exporter to a collector of our own."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from lore.errors import ConfigurationError, RecordsError
from lore.records.otel import TraceSink, check_endpoint
from lore.records.recorder import Finished, QueuedRecorder
from lore.types import Answer, Plan, Trace, Usage

from tests.records.answers import MARCH, full_answer, small_answer
from tests.records.conftest import unredacted
from tests.servers.otlp import Collector, attributes

BEGIN = int(MARCH.timestamp()) * 10**9


def sent(answer: Answer, *, content: bool = False, redact: object = unredacted) -> Collector:
    with Collector() as collector:
        sink = TraceSink(collector.base_url, content=content, redact=redact)  # type: ignore[arg-type]
        sink.add_all([Finished(answer, MARCH)])
        sink.close()
    return collector


def test_a_span_for_each_stage_with_its_true_times() -> None:
    collector = sent(full_answer())
    assert collector.paths == ["/v1/traces"]
    root = collector.named("invoke_agent lore")
    assert (root.start_time_unix_nano, root.end_time_unix_nano) == (BEGIN, BEGIN + 2_120_000_000)
    assert root.parent_span_id == b""
    expected = {"plan": (0, 500), "retrieve": (500, 520), "rerank": (520, 620), "answer": (620, 2120)}
    for stage, (begin, end) in expected.items():
        span = collector.named(stage)
        times = (span.start_time_unix_nano - BEGIN, span.end_time_unix_nano - BEGIN)
        assert times == pytest.approx((begin * 10**6, end * 10**6), abs=1000)  # floats of nanoseconds
        assert (span.trace_id, span.parent_span_id) == (root.trace_id, root.span_id)


def test_calls_of_models_have_the_genai_names() -> None:
    collector = sent(full_answer())
    chats = [span for span in collector.spans if span.name == "chat gpt"]
    assert [span.parent_span_id for span in chats] == [collector.named(name).span_id for name in ("plan", "answer")]
    assert attributes(chats[0]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.usage.input_tokens": 500,
        "gen_ai.usage.output_tokens": 60,
        "lore.cost": 0.25,
        "lore.stage": "plan",
    }
    assert "lore.cost" not in attributes(chats[1])
    root = attributes(collector.named("invoke_agent lore"))
    assert root["gen_ai.operation.name"] == "invoke_agent"
    assert (root["lore.answer.id"], root["lore.found"], root["lore.index.version"]) == ("a" * 32, True, 4)
    assert root["gen_ai.usage.output_tokens"] == 260
    assert attributes(collector.named("retrieve"))["gen_ai.operation.name"] == "retrieval"


def test_a_call_outside_the_stages_is_below_the_answer() -> None:
    trace = Trace(Plan("q", ("q",)), usage=(Usage("minilm", "elsewhere"),), seconds={"total": 1.0})
    collector = sent(small_answer("small", trace=trace))
    assert collector.named("chat minilm").parent_span_id == collector.named("invoke_agent lore").span_id


def test_texts_are_sent_only_if_asked_for_and_redacted() -> None:
    answer = full_answer("zebra", text="The zebra's key is hunter2.")
    answer = replace(answer, id="1" * 32)
    assert b"zebra" not in sent(answer).bodies
    with_texts = sent(answer, content=True, redact=lambda text: text.replace("hunter2", "[redacted]"))
    root = attributes(with_texts.named("invoke_agent lore"))
    assert "How is zebra rotated?" in root["gen_ai.input.messages"]
    assert "The zebra's key is [redacted]." in root["gen_ai.output.messages"]
    assert b"hunter2" not in with_texts.bodies


def test_a_path_that_is_given_is_kept() -> None:
    with Collector() as collector:
        TraceSink(f"{collector.base_url}/otlp/v1/traces", content=False, redact=unredacted).add_all(
            [Finished(full_answer(), MARCH)]
        )
    assert collector.paths == ["/otlp/v1/traces"]


def test_a_collector_that_refuses_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "lore")
    with Collector(refusals=2, status=400) as collector:
        recorder = QueuedRecorder(
            lambda: TraceSink(collector.base_url, content=False, redact=unredacted), "the traces", first_pause=0.01
        )
        for number in range(3):
            recorder.record(small_answer(f"id-{number}"))
        assert recorder.flush(timeout=30)
        recorder.close()
    names = [attributes(span)["lore.answer.id"] for span in collector.spans]
    assert sorted(names) == ["id-0", "id-1", "id-2"]
    assert "Answers are written to the traces again." in caplog.messages


def test_a_collector_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    with Collector(refusals=1, status=404) as collector:
        sink = TraceSink(collector.base_url, content=False, redact=unredacted)
        with pytest.raises(RecordsError, match=r"collector.*404") as away:
            sink.add_all([Finished(full_answer(), MARCH)])
        sink.add_all([Finished(full_answer(), MARCH)])
    assert away.value.retryable
    assert caplog.messages == []  # the exporter's own words are in the error


@pytest.mark.parametrize("endpoint", ["localhost:4318", "grpc://host:4317", "http://", "file:///etc/passwd"])
def test_an_endpoint_that_is_none(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="LORE_OTEL_ENDPOINT"):
        check_endpoint(endpoint)


def test_an_endpoint_that_is_one() -> None:
    check_endpoint("https://collector.example.com")
