"""The requests to the language model; outside text is in tags, and nothing in it can look like one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from hashlib import sha256

from lore.databases.schema.model import DatabaseSchema
from lore.databases.schema.render import render_schema
from lore.declarations.database import DatabaseDeclaration
from lore.prompts import read_prompt
from lore.query.content_words import content_words
from lore.query.delimiters import escape_delimiters
from lore.types import Message, Question

__all__ = ["Failed", "prompt_hash", "review_request", "statement_request", "summary_request"]

PACKAGE = "lore.databases.journey.prompts"
TAGS = ("schema", "terms", "examples", "conversation", "turn", "question", "statement", "error", "rows")
MAX_EXAMPLES = 3
MAX_TERMS = 40
HISTORY_MESSAGES = 6
HISTORY_CHARACTERS = 2_000
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(frozen=True, slots=True)
class Failed:
    """A statement that was refused or failed, and why."""

    sql: str
    error: str


@cache
def prompt_hash(name: str) -> str:
    """Return the first 12 hexadecimal digits of the sha256 of a prompt."""
    return sha256(read_prompt(PACKAGE, name).encode()).hexdigest()[:12]


def statement_request(
    question: Question,
    schema: DatabaseSchema,
    declaration: DatabaseDeclaration,
    today: date,
    failed: Failed | None = None,
) -> list[Message]:
    """Return the request for a statement, or for a better one than the `failed` one."""
    parts = _context(question, schema, declaration, today)
    if failed:
        parts += [_tagged("statement", failed.sql), _tagged("error", failed.error)]
    return _messages("sql", parts)


def review_request(
    question: Question, schema: DatabaseSchema, declaration: DatabaseDeclaration, today: date, sql: str
) -> list[Message]:
    """Return the request for a review of a statement."""
    return _messages("sql_review", [*_context(question, schema, declaration, today), _tagged("statement", sql)])


def summary_request(question: Question, rows: str) -> list[Message]:
    """Return the request for a summary of rows, given as CSV."""
    return _messages("sql_summary", [_tagged("rows", rows), _tagged("question", question.text)])


def _context(question: Question, schema: DatabaseSchema, declaration: DatabaseDeclaration, today: date) -> list[str]:
    dialect = NAMES.get(schema.dialect, schema.dialect)
    parts = [f"Dialect: {dialect}. Today is {today:%Y-%m-%d}.", _tagged("schema", render_schema(schema))]
    if terms := [f"{term}: {meaning}" for term, meaning in declaration.terms.items()][:MAX_TERMS]:
        parts.append(_tagged("terms", "\n".join(terms)))
    if examples := _examples(question, declaration):
        parts.append(_tagged("examples", "\n\n".join(examples)))
    if question.history:
        turns = (
            f'<turn role="{message.role}">{_escaped(message.content[:HISTORY_CHARACTERS])}</turn>'
            for message in question.history[-HISTORY_MESSAGES:]
            if message.role != "system"
        )
        parts.append("<conversation>\n" + "\n".join(turns) + "\n</conversation>")
    return [*parts, _tagged("question", question.text)]


def _examples(question: Question, declaration: DatabaseDeclaration) -> list[str]:
    """Return the examples that share most words with the question."""
    words = set(content_words(question.text))
    shared = {example: len(words & set(content_words(example.question))) for example in declaration.examples}
    best = sorted(shared, key=lambda example: -shared[example])[:MAX_EXAMPLES]
    return [f"{example.question}\n{example.sql}" for example in best]


def _messages(prompt: str, parts: Sequence[str]) -> list[Message]:
    return [Message("system", read_prompt(PACKAGE, prompt)), Message("user", "\n\n".join(parts))]


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{_escaped(text)}\n</{tag}>"


def _escaped(text: str) -> str:
    return escape_delimiters(text, TAGS)
