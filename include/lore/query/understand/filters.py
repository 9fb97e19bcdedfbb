"""What a question itself narrows the search to: sources and dates, from its words, and how a search is held to them.

Words alone are read only where they cannot mean anything else: a question on "a Slack variable" or on "GitHub
actions" is about these things, not asked of these sources. A language model may read more out of a question, and is
believed only where the question has words that name the source, or a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from lore.query.content_words import content_words
from lore.query.understand.dates import named_dates, names_a_time, read_dates
from lore.types import PUBLIC, Filters, Hit, Question

__all__ = ["SearchableSource", "checked_filters", "describe", "fitting", "named_filters", "narrowed", "visible_to"]


@dataclass(frozen=True, slots=True)
class SearchableSource:
    """A source that a question may name; `channels` are names without #, `audiences` those who may know of it."""

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
"""What people call a kind: one of these, or a word of its title or id, must stand where a model names a source."""

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


def visible_to(sources: Iterable[SearchableSource], question: Question) -> list[SearchableSource]:
    """The sources that the asker may know of, and that the question is not already narrowed away from."""
    return [
        source
        for source in sources
        if set(source.audiences) & set(question.audiences) and (not question.sources or source.id in question.sources)
    ]


def named_filters(question: Question, known: Sequence[SearchableSource], today: date) -> Filters:
    """What the words of the question narrow the search to, by exact rules; English only."""
    sources = _named_sources(question.text, known)
    return replace(named_dates(question.text, today, of_a_source=bool(sources)), sources=sources)


def checked_filters(
    sources: Sequence[str], after: str, before: str, question: Question, known: Sequence[SearchableSource], today: date
) -> tuple[Filters, tuple[str, ...]]:
    """What remains of a language model's filters, and notes on what does not.

    A source must exist, and the user's words must name it; a date must be one, and the user must have named a time.
    """
    said = " ".join([*(message.content for message in question.history if message.role == "user"), question.text])
    by_id = {source.id: source for source in known}
    kept = tuple(name for name in dict.fromkeys(sources) if name in by_id and _is_named(by_id[name], said, known))
    notes = []
    if dropped := [name for name in dict.fromkeys(sources) if name not in kept]:
        listed = ", ".join(name[:50] for name in dropped[:3])
        notes.append(f"The language model named sources that the question does not name: {listed}.")
    dates = read_dates(after, before, today)
    if (after.strip() or before.strip()) and (dates == Filters() or not names_a_time(said)):
        notes.append("The language model named dates that cannot be used or that the question does not name.")
        dates = Filters()
    return replace(dates, sources=() if len(kept) == len(known) else kept), tuple(notes)


def narrowed(question: Question, filters: Filters) -> Question:
    """The question with its sources narrowed to those of the filters: never widened, and never to none."""
    allowed = tuple(name for name in filters.sources if not question.sources or name in question.sources)
    return replace(question, sources=allowed) if allowed else question


def fitting(hits: Iterable[Hit], filters: Filters) -> list[Hit]:
    """The hits whose date fits. A passage without a date is left out: nothing says that it fits."""
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


def describe(filters: Filters) -> str:
    """The filters in words: "in team_slack, changed since 2024-03-01"; "" where there are none."""
    parts = [f"in {', '.join(filters.sources)}"] if filters.sources else []
    bounds = (("since", filters.updated_after), ("before", filters.updated_before))
    dates = [f"{word} {_day(moment)}" for word, moment in bounds if moment]
    return ", ".join(parts + ([f"changed {' and '.join(dates)}"] if dates else []))


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _named_sources(text: str, known: Sequence[SearchableSource]) -> tuple[str, ...]:
    channels = {name.lower() for name in _CHANNEL.findall(text)}
    exact = [
        source.id
        for source in known
        if channels & {channel.lower() for channel in source.channels} or _is_quoted(source, text)
    ]
    named = exact or _of_kind(text, known)
    return tuple(named) if len(named) < len(known) else ()


def _is_quoted(source: SearchableSource, text: str) -> bool:
    """Whether a phrase such as "in the source tracker" or "in the Tidewheel handbook" names the source itself."""
    names = [rf"source [\"'`]?{re.escape(source.id)}"]
    if re.search(r"[_-]", source.id):
        names.append(rf"[\"'`]?{re.escape(source.id)}")
    if len(source.title.split()) > 1:
        names.append(re.escape(source.title))
    phrase = rf"\b(?:in|on|from|according to) (?:the |our )?(?:{'|'.join(names)})(?![\w-])"
    return bool(re.search(phrase, text, re.IGNORECASE))


def _of_kind(text: str, known: Sequence[SearchableSource]) -> list[str]:
    kinds = {kind for pattern, named in _PHRASES if pattern.search(text) for kind in named}
    found = [source for source in known if source.kind in kinds]
    if kinds & set(PAGES) and (of := _DOCS_OF.search(text)):
        wanted = set(content_words(of[1] or of[2]))
        named = [source for source in found if wanted & set(content_words(f"{source.id} {source.title}"))]
        found = named or found
    return [source.id for source in found]


def _is_named(source: SearchableSource, said: str, known: Sequence[SearchableSource]) -> bool:
    """Whether a text has a word that names this source and not every other one as well."""
    common = set.intersection(*(_name_words(one) for one in known)) if len(known) > 1 else set[str]()
    return bool((_name_words(source) - common) & set(content_words(said)))


def _name_words(source: SearchableSource) -> set[str]:
    names = (source.id, source.title, KIND_WORDS.get(source.kind, ""), *source.channels)
    return set(content_words(" ".join(names)))
