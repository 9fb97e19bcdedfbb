"""Functions and classes of source code as citable units, found by tree-sitter.

A class that is too long for one unit is split into its methods. The rest, such as imports and constants, stays with the
file, together with each unit's first line as an outline.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lore.errors import require

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["UNITS_VERSION", "CodeUnit", "file_units"]

UNITS_VERSION = 1
"""Increased when the same file gives other units, so that repositories are read again."""
MAX_UNIT_CHARACTERS = 2_000
"""Longest file or class, in characters, that is one unit."""
MAX_NAME_CHARACTERS = 200
MAX_DEPTH = 20
PARSE_BYTES = 65_536
STEPS = 20_000
"""Limit on parsing a file, in steps of tree-sitter: about two megabytes of valid code, two seconds."""
STEPS_WITH_ERRORS = 1_000
"""The limit after a syntax error: recovery takes some milliseconds a step."""

GRAMMARS = {
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""Language → the package of its grammar and the function that returns it."""

DEFINITIONS = frozenset({
    "abstract_class_declaration", "annotation_type_declaration", "class", "class_declaration", "class_definition",
    "class_specifier", "constructor_declaration", "delegate_declaration", "enum_declaration", "enum_item",
    "enum_specifier", "function_declaration", "function_definition", "function_item",
    "generator_function_declaration", "impl_item", "interface_declaration", "internal_module", "macro_definition",
    "method", "method_declaration", "method_definition", "mod_item", "module", "property_declaration",
    "record_declaration", "singleton_method", "struct_declaration", "struct_item", "struct_specifier",
    "trait_declaration", "trait_item", "type_alias_declaration", "type_declaration", "type_definition", "union_item",
    "union_specifier",
})  # fmt: skip
"""Node types that are units; no two languages use one of these names differently."""
WRAPPERS = frozenset({"ambient_declaration", "decorated_definition", "export_statement", "template_declaration"})
"""Node types that wrap one definition and belong to its unit."""
FUNCTION_VALUES = frozenset({"arrow_function", "class", "function_expression", "generator_function"})
"""Values that make JavaScript's `const f = …` a definition."""
SCOPES = frozenset({
    "ERROR", "declaration_list", "file_scoped_namespace_declaration", "linkage_specification",
    "namespace_declaration", "namespace_definition", "preproc_else", "preproc_if", "preproc_ifdef",
})  # fmt: skip
"""Node types that are searched for definitions."""
LEADING = frozenset({"attribute_item", "block_comment", "comment", "line_comment"})
"""Node types that belong to a unit directly below them."""
KINDS = (
    "class", "struct", "interface", "enum", "trait", "impl", "module", "method", "function", "macro", "record", "union",
    "type", "property",
)  # fmt: skip
UNCUT_KINDS = ("function", "method")
"""Kinds of unit that are never split: a definition inside a function says little without it."""


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """A piece of a file: its lines `first` to `last`, from 1. `name` is dotted, and unique in the file.

    The file's own unit has no name and no lines. Its text, like that of a split class, has only the first line of each
    unit inside.
    """

    name: str
    kind: str
    text: str
    first: int = 0
    last: int = 0


def file_units(text: str, language: str) -> list[CodeUnit]:
    """Return the units of a file, the file's own first. A short file, or one without a grammar, has no others.

    Raises MissingPackageError when the language's grammar is not installed.
    """
    if len(text) <= MAX_UNIT_CHARACTERS or language not in GRAMMARS:
        return [CodeUnit("", "file", text)]
    root = _parse(text, language)
    if root is None:
        return [CodeUnit("", "file", text)]
    lines = text.split("\n")
    found = list(_definitions(root, "", 0))
    units: list[CodeUnit] = []
    outline = _collect(found, lines, 0, len(lines) - 1, units)
    return [CodeUnit("", "file", outline), *_unique(units)]


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition with its rows, from 0; `row` is the one that names it."""

    node: Node
    name: str
    first: int
    row: int
    last: int


def _parse(text: str, language: str) -> Node | None:
    """Return the root of the file's tree; None when parsing takes longer than valid code takes."""
    data = text.encode("utf-8", "replace")
    root = _root(data, language)
    if language == "c" and (root is None or root.has_error):  # C++ headers have the same suffix
        return _root(data, "cpp")
    return root


def _root(data: bytes, language: str) -> Node | None:
    """Parse with a limit on steps, not seconds, so that a file gives the same units on every machine."""
    parser, steps = _parser(language), 0

    def too_long(_: int, has_error: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > (STEPS_WITH_ERRORS if has_error else STEPS)

    tree = parser.parse(lambda offset, _: data[offset : offset + PARSE_BYTES], progress_callback=too_long)
    if tree is None:
        parser.reset()
        return None
    return tree.root_node


@cache
def _parser(language: str) -> Parser:
    module, function = GRAMMARS[language]
    require(module, "code", f"Code in {language}")
    from tree_sitter import Language, Parser

    return Parser(Language(getattr(importlib.import_module(module), function)()))


def _definitions(scope: Node, prefix: str, depth: int) -> Iterator[_Definition]:
    """Yield the definitions directly in a scope, in order, each with the comments directly above it."""
    if depth > MAX_DEPTH:
        return
    above: int | None = None  # first row of the comments above
    end = -1  # last row of the previous node
    for child in scope.named_children:
        row, last = child.start_point.row, _last_row(child)
        if above is not None and row > end + 1:
            above = None
        if child.type in LEADING:
            above = row if above is None and row > end else above
        elif inner := _definition_in(child):
            first = row if above is None else above
            yield _Definition(inner, _full_name(inner, prefix), first, inner.start_point.row, last)
            above = None
        else:
            above = None
            if child.type in SCOPES:
                yield from _definitions(child, prefix, depth + 1)
        end = last


def _collect(found: Sequence[_Definition], lines: Sequence[str], first: int, last: int, units: list[CodeUnit]) -> str:
    """Add the units of the definitions, and return the text of the rows with each unit as its first line."""
    kept: list[str] = []
    row = first
    for one in found:
        if one.first < row or one.last > last:  # it shares a line with the previous one
            continue
        kept += [*lines[row : one.first], lines[one.row]]
        row = one.last + 1
        text = "\n".join(lines[one.first : one.last + 1])
        kind = _kind(one.node)
        body = (
            one.node.child_by_field_name("body")
            if kind not in UNCUT_KINDS and len(text) > MAX_UNIT_CHARACTERS
            else None
        )
        members = list(_definitions(body, one.name, 1)) if body is not None else []
        place = len(units)
        if members:
            text = _collect(members, lines, one.first, one.last, units)
        units.insert(place, CodeUnit(one.name, kind, text, one.first + 1, one.last + 1))
    kept += lines[row : last + 1]
    return "\n".join(kept)


def _definition_in(node: Node) -> Node | None:
    """Return the node if it is a definition, or the one that it wraps."""
    if node.type in DEFINITIONS:
        return node
    if node.type in WRAPPERS or node.type == "expression_statement":
        return next((found for child in node.named_children if (found := _definition_in(child))), None)
    if node.type in ("lexical_declaration", "variable_declaration"):
        for child in node.named_children:
            value = child.child_by_field_name("value") if child.type == "variable_declarator" else None
            if value is not None and value.type in FUNCTION_VALUES:
                return child
    return None


def _full_name(node: Node, prefix: str) -> str:
    name = _name(node)
    if receiver := node.child_by_field_name("receiver"):  # Go has the type before the method
        prefix = next(iter(re.findall(r"[A-Za-z_]\w*", _text(receiver))[-1:]), "")
        if generic := re.search(r"([A-Za-z_]\w*)\s*\[", _text(receiver)):
            prefix = generic[1]
    return f"{prefix}.{name}" if prefix else name


def _name(node: Node) -> str:
    if node.type == "impl_item":
        kind, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
        return f"{_text(trait)} for {_text(kind)}" if trait else _text(kind)
    named = node
    while not (name := named.child_by_field_name("name")) and (below := named.child_by_field_name("declarator")):
        named = below  # C wraps the name of a function in its type
    if named.type == "qualified_identifier":
        return _text(named)
    if name is None and named is node:
        specification = next((child for child in node.named_children if child.child_by_field_name("name")), None)
        name = specification.child_by_field_name("name") if specification else None
        return _text(name) or "default"
    return _text(name or named)


def _text(node: Node | None) -> str:
    text = (node.text or b"").decode("utf-8", "replace") if node is not None else ""
    return " ".join(text.split())[:MAX_NAME_CHARACTERS]


def _kind(node: Node) -> str:
    return next((kind for kind in KINDS if kind in node.type), "function")


def _last_row(node: Node) -> int:
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row


def _unique(units: Sequence[CodeUnit]) -> Iterator[CodeUnit]:
    """Make names unique: the second of two overloads is `name~2`."""
    seen: Counter[str] = Counter()
    for unit in units:
        seen[unit.name] += 1
        count = seen[unit.name]
        name = unit.name if count == 1 else f"{unit.name}~{count}"
        yield CodeUnit(name, unit.kind, unit.text, unit.first, unit.last)
