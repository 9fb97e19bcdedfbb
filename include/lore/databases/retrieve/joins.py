"""The tables that can be joined: by declared foreign keys, and where none are declared, by the names of columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from lore.databases.retrieve.texts import words_of_name
from lore.databases.schema.model import TableInfo

__all__ = ["components", "joinable"]

Words = tuple[str, ...]
KEY_WORDS = ("id", "code", "key", "no", "num", "number")
MAX_OWNERS = 8
"""A name that is the key of more tables says nothing about any of them."""


def joinable(tables: Sequence[TableInfo]) -> list[set[int]]:
    """Return for each table the places of those it can be joined with, in both directions."""
    places = {table.name: place for place, table in enumerate(tables)}
    found: list[set[int]] = [set() for _ in tables]
    for one, other in [*_declared(tables, places), *_by_names(tables)]:
        if one != other:
            found[one].add(other)
            found[other].add(one)
    return found


def components(neighbours: Sequence[set[int]]) -> list[int]:
    """Return for each table the number of its group: tables that joins connect, however many it takes."""
    group = [-1] * len(neighbours)
    for start in range(len(neighbours)):
        waiting = [start] if group[start] < 0 else []
        while waiting:
            place = waiting.pop()
            if group[place] < 0:
                group[place] = start
                waiting += neighbours[place]
    return group


def _declared(tables: Sequence[TableInfo], places: dict[str, int]) -> Iterator[tuple[int, int]]:
    for place, table in enumerate(tables):
        for key in table.foreign_keys:
            if key.table in places:
                yield place, places[key.table]


def _by_names(tables: Sequence[TableInfo]) -> Iterator[tuple[int, int]]:
    """Yield pairs within a schema of which a column of one has the name of the other's key, as in customer_id."""
    schemas: dict[str, list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        schemas[table.schema_name].append(place)
    for members in schemas.values():
        prefix = _common_prefix([tables[place] for place in members])
        owners: dict[Words, set[int]] = defaultdict(set)
        for place in members:
            for key in _key_names(tables[place], prefix):
                owners[key].add(place)
        for place in members:
            for column in tables[place].columns:
                words = _words(column.name, prefix)
                if not _is_key(words):
                    continue
                for start in range(len(words)):
                    found = owners.get(words[start:], set())
                    if len(found) <= MAX_OWNERS:
                        yield from ((place, other) for other in found)


def _key_names(table: TableInfo, prefix: str) -> Iterator[Words]:
    """Yield the names by which other tables refer to this one."""
    name = _words(table.plain_name, prefix)
    yield from ((*name, word) for word in ("id", "code"))
    keys = [column for column in table.columns if column.primary_key] or table.columns[:1]
    words = _words(keys[0].name, prefix) if len(keys) == 1 else ()
    if _is_key(words) and words != ("id",):
        yield words


def _common_prefix(tables: Sequence[TableInfo]) -> str:
    """Return the first word of all tables' names if it is the same, such as "tbl"; else ""."""
    firsts = Counter(words[0] for table in tables if len(words := words_of_name(table.plain_name)) > 1)
    word, count = firsts.most_common(1)[0] if firsts else ("", 0)
    return word if count == len(tables) > 1 else ""


def _words(name: str, prefix: str) -> Words:
    return tuple(_singular(word) for word in words_of_name(name) if word != prefix)


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _is_key(words: Words) -> bool:
    return bool(words) and (words[-1] in KEY_WORDS or words[-1].endswith("id"))
