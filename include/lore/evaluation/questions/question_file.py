"""The YAML file of a team's questions, checked key by key.

- question: How do I rotate an API key?
  pages: ["handbook:guides/api-keys.md"]          # the pages that answer it, by id or address
- id: drill
  question: How long did the last restore drill take?
  pages: {"https://docs.example.com/drills": 3, "handbook:backup.md": 1}    # graded: 1 related … 3 the answer
  sources: [handbook]                             # where it is searched; default: everywhere
  reference: It took 23 minutes.                  # what a correct answer says
- question: What did the drill cost?
  unanswerable: true                              # nothing that is indexed answers it, so no pages are named
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from lore.declarations.reading import unique_keys, yaml_errors
from lore.errors import ConfigurationError
from lore.types import PUBLIC

__all__ = ["QuestionItem", "read_question_file"]

MAX_BYTES = 1024 * 1024
MAX_QUESTIONS = 10_000
MAX_MISTAKES = 5
REMEDY = "Write a list of questions, each with `question` and `pages`; docs/gate.md has an example."


def _plain(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    if any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in value):
        raise ValueError("holds control characters")
    return value.strip()


def _graded(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    twice = next((page for position, page in enumerate(value) if page in value[:position]), None)
    if twice is not None:
        raise ValueError(f"names {twice!r} twice")
    if not all(isinstance(page, str) for page in value):
        raise ValueError("should hold texts only: ids or addresses of pages")
    return dict.fromkeys(value, 1)


Text: TypeAlias = Annotated[str, Field(max_length=10_000), AfterValidator(_plain)]
Name: TypeAlias = Annotated[str, Field(max_length=2_000), AfterValidator(_plain)]
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Grade: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=3)]


class QuestionItem(BaseModel):
    """One question as written; `id` is never empty once read, and `pages` only if it is unanswerable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Name
    question: Text
    pages: Annotated[dict[Name, Grade], BeforeValidator(_graded), Field(min_length=1, max_length=1_000)] = {}
    sources: tuple[Name, ...] = ()
    audiences: Annotated[tuple[Name, ...], Field(min_length=1)] = (PUBLIC,)
    must_mention: tuple[Text, ...] = ()
    tags: tuple[Name, ...] = ()
    reference: Text = ""
    unanswerable: Flag = False
    draft: Flag = False

    @model_validator(mode="after")
    def _pages_unless_unanswerable(self) -> Self:
        if not self.unanswerable and not self.pages:
            raise PydanticCustomError("pages", "the key `pages` is missing")
        named = next((key for key in ("pages", "reference", "must_mention") if getattr(self, key)), None)
        if self.unanswerable and named:
            raise PydanticCustomError(
                "pages", "`unanswerable` means that nothing answers it, so leave out `{key}`", {"key": named}
            )
        return self


def read_question_file(path: Path) -> tuple[QuestionItem, ...]:
    """Return the questions in file order; those without an `id` are named q1, q2 … by position.

    Raises ConfigurationError with file and line for invalid content, and for a repeated question, id or page.
    """
    values, lines = _read_yaml(path)
    wrong: list[str] = []
    items: list[QuestionItem] = []
    for number, (value, item_lines) in enumerate(zip(values, lines, strict=True), start=1):
        start = item_lines[""]
        if not isinstance(value, dict):
            wrong.append(f"line {start}: is no question; write `- question: …` and `pages: […]` below it")
            continue
        try:
            items.append(QuestionItem.model_validate({"id": f"q{number}", **value}))
        except ValidationError as error:
            wrong.extend(_explain(error, item_lines))
        except (ValueError, TypeError, RecursionError) as error:  # what Python itself refuses
            wrong.append(f"line {start}: cannot be used: {error}")
    if wrong:
        mistakes = "; ".join(wrong[:MAX_MISTAKES])
        more = f"; and {len(wrong) - MAX_MISTAKES} more" if len(wrong) > MAX_MISTAKES else ""
        raise ConfigurationError(f"{path}, {mistakes}{more}.", remedy=REMEDY)
    _refuse_repetition(path, items, [item_lines[""] for item_lines in lines])
    return tuple(items)


def _refuse_repetition(path: Path, items: Sequence[QuestionItem], lines: Sequence[int]) -> None:
    seen: dict[object, int] = {}
    for line, item in zip(lines, items, strict=True):
        words = " ".join(item.question.casefold().split())
        for what, key in (
            (f"the id {item.id[:100]!r}", item.id),
            ("this question", (words, frozenset(item.sources), frozenset(item.audiences))),
        ):
            if key in seen:
                raise ConfigurationError(
                    f"{path}, line {line}: {what} is here twice; the first is on line {seen[key]}.",
                    remedy="Delete one of them, or put their pages together.",
                )
            seen[key] = line


class _QuestionLoader(yaml.SafeLoader):
    """YAML without aliases, with which a few lines could expand to billions."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not read", mark)
        return super().compose_node(parent, index)


def _read_yaml(path: Path) -> tuple[list[Any], list[Mapping[str, int]]]:
    """Return the file's list, and for each item the line of each of its keys; "" is the line where it starts."""
    with yaml_errors(path, ConfigurationError, quoting="a text with a colon, or that starts with *, & or @,"):
        if not path.is_file():
            raise ConfigurationError(f"{path}: there is no such file.", remedy=REMEDY)
        if path.stat().st_size > MAX_BYTES:
            raise ConfigurationError(f"{path}: is larger than {MAX_BYTES:,} bytes.", remedy="Keep fewer questions.")
        loader = _QuestionLoader(path.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        lines: list[Mapping[str, int]] = (
            [dict(_lines(item, path)) for item in node.value] if isinstance(node, yaml.SequenceNode) else []
        )
        values = loader.construct_document(node) if node else None
    if not isinstance(values, list) or not values:
        said = "is empty" if not values else "is not a list of questions"
        raise ConfigurationError(f"{path}: {said}.", remedy=REMEDY)
    if len(values) > MAX_QUESTIONS:
        raise ConfigurationError(f"{path}: has more than {MAX_QUESTIONS:,} questions.", remedy="Keep fewer.")
    return values, lines


def _lines(item: yaml.Node, path: Path, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Map each key to its line."""
    yield "", item.start_mark.line + 1
    if not isinstance(item, yaml.MappingNode):
        return
    for name, line, value in unique_keys(item, path, ConfigurationError, called=""):
        yield name, line
        if depth == 0:
            list(_lines(value, path, depth=1))  # the pages of a question


def _explain(error: ValidationError, lines: Mapping[str, int]) -> Iterator[str]:
    for item in error.errors(include_input=False, include_url=False):
        key = str(item["loc"][0]) if item["loc"] else ""
        yield f"line {lines.get(key, lines[''])}: {_what_is_wrong(key, item)}"


def _what_is_wrong(key: str, item: ErrorDetails) -> str:
    match item["type"]:
        case "extra_forbidden":
            near = difflib.get_close_matches(key, QuestionItem.model_fields, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(QuestionItem.model_fields)}"
            return f"unknown key `{key[:100]}` ({hint})"
        case "missing":
            return f"the key `{key}` is missing"
        case "pages":
            return item["msg"]
        case "value_error":
            return f"`{key}` {item['ctx']['error']}"
        case "tuple_type":
            return f"`{key}` should be a list"
        case "dict_type":
            return f"`{key}` should be a list of pages, or pages with grades from 1 to 3"
    where = f"`{key}`" + (f" ({str(item['loc'][1])[:100]})" if len(item["loc"]) > 1 else "")
    return f"{where}: {item['msg'][:1].lower()}{item['msg'][1:]}"
