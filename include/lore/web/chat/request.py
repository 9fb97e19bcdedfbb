"""A request for a chat completion, read as a question with its conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lore.types import Message
from lore.validation import explain_error
from lore.web.chat.text import plain_text
from lore.web.forms import MAX_QUESTION, MAX_TURN, MAX_TURNS

__all__ = ["ChatBody", "ChatRequestError", "read_chat"]

MAX_MESSAGES = 1_000


class ChatRequestError(Exception):
    """A request that is invalid, or for something that Lore doesn't do; `param` is the parameter."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message)
        self.param = param


class ChatMessage(BaseModel):
    """A message; its content is text, or parts of text."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    def text(self, at: int) -> str:
        """Return the text. Raises ChatRequestError for parts that aren't text."""
        if not isinstance(self.content, list):
            return self.content or ""
        parts: list[str] = []
        for part in self.content:
            if part.get("type") != "text" or not isinstance(part.get("text"), str):
                param = f"messages.{at}.content"
                raise ChatRequestError(param, f"{param} holds a part other than text, and Lore reads text alone.")
            parts.append(part["text"])
        return "\n".join(parts)


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


class ResponseFormat(BaseModel):
    """The form of the answer."""

    type: str = "text"


class ChatBody(BaseModel):
    """The parts of the request that matter; others, such as `temperature`, are accepted and change nothing."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(max_length=300)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    tool_choice: str | dict[str, Any] | None = None
    function_call: str | dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None

    def question(self) -> tuple[str, tuple[Message, ...]]:
        """Return the last message's text, and the conversation before it, oldest first.

        Raises ChatRequestError for a parameter or content that Lore doesn't support.
        """
        self._check()
        turns = [
            (message.role, message.text(at))
            for at, message in enumerate(self.messages)
            if message.role in ("user", "assistant")
        ]
        at = len(self.messages) - 1
        if self.messages[-1].role != "user":
            raise ChatRequestError(f"messages.{at}.role", "The last message should be the user's question.")
        asked = turns.pop()[1].strip()
        if not asked or len(asked) > MAX_QUESTION:
            raise ChatRequestError(
                f"messages.{at}.content",
                f"The question has {len(asked):,} characters; it should have 1 to {MAX_QUESTION:,}.",
            )
        history = [
            Message("assistant", plain_text(text)[:MAX_TURN])
            if role == "assistant"
            else Message("user", text[:MAX_TURN])
            for role, text in turns[-MAX_TURNS:]
            if text.strip()
        ]
        return asked, tuple(history)

    def _check(self) -> None:
        unsupported = {
            "n": self.n not in (None, 1),
            "tool_choice": self.tool_choice not in (None, "auto", "none"),
            "function_call": self.function_call not in (None, "auto", "none"),
            "response_format": self.response_format is not None and self.response_format.type != "text",
            "logprobs": bool(self.logprobs),
            "modalities": self.modalities not in (None, ["text"]),
        }
        for name, found in unsupported.items():
            if found:
                raise ChatRequestError(name, f"Lore doesn't support {name} = {getattr(self, name)!r:.100}.")


def read_chat(raw: bytes) -> ChatBody:
    """Return the request in a body. Raises ChatRequestError for an invalid one."""
    try:
        return ChatBody.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(map(str, first["loc"]))
        wrong = f"{param} {explain_error(first)}" if param else "the body isn't valid JSON"
        raise ChatRequestError(param, f"Invalid request: {wrong}.") from None
