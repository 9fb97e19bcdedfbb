"""Sphinx's directives and roles for docutils, and a fallback for unknown ones: each is resolved to its text."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.directives.tables import CSVTable, ListTable, RSTTable
from docutils.parsers.rst.states import Inliner, SubstitutionDef
from docutils.statemachine import StringList

from lore.convert.rst.embedded_markdown import markdown_to_html
from lore.convert.rst.includes import MARKDOWN_DIRECTIVE

__all__ = ["register_directives"]

CODE = frozenset(
    {
        "code", "code-block", "sourcecode", "prompt", "ipython", "ipython3", "jupyter-execute", "testcode", "doctest"
    }
)  # fmt: skip
DIAGRAMS = frozenset(
    {
        "graphviz", "digraph", "graph", "mermaid", "uml", "plantuml", "blockdiag", "seqdiag"
    }
)  # fmt: skip
DROPPED = frozenset(
    {
        "toctree", "contents", "sectnum", "index", "highlight", "default-domain", "currentmodule", "module",
        "rst-class", "class", "meta", "include", "raw", "date", "title", "header", "footer", "target-notes",
        "tabularcolumns", "spelling", "spelling:word-list", "jinja", "argparse", "autoapimodule", "automodule",
        "autoclass", "autofunction", "automethod", "autosummary", "only-latex", "sphinx-autobuild", "literalinclude",
        "exampleinclude", "plot", "bibliography", "sectionauthor", "codeauthor", "click", "program",
        "autopydantic_model", "autopydantic_settings", "todolist"
    }
)  # fmt: skip
"""Directives that hold configuration, a list of files, or a program that produces the text elsewhere."""
LABELS = {
    "seealso": "See also", "versionadded": "Added in version", "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version", "versionremoved": "Removed in version",
    "note": "Note", "warning": "Warning", "tip": "Tip", "important": "Important", "caution": "Caution",
    "danger": "Danger", "error": "Error", "hint": "Hint", "attention": "Attention", "todo": "To do",
}  # fmt: skip
NATIVE = frozenset(
    {
        "replace", "unicode", "role", "default-role", "parsed-literal", "math", "figure", "image", "compound",
        "container", "line-block", "rubric", "epigraph", "highlights", "pull-quote"
    }
)  # fmt: skip
"""docutils' own directives that work unchanged."""
OBJECTS = re.compile(
    r"(?:\w+:)?(?:function|method|classmethod|staticmethod|class|attribute|property|data|exception|decorator|envvar|option"
    r"|confval|setting|describe|object|type|macro|var|member|struct|enum|enumerator|cmdoption|command|directive|role|module)"
)
NAMES = re.compile(r"^\s*\.\.[ ]+(?:\|[^|\n]*\|[ ]+)?([\w.+:-]+?)[ ]?::(?:\s|$)", re.MULTILINE)
ROLES = re.compile(r":([A-Za-z][\w.+:-]*?):`|`:([A-Za-z][\w.+:-]*?):")
LITERAL_ROLES = re.compile(
    r"(?:\w+:)?(?:class|func|meth|mod|attr|obj|data|exc|const|envvar|file|command|program|option|samp|kbd|makevar|mailheader"
    r"|regexp|token|keyword|subst-code|confval|type|macro|var|member|any|py|js|c|cpp|decorator|deco|literal)"
)
NATIVE_ROLES = frozenset(
    {
        "abbreviation", "ab", "acronym", "ac", "code", "emphasis", "literal", "math", "pep-reference", "pep",
        "rfc-reference", "rfc", "strong", "subscript", "sub", "superscript", "sup", "title-reference", "title", "t"
    }
)  # fmt: skip
NAMED_CODE = re.compile(
    r"(?:^|[-_:])(?:code|exec|execute|run|runblock|console|shell|snippet|repl|script|command-output|program-output|testsetup"
    r"|testcleanup|testoutput|pyodide|notebook-cell)(?:$|[-_:])|^click:example$"
)
"""Names of directives whose content is code."""
SWITCHES = frozenset(
    {
        "noindex", "no-index", "noindexentry", "no-index-entry", "nocontentsentry", "no-contents-entry", "module",
        "canonical", "nosignature", "no-typesetting", "single-line-parameter-list", "class", "name", "anchor", "ref",
        "single-line-type-parameter-list"
    }
)  # fmt: skip
"""Options of described objects that are no facts about them."""
MAX_NAMES = 500
"""Unknown names registered for one text. docutils keeps them for the life of the process."""

_registered: set[str] = set()


class _AnyOptions(dict[str, Callable[[str], Any]]):
    """An option spec that also accepts unknown options, unchanged."""

    def __bool__(self) -> bool:
        return True

    def __missing__(self, key: str) -> Callable[[str], Any]:
        return lambda value: value or ""


class _AnyDirective(Directive):
    """A directive turned into the nodes of its text, according to its name."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOptions()

    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        if name == "raw" and "html" in self.arguments[0].split() and self.content:
            return [nodes.raw("", "\n".join(self.content), format="html")]
        if name in DROPPED or name.startswith(("auto", "spelling")):
            return [nodes.comment("", "\n".join(self.content))]  # counted, and dropped later
        if name in CODE:
            return list(self._code(self.arguments[0] if self.arguments else self.options.get("language", "")))
        if name == "productionlist":
            grammar = "\n".join((*self.arguments, *self.content))
            return [nodes.literal_block(grammar, grammar)]
        if name in DIAGRAMS:
            return list(self._code("mermaid" if name == "mermaid" else "dot"))
        if name in LABELS:
            return self._labelled(name)
        if name == MARKDOWN_DIRECTIVE:
            return [nodes.raw("", markdown_to_html("\n".join(self.content)), format="html")]
        if OBJECTS.fullmatch(name):
            return self._object()
        if NAMED_CODE.search(name) or _looks_like_code(list(self.content)):
            return self._shown_code()
        return self._generic(name)

    def _code(self, language: str) -> Iterator[nodes.Node]:
        if caption := self.options.get("caption"):
            yield nodes.paragraph("", "", nodes.strong("", caption))
        if self.content:
            code = "\n".join(self.content)
            yield nodes.literal_block(code, code, language=language.strip().lower())

    def _labelled(self, name: str) -> list[nodes.Node]:
        """Return a note or version mark with a bold label before its first paragraph."""
        words, opening = LABELS[name], "\n".join(self.arguments)
        if name.startswith(("version", "deprecated")):
            version, _, opening = " ".join(opening.split()).partition(" ")
            words = f"{words} {version}".strip()
        container = self._parse(opening)
        label = nodes.strong("", f"{words}:" if container else words)
        first = container[0] if container else None
        if isinstance(first, nodes.paragraph):
            first.insert(0, [label, nodes.Text(" ")])
            return container
        return [nodes.paragraph("", "", label), *container]

    def _object(self) -> list[nodes.Node]:
        """Return the description of a function, option or variable: signatures as code, then the text."""
        signatures = [" ".join(line.split()) for line in "\n".join(self.arguments).split("\n") if line.strip()]
        heads: list[nodes.Node] = [nodes.paragraph("", "", nodes.literal(line, line)) for line in signatures]
        return [*heads, *self._facts(), *self._parse()]

    def _facts(self) -> list[nodes.Node]:
        """Return the options that describe an object, such as its type and default, as a list."""
        facts = nodes.bullet_list()
        for name, value in self.options.items():
            if name in SWITCHES:
                continue
            words, _ = self.state.inline_text(" ".join(str(value).split()), self.lineno)
            paragraph = nodes.paragraph("", "", nodes.Text(f"{name}: " if words else name), *words)
            facts += nodes.list_item("", paragraph)
        return [facts] if facts.children else []

    def _shown_code(self) -> list[nodes.Node]:
        """Return the code of a directive that runs or shows it; a tab of code names its language, then its label."""
        language, _, label = " ".join(self.arguments).partition(" ")
        if not re.fullmatch(r"[\w+#.-]{1,30}", language) or "tab" not in self.name:
            language, label = self.options.get("language", ""), " ".join(self.arguments)
        title = [nodes.paragraph("", "", nodes.strong("", label))] if label else []
        return [*title, *self._code(language)]

    def _generic(self, name: str) -> list[nodes.Node]:
        """Return tabs, cards and unknown directives: the argument as a bold line above the content."""
        container = self._parse()
        argument = " ".join("\n".join(self.arguments).split())
        if not argument or name == "only" or (not container and " " not in argument and name != "centered"):
            return container
        words, messages = self.state.inline_text(argument, self.lineno)
        return [nodes.paragraph("", "", nodes.strong("", "", *words)), *messages, *container]

    def _parse(self, opening: str = "") -> list[nodes.Node]:
        """Return the nodes of the content after a paragraph of `opening`."""
        lines = [*opening.split("\n"), ""] if opening.strip() else []
        holder = nodes.Element()
        text = StringList(lines, source="directive") + self.content
        self.state.nested_parse(text, self.content_offset, holder, match_titles=True)
        return list(holder.children)


class _Image(_AnyDirective):
    """An image replaced by its text, a figure by its caption."""

    def run(self) -> list[nodes.Node]:
        text = " ".join(self.options.get("alt", "").split())
        image = nodes.image(uri="".join("".join(self.arguments).split()), alt=text)
        if isinstance(self.state, SubstitutionDef):
            return [image if text else nodes.Text("")]
        shown = [nodes.paragraph("", "", image)] if text else []
        return [*shown, *self._parse()]


class _Table(RSTTable):
    option_spec = _AnyOptions(RSTTable.option_spec or {})


class _ListTable(ListTable):
    option_spec = _AnyOptions(ListTable.option_spec or {})


class _CsvTable(CSVTable):
    option_spec = _AnyOptions(CSVTable.option_spec or {})

    def run(self) -> list[Any]:
        """Return the table, or a line that names its file: the source puts the files that it can read in place."""
        missing = self.options.get("file") or self.options.get("url")
        if not missing:
            return list(super().run())
        title = " ".join("\n".join(self.arguments).split())
        return [nodes.paragraph("", f"{title} (table in {missing})" if title else f"Table in {missing}")]


TABLES: dict[str, type[Directive]] = {"table": _Table, "list-table": _ListTable, "csv-table": _CsvTable}
"""docutils' own tables, which would drop a table with an option of Sphinx's."""


def _looks_like_code(lines: list[str]) -> bool:
    """True for lines that are a session of a shell or of Python, or statements of Python."""
    written = [line for line in lines if line.strip()]
    if not written:
        return False
    if written[0].startswith(("$ ", ">>> ", "#!")):
        return True
    if not any(re.search(r"[=({]", line) for line in written) or any(line.startswith(".. ") for line in written):
        return False
    try:
        body = ast.parse(textwrap.dedent("\n".join(lines))).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call) for node in body)


def _any_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, options: Any = None, content: Any = None
) -> Any:
    """Return a cross-reference's title (`Title <target>`), or its target in the short form that Sphinx shows."""
    words = text.replace("\x00", "")
    if match := re.fullmatch(r"(?P<title>.+?)\s*<(?P<target>[^<>]+)>", words, re.DOTALL):
        words = match["title"]
    elif words.startswith("~"):
        words = words[1:].rpartition(".")[2]
    words = " ".join(words.lstrip("!").split())
    if name == "abbr":
        return [nodes.Text(words)], []
    if LITERAL_ROLES.fullmatch(name):
        return [nodes.literal(words, words)], []
    return [nodes.inline("", words, target=text, role=name)], []


def register_directives(text: str) -> None:
    """Register every directive and role that a text names, except those that docutils handles well."""
    _register_known()
    names = {name.lower() for name in NAMES.findall(text)} - NATIVE - _registered
    for name in sorted(names)[:MAX_NAMES]:
        directives.register_directive(name, _AnyDirective)
        _registered.add(name)
    found = {(first or second).lower() for first, second in ROLES.findall(text)}
    for name in sorted(found)[:MAX_NAMES]:
        if f":{name}" not in _registered and name not in NATIVE_ROLES:
            roles.register_local_role(name, _any_role)
            _registered.add(f":{name}")


def _register_known() -> None:
    if _registered:
        return
    for name in (*CODE, *DIAGRAMS, *DROPPED, *LABELS):
        directives.register_directive(name, _AnyDirective)
        _registered.add(name)
    for name, directive in (("image", _Image), ("figure", _Image), *TABLES.items()):
        directives.register_directive(name, directive)
        _registered.add(name)
