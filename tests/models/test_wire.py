"""Chat models over the wire formats of OpenAI, Azure, Anthropic and Ollama: answers, errors, keys and addresses."""

from __future__ import annotations

from typing import Any

import pytest
from lore.errors import ConfigurationError, ContextTooLongError, ModelError
from lore.models.chat import LangChainChatModel
from lore.models.prices import load_prices
from lore.types import Usage

from tests.models.vendors import (
    ANTHROPIC,
    AZURE,
    BEDROCK,
    CALLS,
    GOOD,
    KEY,
    MESSAGES,
    OLLAMA,
    OPENAI,
    TEXT,
    VENDORS,
    Reply,
    Vendor,
    each,
    failure,
    needed,
)
from tests.servers.model_apis import anthropic, bedrock, ollama, openai
from tests.servers.model_apis.models import Fault

# ---------------------------------------------------------------------------------------------------------- answers


@each(*VENDORS)
def test_an_answer_comes_whole_and_piece_by_piece_with_what_it_took(vendor: Vendor) -> None:
    told: list[Usage] = []
    with vendor.server(lambda body: GOOD if len(told) == 0 else TEXT) as server:
        model = vendor.make(server)
        assert model.structured(MESSAGES, Reply, on_usage=told.append).wordings == ["it", "what"]
        pieces = list(model.stream(MESSAGES, on_usage=told.append))
    assert len(pieces) > 3
    assert "".join(pieces) == TEXT
    assert [(usage.model, usage.input_tokens) for usage in told] == [(vendor.model, 100)] * 2
    assert [usage.output_tokens for usage in told] == [len(GOOD.split()), len(TEXT.split())]


@each(OPENAI, AZURE, ANTHROPIC)
def test_cost_counts_what_was_in_the_cache(vendor: Vendor) -> None:
    told: list[Usage] = []
    with vendor.server([TEXT]) as server:
        list(vendor.make(server).stream(MESSAGES, on_usage=told.append))
    assert told[0].cost == load_prices().cost(vendor.model, 100, 5, cached_tokens=40)


def test_a_model_without_a_price_has_no_cost() -> None:
    told: list[Usage] = []
    with OPENAI.server([TEXT]) as server:
        model = LangChainChatModel(
            "openai:ours", api_key=KEY, base_url=server.base_url, timeout=5.0, max_retries=0, prices=load_prices()
        )
        list(model.stream(MESSAGES, on_usage=told.append))
    assert told == [Usage("openai:ours", "", 100, 5, None)]


def test_a_server_that_does_not_know_usage_in_streams_is_asked_once() -> None:
    told: list[Usage] = []
    with openai.OpenAIServer(lambda _: TEXT, unknown_options=("stream_options",)) as server:
        model = OPENAI.make(server)
        for _ in range(2):
            assert "".join(model.stream(MESSAGES, on_usage=told.append)) == TEXT
        assert ["stream_options" in request.body for request in server.requests] == [True, False, False]
    assert told == [Usage(OPENAI.model, "", None, None, None)] * 2


def test_a_refusal_of_the_request_itself_is_not_taken_for_one_of_the_option() -> None:
    with OPENAI.server(lambda _: TEXT) as server:
        model = OPENAI.make(server)
        assert "".join(model.stream(MESSAGES)) == TEXT
        server.faults.append(openai.error(400, "Invalid 'messages'."))
        with pytest.raises(ModelError, match="Invalid 'messages'"):
            list(model.stream(MESSAGES))
        assert len(server.requests) == 2
        assert "".join(model.stream(MESSAGES)) == TEXT
        assert "stream_options" in server.requests[-1].body


def test_a_model_without_response_formats_is_asked_in_words() -> None:
    with anthropic.AnthropicServer(lambda _: GOOD, takes_schema=False) as server:
        model = ANTHROPIC.make(server)
        for _ in range(2):
            assert model.structured(MESSAGES, Reply).wordings == ["it", "what"]
        assert ["output_config" in request.body for request in server.requests] == [True, False, False]


def test_what_a_stream_took_is_told_also_when_it_is_left_or_cut() -> None:
    told: list[Usage] = []
    with OPENAI.server(lambda _: TEXT) as server:
        pieces = OPENAI.make(server).stream(MESSAGES, on_usage=told.append)
        next(pieces)
        pieces.close()
        server.faults.append(Fault(cut=True))
        with pytest.raises(ModelError):
            list(OPENAI.make(server).stream(MESSAGES, on_usage=told.append))
    assert [usage.model for usage in told] == [OPENAI.model] * 2


def test_a_call_that_was_refused_took_nothing() -> None:
    told: list[Usage] = []
    with OPENAI.server() as server:
        server.faults.append(openai.error(401, "no"))
        with pytest.raises(ModelError):
            OPENAI.make(server).structured(MESSAGES, Reply, on_usage=told.append)
    assert told == []


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("how", CALLS)
@each(OPENAI, AZURE, ANTHROPIC, BEDROCK)
def test_a_wrong_key_names_the_setting_and_not_the_key(vendor: Vendor, how: str) -> None:
    error = failure(vendor, how, vendor.error(401, "authentication_error", f"invalid key {KEY}"))
    assert "rejected the key" in error.message
    assert "API_KEY" in error.remedy
    assert not error.retryable


@pytest.mark.parametrize("how", CALLS)
@each(*VENDORS)
def test_a_model_that_is_not_there(vendor: Vendor, how: str) -> None:
    error = failure(vendor, how, vendor.error(404, "not_found_error", "model 'tiny' not found"))
    assert "was not found" in error.message
    assert not error.retryable


TOO_LONG = [
    (OPENAI, 400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    (OPENAI, 400, "context_length_exceeded", "Your input exceeds the context window of this model."),
    (AZURE, 400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    (ANTHROPIC, 400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    (
        ANTHROPIC,
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000, decrease input length",
    ),
    (ANTHROPIC, 413, "request_too_large", "Request exceeds the maximum size"),
    (OLLAMA, 400, "", "the input length exceeds the context length"),
    (OPENAI, 400, "exceed_context_size_error", "the request exceeds the available context size, try increasing it"),
    pytest.param(BEDROCK, 400, "ValidationException", "Input is too long for requested model.", marks=needed(BEDROCK)),
]


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize(("vendor", "status", "kind", "message"), TOO_LONG)
def test_too_much_has_an_error_of_its_own(vendor: Vendor, status: int, kind: str, message: str, how: str) -> None:
    error = failure(vendor, how, vendor.error(status, kind, message))
    assert type(error) is ContextTooLongError


def test_too_much_for_one_minute_is_too_much() -> None:
    message = "Request too large on tokens per min (TPM): Limit 30000, Requested 50000. The input or output tokens must"
    error = failure(
        OPENAI, "stream", openai.error(429, f"{message} be reduced in order to run.", "rate_limit_exceeded")
    )
    assert type(error) is ContextTooLongError


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize(
    ("vendor", "status", "kind", "message"),
    [
        (OPENAI, 429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing."),
        (ANTHROPIC, 400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        (OPENAI, 402, "", "Insufficient Balance"),
    ],
)
def test_a_quota_that_is_used_up_is_not_tried_again(
    vendor: Vendor, status: int, kind: str, message: str, how: str
) -> None:
    error = failure(vendor, how, vendor.error(status, kind, message), max_retries=3)
    assert "quota is used up" in error.message
    assert "billing" in error.remedy


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize(
    ("vendor", "reason", "says"),
    [
        (OPENAI, "content_filter", "refused to answer"),
        (AZURE, "content_filter", "refused to answer"),
        (ANTHROPIC, "refusal", "refused to answer"),
        (OPENAI, "length", "length limit"),
        (ANTHROPIC, "max_tokens", "length limit"),
        (ANTHROPIC, "model_context_window_exceeded", "length limit"),
        (OLLAMA, "length", "length limit"),
        pytest.param(BEDROCK, "guardrail_intervened", "refused to answer", marks=needed(BEDROCK)),
        pytest.param(BEDROCK, "content_filtered", "refused to answer", marks=needed(BEDROCK)),
        pytest.param(BEDROCK, "max_tokens", "length limit", marks=needed(BEDROCK)),
    ],
)
def test_why_a_model_stopped(vendor: Vendor, reason: str, says: str, how: str) -> None:
    assert says in failure(vendor, how, Fault(change=vendor.finish(reason))).message


@pytest.mark.parametrize("how", CALLS)
def test_azure_filters_what_it_is_asked(how: str) -> None:
    message = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    assert "refused to answer" in failure(AZURE, how, openai.error(400, message, "content_filter")).message


def test_a_refusal_in_a_stream_which_langchain_drops_is_an_empty_answer() -> None:
    def refuse(event: dict[str, Any]) -> None:
        for choice in event["choices"]:
            choice["delta"] = {"refusal": "I cannot help with that."} if choice["delta"].get("content") else {}

    assert "empty answer" in failure(OPENAI, "stream", Fault(change=refuse)).message


@pytest.mark.parametrize("how", CALLS)
@each(*VENDORS)
def test_another_kind_of_server(vendor: Vendor, how: str) -> None:
    page = Fault(200, b"<html>It works!</html>", {"Content-Type": "text/html"})
    assert vendor.model in failure(vendor, how, page).message


@pytest.mark.parametrize("how", CALLS)
@each(*VENDORS)
def test_broken_json(vendor: Vendor, how: str) -> None:
    broken = Fault(200, b'{"choices": [{"mess', {})
    assert vendor.model in failure(vendor, how, broken).message


@each(*VENDORS)
def test_a_reply_that_is_no_json(vendor: Vendor) -> None:
    with vendor.server(["I would rather not."]) as server, pytest.raises(ModelError, match="no JSON"):
        vendor.make(server).structured(MESSAGES, Reply)


@each(*VENDORS)
def test_a_stream_of_no_words(vendor: Vendor) -> None:
    with vendor.server([""]) as server, pytest.raises(ModelError, match="empty"):
        list(vendor.make(server).stream(MESSAGES))


@pytest.mark.parametrize("fault", [Fault(cut=True), Fault(clean_cut=True)], ids=["cut", "ended"])
@each(*VENDORS)
def test_a_stream_that_breaks_off_gives_what_came_and_an_error(vendor: Vendor, fault: Fault) -> None:
    pieces: list[str] = []
    with vendor.server(["one two three four five six seven eight"]) as server:
        server.faults.append(fault)
        with pytest.raises(ModelError) as raised:
            pieces.extend(vendor.make(server, max_retries=3).stream(MESSAGES))
        assert len(server.requests) == 1
    assert raised.value.retryable


@pytest.mark.parametrize(
    ("vendor", "fault", "says"),
    [
        (ANTHROPIC, anthropic.stream_error("overloaded_error", "Overloaded"), "HTTP 529"),
        (ANTHROPIC, anthropic.stream_error("api_error", "Internal server error"), "HTTP 500"),
        (OLLAMA, ollama.stream_error("an error was encountered while running the model"), "while running"),
        pytest.param(
            BEDROCK,
            bedrock.stream_error("throttlingException", "Too many tokens, please wait before trying again."),
            "over its rate limit",
            marks=needed(BEDROCK),
        ),
        (
            OPENAI,
            Fault(
                200,
                b'data: {"error": {"message": "The server had an error", "type": "server_error", "code": null}}\n\n',
                {"Content-Type": "text/event-stream"},
            ),
            "had an error",
        ),
    ],
)
def test_an_error_in_the_middle_of_a_stream(vendor: Vendor, fault: Fault, says: str) -> None:
    error = failure(vendor, "stream", fault)
    assert says in error.message
    assert error.retryable


# -------------------------------------------------------------------------------------------------------------- access


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY"),
        ("azure_openai:gpt-4.1-mini", "AZURE_OPENAI_API_KEY"),
        ("openai:gpt-4.1-mini", "LORE_OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_named_before_anything_is_asked(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError, match=says):
        list(LangChainChatModel(name, api_key=None, base_url=None, timeout=5.0, max_retries=0).stream(MESSAGES))


def test_azure_says_what_else_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_VERSION")
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    model = LangChainChatModel(AZURE.model, api_key=KEY, base_url=None, timeout=5.0, max_retries=0)
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_VERSION|AZURE_OPENAI_ENDPOINT") as raised:
        list(model.stream(MESSAGES))
    assert KEY not in str(raised.value)


def test_ollama_is_told_how_much_to_read_and_sent_a_key_only_where_there_is_one() -> None:
    with OLLAMA.server(lambda _: TEXT) as server:
        list(OLLAMA.make(server).stream(MESSAGES))
        list(OLLAMA.make(server, api_key=None).stream(MESSAGES))
        first, second = server.requests
    assert first.body["options"]["num_ctx"] == 16_384
    assert first.headers.get("Authorization", first.headers.get("authorization")) == f"Bearer {KEY}"
    assert "authorization" not in {name.lower() for name in second.headers}


def test_how_much_a_model_may_write() -> None:
    with OPENAI.server(lambda _: TEXT) as server:
        list(OPENAI.make(server, max_tokens=77).stream(MESSAGES))
        assert server.requests[0].body["max_completion_tokens"] == 77
    with ANTHROPIC.server(lambda _: TEXT) as server:
        list(ANTHROPIC.make(server, max_tokens=77).stream(MESSAGES))
        assert server.requests[0].body["max_tokens"] == 77
