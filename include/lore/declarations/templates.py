"""Expressions and templates in declarations: JMESPath for a value, and text with `{expression}` for values in it.

A template has no logic of its own: the expressions choose, filter, join and set defaults. `{{` and `}}` are braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Expression", "JmesPath", "Template", "TemplateText"]

MAX_LENGTH = 20_000
MAX_DEPTH = 50
STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`\\]|\\.)*`", re.DOTALL)
"""The three kinds of strings in JMESPath; braces inside them are text."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A JMESPath expression that parses, and whose functions exist and get the right number of arguments."""

    text: str
    _compiled: Any

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Parse an expression. Raises ValueError with the reason."""
        import jmespath  # type: ignore[import-untyped]

        try:
            compiled = jmespath.compile(text)
        except (ValueError, RecursionError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(f"has invalid JMESPath in {text[:100]!r}: {reason[:200]}") from None
        _check(compiled.parsed, text)
        return cls(text, compiled)

    def value(self, data: Any) -> Any:
        """Return the expression's value. Raises ValueError for data of an unsupported type."""
        try:
            return self._compiled.search(data)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(f"Couldn't compute {self.text!r}: {reason[:200]}") from None


@dataclass(frozen=True, slots=True)
class Template:
    """Pieces of text, with expressions between them."""

    pieces: tuple[str | Expression, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Parse a template. Raises ValueError with the reason."""
        return cls(tuple(_pieces(text)))

    @property
    def is_one_value(self) -> bool:
        """True if the template is a single expression without text around it."""
        return len(self.pieces) == 1 and isinstance(self.pieces[0], Expression)

    def render(self, data: Any, escape: Callable[[str], str] = lambda value: value) -> str:
        """Return the text with its values, each passed through `escape`.

        A list alone on its line becomes a Markdown list; elsewhere, commas join its parts. Raises ValueError for a
        value that can't be computed.
        """
        parts: list[str] = []
        for number, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                parts.append(piece)
                continue
            before = self.pieces[number - 1] if number else "\n"
            after = self.pieces[number + 1] if number + 1 < len(self.pieces) else "\n"
            on_own_line = (
                isinstance(before, str) and before.endswith("\n") and isinstance(after, str) and after.startswith("\n")
            )
            value = piece.value(data)
            if on_own_line and len(self.pieces) > 1 and isinstance(value, list):
                parts.append("\n".join(f"- {escape(_plain(one))}" for one in value))
            else:
                parts.append(escape(_plain(value)))
        return "".join(parts)


def _plain(value: Any, depth: int = 0) -> str:
    """Return a value as people read it."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool() | int() | float():
            return json.dumps(value)
        case list() if depth < MAX_DEPTH:
            return ", ".join(text for one in value if (text := _plain(one, depth + 1)))
        case dict() if depth < MAX_DEPTH:
            return ", ".join(f"{key}: {text}" for key, one in value.items() if (text := _plain(one, depth + 1)))
    return ""


def _pieces(text: str) -> Iterator[str | Expression]:
    literal, place = "", 0
    while place < len(text):
        sign = text[place]
        if text.startswith(("{{", "}}"), place):
            literal, place = literal + sign, place + 2
        elif sign == "}":
            raise ValueError("has a } without a {; write }} for a brace in the text")
        elif sign == "{":
            if literal:
                yield literal
            end = _end(text, place + 1)
            yield Expression.parse(text[place + 1 : end].strip())
            literal, place = "", end + 1
        else:
            literal, place = literal + sign, place + 1
    if literal:
        yield literal


def _end(text: str, place: int) -> int:
    """Return the place of the closing brace; JMESPath has braces and strings of its own."""
    depth = 1
    while place < len(text):
        if found := STRING.match(text, place):
            place = found.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
        place += 1
    raise ValueError("has a { without a }; write {{ for a brace in the text")


def _check(node: Mapping[str, Any], text: str) -> None:
    """Raise ValueError for an unknown function, or a wrong number of arguments."""
    from jmespath.functions import Functions  # type: ignore[import-untyped]

    if node.get("type") == "function_expression":
        name, given = node["value"], len(node["children"])
        known = Functions.FUNCTION_TABLE.get(name)
        if known is None:
            raise ValueError(f"has an unknown function {name!r} in {text[:100]!r}")
        signature = known["signature"]
        variadic = bool(signature) and bool(signature[-1].get("variadic"))
        if given < len(signature) or (given > len(signature) and not variadic):
            raise ValueError(f"passes {given} arguments to {name}() in {text[:100]!r}, which takes {len(signature)}")
    for child in node.get("children", ()):
        if isinstance(child, dict):
            _check(child, text)


def _template(value: str) -> str:
    Template.parse(value)
    return value


def _expression(value: str) -> str:
    Expression.parse(value)
    return value


TemplateText: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH), AfterValidator(_template)]
"""A valid template."""
JmesPath: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH), AfterValidator(_expression)]
"""A valid JMESPath expression."""
