"""Chat models of any provider that LangChain's `init_chat_model` supports."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from lore.errors import ConfigurationError, LoreError, MissingPackageError, ModelError, require
from lore.models.breaker import CircuitBreaker
from lore.models.calls import ModelCalls
from lore.models.failures import model_error, refuses_options
from lore.models.limiter import Limiter
from lore.models.output.loops import is_looping
from lore.models.output.reader import OutputReader, untagged_reasoning, without_reasoning
from lore.models.providers import ModelAccess, provider_of
from lore.models.schemas import first_object, strict_schema, validated
from lore.models.usage import UsageCollector
from lore.protocols import OnUsage, Prices
from lore.types import Message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["LangChainChatModel"]

Schema = TypeVar("Schema")

FINISH_NAMES = ("finish_reason", "stop_reason", "stopReason", "done_reason", "status")
FILTERED = {"content_filter", "content_filtered", "refusal", "safety", "prohibited_content", "blocklist"} | {
    "guardrail_intervened"
}
CUT = {"length", "max_tokens", "incomplete", "model_context_window_exceeded"}
REFUSED = "{} refused to answer ({})."
EMPTY = "{} returned an empty answer."
NO_ANSWER = "{} returned reasoning, an echo or raw data, and no answer."
CUT_OFF = "The answer of {} was cut off at the model's length limit ({})."
SLICE_CHARACTERS = 400
JSON_PROMPT = "Reply with one JSON object and nothing else. It must fit this JSON schema:\n"


class LangChainChatModel:
    """A chat model by its LangChain name, "provider:model", created on first use; thread-safe.

    Without `api_key` and `base_url` the provider's package reads its own variables. A call ends within `timeout`
    seconds, including at most `max_retries` repeats. A stream may take `stream_timeout` (None: `timeout`) if a piece
    arrives every `timeout` seconds. Raises ConfigurationError for a name without provider or a missing key,
    MissingPackageError without the provider's package, ContextTooLongError for a prompt that is too long, and
    ModelError for a refusal, an empty or unfinished answer, and any other failure.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None,
        base_url: str | None,
        timeout: float,
        max_retries: int,
        max_tokens: int = 4096,
        prices: Prices | None = None,
        limiter: Limiter | None = None,
        breaker: CircuitBreaker | None = None,
        stream_timeout: float | None = None,
    ) -> None:
        self._provider_name, _, bare_name = model.partition(":")
        if not self._provider_name or not bare_name:
            raise ConfigurationError(
                f"The chat model {model!r} names no provider.",
                remedy='Set LORE_CHAT_MODEL to "PROVIDER:MODEL", such as "openai:gpt-5-mini".',
            )
        if self._provider_name == "openai" and not api_key and not base_url:
            raise ConfigurationError(
                f"The chat model {model} needs a key.",
                remedy="Set OPENAI_API_KEY (or LORE_OPENAI_API_KEY), or LORE_OPENAI_BASE_URL to a server of your own.",
            )
        self.name = model
        self._provider = provider_of(self._provider_name)
        self._access = ModelAccess(bare_name, api_key, base_url, timeout, max_tokens)
        self._prices = prices
        self._calls = ModelCalls(
            model, timeout, max_retries, self._failure, limiter or Limiter(8), breaker, stream_timeout=stream_timeout
        )
        self._lock = threading.Lock()
        self._accepts_schema: dict[type, bool] = {}
        """Schema → True if the server accepted it as response format; absent while unknown."""
        self._thinks_untagged = False
        """True once an output had a closing tag of reasoning without an opening one."""
        self._reports_usage: bool | None = None if self._provider.reports_stream_usage else False

    def structured(
        self, messages: Sequence[Message], schema: type[Schema], *, on_usage: OnUsage | None = None
    ) -> Schema:
        """One call with the schema as response format; if that is rejected, a second with the schema in the prompt."""
        chat, usage = self._chat(), UsageCollector(self.name, self._prices, on_usage)
        try:
            raw, parsed = self._calls.run(lambda: self._ask(chat, _to_langchain(messages), schema, usage))
        finally:
            usage.report()
        self._check_finish(_finish(raw))
        # LangChain's parser completes JSON that was cut off, so use its result only without a text.
        text = str(raw.text)
        self._thinks_untagged = self._thinks_untagged or untagged_reasoning(text) > 0
        if text and not (reply := without_reasoning(text)).strip():
            raise ModelError(NO_ANSWER.format(self.name), retryable=True)
        return validated(first_object(reply) if text else parsed, schema, self.name)

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """One call; yield the pieces of text as they arrive. May raise ModelError after some pieces."""
        finish, written, any_text = "", "", False
        reader = OutputReader(messages, hold=self._thinks_untagged)
        chat, usage = self._chat(), UsageCollector(self.name, self._prices, on_usage)
        try:
            for chunk in self._calls.stream(lambda: self._chunks(chat, _to_langchain(messages))):
                usage.add(chunk)
                finish = _finish(chunk) or finish
                for piece in _slices(str(chunk.text)):
                    any_text = any_text or bool(piece.strip())
                    if text := self._readable(reader.feed(piece), reader):
                        written += text
                        yield text
                        if is_looping(written):
                            raise ModelError(f"{self.name} repeated itself without end.")
        finally:
            usage.report()
        if text := self._readable(reader.finish(), reader):
            written += text
            yield text
        self._check_finish(finish)
        if self._provider.reports_finish and not finish:
            raise ModelError(f"The stream of {self.name} ended before the answer was complete.", retryable=True)
        if not written.strip():
            raise ModelError((NO_ANSWER if any_text else EMPTY).format(self.name), retryable=True)

    def _readable(self, text: str, reader: OutputReader) -> str:
        """Return the reader's text. Raises ModelError if reasoning has left before its closing tag told."""
        self._thinks_untagged = self._thinks_untagged or reader.thinks_untagged
        if reader.leaked:
            raise ModelError(f"{self.name} wrote its reasoning into the answer.", retryable=True)
        return text

    async def _ask(
        self, chat: BaseChatModel, messages: list[Any], schema: type[Schema], usage: UsageCollector
    ) -> tuple[Any, Any]:
        """The reply, and the parsed value if its text does not have it."""
        wanted = strict_schema(schema.model_json_schema())  # type: ignore[attr-defined]
        if self._accepts_schema.get(schema, True):
            try:
                return await self._ask_with_format(chat, messages, schema, wanted, usage)
            except Exception as error:
                known = schema in self._accepts_schema
                if known or not (refuses_options(error) or isinstance(error, _NoFormatError)):
                    raise
        reply = await chat.ainvoke([*_to_langchain([Message("system", JSON_PROMPT + json.dumps(wanted))]), *messages])
        self._accepts_schema[schema] = False
        usage.add(reply)
        return reply, None

    async def _ask_with_format(
        self,
        chat: BaseChatModel,
        messages: list[Any],
        schema: type[Schema],
        wanted: dict[str, Any],
        usage: UsageCollector,
    ) -> tuple[Any, Any]:
        options = {"strict": True} if self._provider.reports_stream_usage else {}
        try:
            model = chat.with_structured_output(wanted, method="json_schema", include_raw=True, **options)
        except (NotImplementedError, TypeError, ValueError) as error:
            raise _NoFormatError from error
        try:
            reply: Any = await model.ainvoke(messages)
        except Exception as error:  # OpenAI's SDK raises for a reply that it can't parse, which is charged all the same
            usage.add(getattr(error, "completion", None))
            raise
        self._accepts_schema[schema] = True
        usage.add(reply["raw"])
        if "Refusal" in type(reply["parsing_error"]).__name__:
            raise ModelError(REFUSED.format(self.name, "refusal"))
        return reply["raw"], reply["parsed"]

    async def _chunks(self, chat: BaseChatModel, messages: list[Any]) -> AsyncGenerator[Any, None]:
        """The pieces of the stream, with its usage if the server accepts that option."""
        if self._reports_usage is not False:
            try:
                async for chunk in chat.astream(messages, stream_usage=True):
                    self._reports_usage = True
                    yield chunk
                return
            except Exception as error:
                if self._reports_usage or not refuses_options(error):
                    raise
        async for chunk in chat.astream(messages):
            if self._reports_usage is None:
                self._reports_usage = False
            yield chunk

    def _check_finish(self, reason: str) -> None:
        if reason in FILTERED:
            raise ModelError(REFUSED.format(self.name, reason))
        if reason in CUT:
            raise ModelError(CUT_OFF.format(self.name, reason), remedy="Raise LORE_MAX_OUTPUT_TOKENS.")

    def _failure(self, error: Exception) -> LoreError:
        if isinstance(error, LoreError):
            return error
        if "ContentFilter" in type(error).__name__:  # OpenAI's SDK raises these two while parsing JSON
            return ModelError(REFUSED.format(self.name, "content_filter"))
        if "LengthFinish" in type(error).__name__:
            return ModelError(CUT_OFF.format(self.name, "length"), remedy="Raise LORE_MAX_OUTPUT_TOKENS.")
        if "Credentials" in type(error).__name__:  # AWS
            return ConfigurationError(
                f"The chat model {self.name} needs a key.", remedy=f"Set {self._provider.key} ({error})."
            )
        provider, secret = self._provider, self._access.api_key
        return model_error(error, model=self.name, setting=provider.setting, key=provider.key, secret=secret)

    def _chat(self) -> BaseChatModel:
        with self._lock:
            return self._made_chat

    @cached_property
    def _made_chat(self) -> BaseChatModel:
        require("langchain", self._provider.extra, f"The chat model {self.name}")
        from langchain.chat_models import init_chat_model

        secret = self._access.api_key
        try:
            chat: BaseChatModel = init_chat_model(self.name, **self._provider.options(self._access))
        except ImportError as error:
            named = re.search(r"langchain-[a-z0-9-]+", str(error))
            package = named.group() if named else self._provider.package
            raise MissingPackageError(package, f"The chat model {self.name}") from None
        except Exception as error:  # usually an unknown provider or a missing key
            reason = _first_line(error).replace(secret or "\0", "[key]")[:300]
            raise ConfigurationError(
                f"Couldn't set up the chat model {self.name}: {reason}",
                remedy=f"Check LORE_CHAT_MODEL and {self._provider.key}.",
            ) from None
        found = getattr(chat, self._provider.key_field, None) if self._provider.key_field else None
        if found is not None and not found.get_secret_value():
            raise ConfigurationError(f"The chat model {self.name} needs a key.", remedy=f"Set {self._provider.key}.")
        return chat


def _slices(text: str) -> list[str]:
    """The text in pieces short enough to notice a loop early."""
    return [text[at : at + SLICE_CHARACTERS] for at in range(0, len(text), SLICE_CHARACTERS)]


class _NoFormatError(Exception):
    """LangChain's class for the provider accepts no schema as response format."""


def _first_line(error: Exception) -> str:
    """Return the first line of an error, or pydantic's reasons in words, without the input."""
    from pydantic import ValidationError

    from lore.validation import explain_error

    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, item['loc']))} {explain_error(item)}".strip() for item in error.errors())
    return str(error).split("\n")[0]


def _to_langchain(messages: Sequence[Message]) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage, "other": HumanMessage}
    # UTF-8 can't encode lone surrogates; they would break the request.
    return [kinds[m.role](content=m.content.encode("utf-8", "replace").decode("utf-8")) for m in messages]


def _finish(reply: Any) -> str:
    """The reason why the model stopped, in lower case, or "" while it goes on; providers name the field differently."""
    for name in FINISH_NAMES:
        value = reply.response_metadata.get(name)
        if isinstance(value, str) and value not in ("", "in_progress"):
            return value.lower()
    return ""
