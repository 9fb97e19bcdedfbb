"""Language models of any provider that LangChain's `init_chat_model` knows."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from include.lore.errors import ConfigurationError, LoreError, MissingPackageError, ModelError
from include.lore.models.failures import model_error, status_of
from include.lore.protocols import OnUsage
from include.lore.types import Message, Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["LangChainChatModel"]

Schema = TypeVar("Schema")

KEYLESS = "none"
FINISH_NAMES = ("finish_reason", "stop_reason", "done_reason", "status")
FILTERED = {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "guardrail_intervened"}
CUT = {"length", "max_tokens", "incomplete"}
SCHEMA_STATUSES = {400, 415, 422, 501}
"""What servers answer to a response format that they do not know."""
REFUSED = "{} refused to answer ({})."
CUT_OFF = "The answer of {} was cut off at the model's length limit ({})."
JSON_ATTEMPTS = 20
JSON_PROMPT = "Reply with one JSON object and nothing else. It must fit this JSON schema:\n"


class LangChainChatModel:
    """A chat model by its LangChain name, "provider:model", made on first use.

    `api_key` and `base_url` are OpenAI's and go to the provider `openai` only; others read the variables that their
    packages document. Failed calls are repeated up to `max_retries` times by the provider's own SDK. Raises
    ConfigurationError for a name without provider or a missing key, MissingPackageError when the provider's package is
    not installed, and ModelError for a refusal, an empty or unfinished answer, and everything the call itself raises.
    """

    def __init__(
        self, model: str, *, api_key: str | None, base_url: str | None, timeout: float, max_retries: int
    ) -> None:
        self._provider, _, bare_name = model.partition(":")
        if not self._provider or not bare_name:
            raise ConfigurationError(
                f"The chat model {model!r} names no provider.",
                remedy='Set LORE_CHAT_MODEL to "PROVIDER:MODEL", such as "openai:gpt-5-mini".',
            )
        if self._provider == "openai" and not api_key and not base_url:
            raise ConfigurationError(
                f"The chat model {model} needs a key.",
                remedy="Set LORE_OPENAI_API_KEY, or LORE_OPENAI_BASE_URL to a server of your own.",
            )
        self.name = model
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        self._max_retries = max_retries
        self._lock = threading.Lock()
        self._takes_schema = True

    def structured(
        self, messages: Sequence[Message], schema: type[Schema], *, on_usage: OnUsage | None = None
    ) -> Schema:
        """One call, with the schema as response format; a second with the schema in words where that is refused."""
        wanted = _strict(schema.model_json_schema())  # type: ignore[attr-defined]
        if self._takes_schema:
            try:
                return _validated(self._with_response_format(messages, wanted, on_usage), schema, self.name)
            except _SchemaRefusedError:
                self._takes_schema = False
        in_words = Message("system", JSON_PROMPT + json.dumps(wanted))
        try:
            reply = self._chat().invoke(_to_langchain([in_words, *messages]))
        except Exception as error:  # every provider has exceptions of its own
            raise self._failure(error) from None
        self._tell(on_usage, reply)
        self._check_finish(_finish(reply))
        return _validated(_json_in(reply.text), schema, self.name)

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """One call; the pieces of text as they come. Pieces may have come before a ModelError is raised.

        The timeout bounds the time without text, so that a stream of nothing ends too.
        """
        finish, any_text = "", False
        try:
            deadline = monotonic() + self._timeout
            for chunk in self._chat().stream(_to_langchain(messages)):
                finish = _finish(chunk) or finish
                if text := str(chunk.text):
                    any_text = any_text or not text.isspace()
                    yield text
                    deadline = monotonic() + self._timeout
                elif monotonic() > deadline:
                    raise ModelError(
                        f"{self.name} sent no text for {self._timeout:g} s.",
                        remedy="Raise LORE_TIMEOUT_SECONDS for a model that thinks for long.",
                        retryable=True,
                    )
        except Exception as error:  # as above
            raise self._failure(error) from None
        self._check_finish(finish)
        if self._provider == "openai" and not finish:
            raise ModelError(f"The stream of {self.name} ended before its answer did.", retryable=True)
        if not any_text:
            raise ModelError(f"{self.name} gave an empty answer.", retryable=True)

    def _with_response_format(
        self, messages: Sequence[Message], wanted: dict[str, Any], on_usage: OnUsage | None
    ) -> Any:
        """The JSON value of the reply; _SchemaRefusedError when the provider does not take a schema."""
        chat = self._chat()
        options = {"strict": True} if self._provider == "openai" else {}
        try:
            model = chat.with_structured_output(wanted, method="json_schema", include_raw=True, **options)
        except (NotImplementedError, TypeError, ValueError) as error:
            raise _SchemaRefusedError from error
        try:
            reply: Any = model.invoke(_to_langchain(messages))
        except Exception as error:  # as above
            if status_of(error) in SCHEMA_STATUSES:
                raise _SchemaRefusedError from None
            raise self._failure(error) from None
        self._tell(on_usage, reply["raw"])
        self._check_finish(_finish(reply["raw"]))
        if "Refusal" in type(reply["parsing_error"]).__name__:
            raise ModelError(REFUSED.format(self.name, "refusal"))
        # LangChain's own parser completes JSON that was cut off, so its result is taken only where there is no text.
        text = str(reply["raw"].text)
        return _json_in(text) if text else reply["parsed"]

    def _tell(self, on_usage: OnUsage | None, reply: Any) -> None:
        """Pass on what a reply, or the sum of a stream's pieces, says that it took."""
        if on_usage is not None:
            said = getattr(reply, "usage_metadata", None) or {}
            on_usage(Usage(self.name, "", said.get("input_tokens"), said.get("output_tokens")))

    def _check_finish(self, reason: str) -> None:
        if reason in FILTERED:
            raise ModelError(REFUSED.format(self.name, reason))
        if reason in CUT:
            raise ModelError(CUT_OFF.format(self.name, reason))

    def _failure(self, error: Exception) -> LoreError:
        if isinstance(error, LoreError):
            return error
        if "ContentFilter" in type(error).__name__:  # OpenAI's SDK raises for these two where it parses JSON
            return ModelError(REFUSED.format(self.name, "content_filter"))
        if "LengthFinish" in type(error).__name__:
            return ModelError(CUT_OFF.format(self.name, "length"))
        setting = "LORE_OPENAI" if self._provider == "openai" else self._provider.upper()
        return model_error(error, model=self.name, setting=setting, secret=self._api_key)

    def _chat(self) -> BaseChatModel:
        with self._lock:
            return self._made_chat

    @cached_property
    def _made_chat(self) -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        options: dict[str, Any] = {"timeout": self._timeout, "max_retries": self._max_retries}
        if self._provider == "openai":
            options["api_key"] = self._api_key or KEYLESS
            if self._base_url:
                options["base_url"] = self._base_url
        try:
            chat: BaseChatModel = init_chat_model(self.name, **options)
        except ImportError as error:
            named = re.search(r"langchain-[a-z0-9-]+", str(error))
            package = named.group() if named else f"langchain-{self._provider}"
            raise MissingPackageError(package, f"The chat model {self.name}") from None
        except Exception as error:  # as above; mostly an unknown provider or a key that its package does not find
            reason = str(error).split("\n")[0].replace(self._api_key or "\0", "[key]")[:300]
            raise ConfigurationError(
                f"The chat model {self.name} cannot be set up: {reason}", remedy="Check LORE_CHAT_MODEL and its key."
            ) from None
        return chat


class _SchemaRefusedError(Exception):
    """The provider takes no schema as response format."""


def _to_langchain(messages: Sequence[Message]) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    # Lone surrogates have no UTF-8 form and would break the request.
    return [kinds[m.role](content=m.content.encode("utf-8", "replace").decode("utf-8")) for m in messages]


def _finish(reply: Any) -> str:
    """Why the model stopped, in lower case, or "" while it goes on; providers name the field differently."""
    for name in FINISH_NAMES:
        value = reply.response_metadata.get(name)
        if isinstance(value, str) and value not in ("", "in_progress"):
            return value.lower()
    return ""


def _json_in(text: str) -> Any:
    """The first JSON object in a text, also behind words or inside a fence; None where there is none."""
    decoder = json.JSONDecoder()
    for opening in islice(re.finditer(r"\{", text), JSON_ATTEMPTS):
        try:
            return decoder.raw_decode(text, opening.start())[0]
        except (ValueError, RecursionError):
            continue
    return None


def _validated(value: Any, schema: type[Schema], name: str) -> Schema:
    from pydantic import ValidationError

    if value is None:
        raise ModelError(f"{name} gave no JSON object.", retryable=True)
    try:
        return schema.model_validate(value)  # type: ignore[attr-defined, no-any-return]
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors(include_input=False)
        )
        raise ModelError(f"{name} gave JSON of another shape than asked for: {wrong[:300]}.", retryable=True) from None


def _strict(schema: Any) -> Any:
    """The schema as strict modes want it: every property required, none added, no defaults."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(value) for key, value in schema.items() if key != "default"}
    if isinstance(strict.get("properties"), dict):
        # A property may itself be called "default", so the names come from the original.
        strict["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict
