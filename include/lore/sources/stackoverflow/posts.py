"""Questions and answers of Stack Exchange, from its API and its data dump, and their page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lore.declarations import StackOverflowDeclaration
from lore.sources.payload import as_text, day, from_epoch, from_iso, one_line, unescape, web_address
from lore.sources.post_text import facts_line, post_section, to_markdown
from lore.types import Document

__all__ = [
    "StackAnswer",
    "StackQuestion",
    "answer_from_api",
    "answer_from_dump",
    "dump_tags",
    "is_wanted",
    "question_document",
    "question_from_api",
    "question_from_dump",
    "site_address",
]

OWN_DOMAINS = frozenset({"stackoverflow", "serverfault", "superuser", "askubuntu", "stackapps"})


@dataclass(frozen=True, slots=True)
class StackQuestion:
    """A question without its answers. `answered` means that an answer was accepted or has votes."""

    id: int
    title: str
    body: str
    score: int
    tags: tuple[str, ...]
    author: str
    created: datetime | None
    active: datetime | None
    accepted_id: int | None
    answered: bool
    closed: datetime | None = None
    closed_reason: str = ""
    link: str = ""
    license: str = ""


@dataclass(frozen=True, slots=True)
class StackAnswer:
    id: int
    question_id: int
    body: str
    score: int
    author: str
    created: datetime | None


def question_from_api(item: Mapping[str, Any]) -> StackQuestion | None:
    """Read a question from the API; None without a number."""
    number = _integer(item.get("question_id"))
    if number is None:
        return None
    tags = item.get("tags")
    return StackQuestion(
        id=number,
        title=unescape(item.get("title")),
        body=as_text(item.get("body")),
        score=_integer(item.get("score")) or 0,
        tags=tuple(unescape(tag) for tag in tags) if isinstance(tags, list) else (),
        author=_owner(item),
        created=from_epoch(item.get("creation_date")),
        active=from_epoch(item.get("last_activity_date")),
        accepted_id=_integer(item.get("accepted_answer_id")),
        answered=item.get("is_answered") is True,
        closed=from_epoch(item.get("closed_date")),
        closed_reason=unescape(item.get("closed_reason")),
        link=web_address(item.get("link")),
        license=unescape(item.get("content_license")),
    )


def answer_from_api(item: Mapping[str, Any]) -> StackAnswer | None:
    """Read an answer from the API; None without a number or question."""
    number, parent = _integer(item.get("answer_id")), _integer(item.get("question_id"))
    if number is None or parent is None:
        return None
    score = _integer(item.get("score")) or 0
    return StackAnswer(
        number, parent, as_text(item.get("body")), score, _owner(item), from_epoch(item.get("creation_date"))
    )


def question_from_dump(row: Mapping[str, str]) -> StackQuestion | None:
    """Read a question from Posts.xml; its answers decide later if it is answered."""
    number = _parsed_integer(row.get("Id"))
    if number is None:
        return None
    return StackQuestion(
        id=number,
        title=one_line(row.get("Title")),
        body=row.get("Body", ""),
        score=_parsed_integer(row.get("Score")) or 0,
        tags=dump_tags(row),
        author=one_line(row.get("OwnerDisplayName")),
        created=from_iso(row.get("CreationDate")),
        active=from_iso(row.get("LastActivityDate")),
        accepted_id=_parsed_integer(row.get("AcceptedAnswerId")),
        answered=False,
        closed=from_iso(row.get("ClosedDate")),
        license=one_line(row.get("ContentLicense")),
    )


def dump_tags(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return a question's tags: <a><b> in old dumps, |a|b| in new ones."""
    tags = row.get("Tags", "").replace("><", "|").strip("<>|")
    return tuple(tag for tag in tags.split("|") if tag)


def answer_from_dump(row: Mapping[str, str]) -> StackAnswer | None:
    """Read an answer from Posts.xml; None without a number or question."""
    number, parent = _parsed_integer(row.get("Id")), _parsed_integer(row.get("ParentId"))
    if number is None or parent is None:
        return None
    author, created = one_line(row.get("OwnerDisplayName")), from_iso(row.get("CreationDate"))
    return StackAnswer(number, parent, row.get("Body", ""), _parsed_integer(row.get("Score")) or 0, author, created)


def is_wanted(question: StackQuestion, declaration: StackOverflowDeclaration) -> bool:
    """Return True if the declaration selects the question, regardless of its tags."""
    if question.score < declaration.min_score or not (question.answered or declaration.include_unanswered):
        return False
    return not (declaration.since and question.active and question.active.date() < declaration.since)


def question_document(
    question: StackQuestion, answers: Sequence[StackAnswer], declaration: StackOverflowDeclaration
) -> Document:
    """Return the page: facts about the question, its text, the accepted answer, then the others by score.

    Raises ConversionError when a post is unreadable.
    """
    site = site_address(declaration.site)
    url = question.link or f"{site}/questions/{question.id}"
    kept = [one for one in answers if one.id == question.accepted_id or one.score >= declaration.min_answer_score]
    kept.sort(key=lambda one: (one.id != question.accepted_id, -one.score, one.id))
    state = _state(question, kept)
    parts = [
        facts_line(
            (
                "Question",
                f"State: {state}",
                f"Score {question.score}",
                f"Tags: {', '.join(question.tags)}" if question.tags else "",
                f"Asked {day(question.created)}" if question.created else "",
                f"By {question.author}" if question.author else "",
                f"Active {day(question.active)}" if question.active else "",
            )
        ),
        to_markdown(question.body, url),
        *(post_section(_heading(one, question), to_markdown(one.body, url)) for one in kept),
    ]
    return Document(
        id=f"{declaration.id}:{question.id}",
        source_id=declaration.id,
        url=url,
        title=question.title or f"Question {question.id}",
        text="\n\n".join(part for part in parts if part) + "\n",
        updated_at=question.active,
        metadata={
            "site": declaration.site,
            "question": question.id,
            "state": state,
            "score": question.score,
            "answers": len(kept),
            "tags": list(question.tags),
            "author": question.author,
            "license": question.license,
        },
        audiences=declaration.audiences,
    )


def site_address(site: str) -> str:
    """Return the web address of a site with this API name."""
    if "." in site:
        return f"https://{site}" if site.endswith((".com", ".net", ".org")) else f"https://{site}.com"
    return f"https://{site}.com" if site in OWN_DOMAINS else f"https://{site}.stackexchange.com"


def _state(question: StackQuestion, answers: Sequence[StackAnswer]) -> str:
    if any(one.id == question.accepted_id for one in answers):
        state = "answered, one answer accepted"
    else:
        state = "answered, none accepted" if answers else "unanswered"
    if question.closed is None:
        return state
    reason = f" as {question.closed_reason.lower()}" if question.closed_reason else ""
    return f"{state}; closed{reason} on {day(question.closed)}"


def _heading(answer: StackAnswer, question: StackQuestion) -> str:
    kind = "Accepted answer" if answer.id == question.accepted_id else "Answer"
    author = f" by {answer.author}" if answer.author else ""
    return f"{kind}{author}{f' on {day(answer.created)}' if answer.created else ''}, score {answer.score}"


def _owner(item: Mapping[str, Any]) -> str:
    owner = item.get("owner")
    return unescape(owner.get("display_name")) if isinstance(owner, dict) else ""


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else None


def _parsed_integer(value: str | None) -> int | None:
    digits = (value or "").removeprefix("-")
    return int(value or "") if digits.isascii() and digits.isdigit() and len(digits) < 16 else None
