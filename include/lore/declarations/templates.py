"""Expressions and templates in declarations: JMESPath for a value, and text with `{expression}` for values in it.

A template has no logic of its own. What JMESPath can do (choose, filter, join, default) it can do in the braces;
`{{` and `}}` are braces.
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
"""The three kinds of strings in JMESPath: braces inside them are text."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A JMESPath expression, checked: it parses, and its functions exist and get as many arguments as they take."""

    text: str
    _compiled: Any

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Raises ValueError with what is wrong."""
        import jmespath  # type: ignore[import-untyped]

        try:
            compiled = jmespath.compile(text)
        except (ValueError, RecursionError) as error:
            said = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(f"has no valid JMESPath in {text[:100]!r}: {said[:200]}") from None
        _check(compiled.parsed, text)
        return cls(text, compiled)

    def value(self, data: Any) -> Any:
        """What the expression finds. Raises ValueError where the data are of a kind that it cannot take."""
        try:
            return self._compiled.search(data)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            said = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(f"{self.text!r} cannot be computed: {said[:200]}") from None


@dataclass(frozen=True, slots=True)
class Template:
    """Pieces of text, and expressions whose values come between them."""

    pieces: tuple[str | Expression, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises ValueError with what is wrong."""
        return cls(tuple(_pieces(text)))

    @property
    def is_one_value(self) -> bool:
        """Whether the template is one expression and nothing around it."""
        return len(self.pieces) == 1 and isinstance(self.pieces[0], Expression)

    def render(self, data: Any, escape: Callable[[str], str] = lambda value: value) -> str:
        """The text with its values, each through `escape`. A list that stands alone on its line becomes a list of
        Markdown, elsewhere its parts are joined by commas. Raises ValueError for a value that cannot be computed.
        """
        parts: list[str] = []
        for number, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                parts.append(piece)
                continue
            before = self.pieces[number - 1] if number else "\n"
            after = self.pieces[number + 1] if number + 1 < len(self.pieces) else "\n"
            alone = (
                isinstance(before, str) and before.endswith("\n") and isinstance(after, str) and after.startswith("\n")
            )
            value = piece.value(data)
            if alone and len(self.pieces) > 1 and isinstance(value, list):
                parts.append("\n".join(f"- {escape(_plain(one))}" for one in value))
            else:
                parts.append(escape(_plain(value)))
        return "".join(parts)


def _plain(value: Any, depth: int = 0) -> str:
    """A value as people read it."""
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
            raise ValueError("has a } without its {; write }} for a brace in the text")
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
    """Where the brace closes that opened before `place`; JMESPath has braces and strings of its own."""
    depth = 1
    while place < len(text):
        if found := STRING.match(text, place):
            place = found.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
        place += 1
    raise ValueError("has a { without its }; write {{ for a brace in the text")


def _check(node: Mapping[str, Any], text: str) -> None:
    """Find functions that do not exist before the first item does."""
    from jmespath.functions import Functions  # type: ignore[import-untyped]

    if node.get("type") == "function_expression":
        name, given = node["value"], len(node["children"])
        known = Functions.FUNCTION_TABLE.get(name)
        if known is None:
            raise ValueError(f"has an unknown function {name!r} in {text[:100]!r}")
        signature = known["signature"]
        variadic = bool(signature) and bool(signature[-1].get("variadic"))
        if given < len(signature) or (given > len(signature) and not variadic):
            raise ValueError(f"gives {name}() {given} arguments in {text[:100]!r}; it takes {len(signature)}")
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
"""A template that parses."""
JmesPath: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH), AfterValidator(_expression)]
"""A JMESPath expression that parses."""
