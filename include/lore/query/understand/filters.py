"""Filters that a question's own words set: sources and dates.

The rules read only unambiguous words: "a Slack variable" or "GitHub actions" names a subject, not a source. A language
model may infer more, and its filters count only if the question has words for the source, or for a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from lore.query.content_words import content_words
from lore.query.understand.dates import dates_by_rules, mentions_time, parse_dates
from lore.types import PUBLIC, Filters, Hit, Question

__all__ = [
    "SearchableSource",
    "describe_filters",
    "filter_by_date",
    "filters_by_rules",
    "narrow_question",
    "validate_filters",
    "visible_sources",
]


@dataclass(frozen=True, slots=True)
class SearchableSource:
    """A source that a question may name. `channels` have no #; only `audiences` may learn that it exists."""

    id: str
    kind: str = ""
    title: str = ""
    channels: tuple[str, ...] = ()
    audiences: tuple[str, ...] = (PUBLIC,)


SLACK = ("slack", "slack_export")
PAGES = ("site", "files", "github_repo")
KIND_WORDS: Mapping[str, str] = {
    "files": "docs documentation files folder",
    "site": "docs documentation site website",
    "slack": "slack channel thread messages",
    "slack_export": "slack channel thread messages",
    "github_repo": "github repository repo code docs documentation",
    "github_issues": "github issues tracker pull",
    "stackoverflow": "stack overflow stackoverflow",
    "discourse": "discourse forum topics",
}
"""People's words for each kind. A source that a model names needs one of these, or a word of its title or id."""

_PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), kinds)
    for pattern, kinds in (
        (r"\b(?:in|on|from) (?:the |our )?slack (?:channels?|threads?|messages|conversations?)\b", SLACK),
        (r"\b(?:said|asked|discussed|written|posted|mentioned|decided) (?:\S+ ){0,6}?(?:in|on) slack\b", SLACK),
        (r"\b(?:in|from|among) (?:the|our) (?:(?:github|open|closed) )*issues\b", ("github_issues",)),
        (r"\b(?:in|from|on) (?:the|our) issue tracker\b", ("github_issues",)),
        (r"\b(?:in|from|according to) (?:the|our) (?:\S+ )?(?:docs|documentation)\b", PAGES),
        (r"\b(?:on|from) stack ?overflow\b", ("stackoverflow",)),
        (r"\b(?:in|on|from) (?:the|our) (?:discourse )?forum\b", ("discourse",)),
    )
)
_DOCS_OF = re.compile(r"\b(?:the|our) (?:(\S+) (?:docs|documentation)|(?:docs|documentation) (?:of|for) (\S+))", re.I)
_CHANNEL = re.compile(r"(?<![\w&#/])#([\w-]{1,80})")


def visible_sources(sources: Iterable[SearchableSource], question: Question) -> list[SearchableSource]:
    """Return the sources that the asker may know of and that the question doesn't exclude."""
    return [
        source
        for source in sources
        if set(source.audiences) & set(question.audiences) and (not question.sources or source.id in question.sources)
    ]


def filters_by_rules(question: Question, searchable: Sequence[SearchableSource], today: date) -> Filters:
    """Return the filters that the question's words set by exact rules; English only."""
    sources = _named_sources(question.text, searchable)
    return replace(dates_by_rules(question.text, today, of_a_source=bool(sources)), sources=sources)


def validate_filters(
    sources: Sequence[str],
    after: str,
    before: str,
    question: Question,
    searchable: Sequence[SearchableSource],
    today: date,
) -> tuple[Filters, tuple[str, ...]]:
    """Return the valid filters of a language model, and notes on the others.

    A source must exist and be named by the user; a date must be valid, and the user must have mentioned a time.
    """
    said = " ".join([*(message.content for message in question.history if message.role == "user"), question.text])
    by_id = {source.id: source for source in searchable}
    kept = tuple(name for name in dict.fromkeys(sources) if name in by_id and _is_named(by_id[name], said, searchable))
    notes = []
    if dropped := [name for name in dict.fromkeys(sources) if name not in kept]:
        listed = ", ".join(name[:50] for name in dropped[:3])
        notes.append(f"The language model named sources that the question does not name: {listed}.")
    dates = parse_dates(after, before, today)
    if (after.strip() or before.strip()) and (dates == Filters() or not mentions_time(said)):
        notes.append("The language model named dates that cannot be used or that the question does not name.")
        dates = Filters()
    return replace(dates, sources=() if len(kept) == len(searchable) else kept), tuple(notes)


def narrow_question(question: Question, filters: Filters) -> Question:
    """Return the question with its sources narrowed to those of the filters; never widened, never to none."""
    allowed = tuple(name for name in filters.sources if not question.sources or name in question.sources)
    return replace(question, sources=allowed) if allowed else question


def filter_by_date(hits: Iterable[Hit], filters: Filters) -> list[Hit]:
    """Return the hits within the filters' dates; a passage without a date is left out."""
    after, before = filters.updated_after, filters.updated_before
    if after is None and before is None:
        return list(hits)
    kept = []
    for hit in hits:
        changed = hit.chunk.updated_at
        if changed is None:
            continue
        aware = changed if changed.tzinfo else changed.replace(tzinfo=UTC)
        if (after is None or aware >= after) and (before is None or aware < before):
            kept.append(hit)
    return kept


def describe_filters(filters: Filters) -> str:
    """Return the filters in words, such as "in team_slack, changed since 2024-03-01"; "" without any."""
    parts = [f"in {', '.join(filters.sources)}"] if filters.sources else []
    bounds = (("since", filters.updated_after), ("before", filters.updated_before))
    dates = [f"{word} {_day(moment)}" for word, moment in bounds if moment]
    return ", ".join(parts + ([f"changed {' and '.join(dates)}"] if dates else []))


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _named_sources(text: str, searchable: Sequence[SearchableSource]) -> tuple[str, ...]:
    channels = {name.lower() for name in _CHANNEL.findall(text)}
    exact = [
        source.id
        for source in searchable
        if channels & {channel.lower() for channel in source.channels} or _is_quoted(source, text)
    ]
    named = exact or _of_kind(text, searchable)
    return tuple(named) if len(named) < len(searchable) else ()


def _is_quoted(source: SearchableSource, text: str) -> bool:
    """Return True if a phrase such as "in the source tracker" or "in the Tidewheel handbook" names the source."""
    names = [rf"source [\"'`]?{re.escape(source.id)}"]
    if re.search(r"[_-]", source.id):
        names.append(rf"[\"'`]?{re.escape(source.id)}")
    if len(source.title.split()) > 1:
        names.append(re.escape(source.title))
    phrase = rf"\b(?:in|on|from|according to) (?:the |our )?(?:{'|'.join(names)})(?![\w-])"
    return bool(re.search(phrase, text, re.IGNORECASE))


def _of_kind(text: str, searchable: Sequence[SearchableSource]) -> list[str]:
    kinds = {kind for pattern, named in _PHRASES if pattern.search(text) for kind in named}
    found = [source for source in searchable if source.kind in kinds]
    if kinds & set(PAGES) and (of := _DOCS_OF.search(text)):
        wanted = set(content_words(of[1] or of[2]))
        named = [source for source in found if wanted & set(content_words(f"{source.id} {source.title}"))]
        found = named or found
    return [source.id for source in found]


def _is_named(source: SearchableSource, said: str, searchable: Sequence[SearchableSource]) -> bool:
    """Return True if a text has a word that names this source, but not every other one too."""
    common = set.intersection(*(_name_words(one) for one in searchable)) if len(searchable) > 1 else set[str]()
    return bool((_name_words(source) - common) & set(content_words(said)))


def _name_words(source: SearchableSource) -> set[str]:
    names = (source.id, source.title, KIND_WORDS.get(source.kind, ""), *source.channels)
    return set(content_words(" ".join(names)))
