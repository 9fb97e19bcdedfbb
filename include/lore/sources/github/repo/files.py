"""Documents from the files of a repository's archive."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from lore.convert import FORMATS, INCLUDING_FORMATS, format_of, resolve_includes
from lore.convert.formats import CODE_PREFIX
from lore.convert.markdown.slugs import ANCHOR_STYLE
from lore.declarations import GitHubRepoDeclaration
from lore.errors import SourceError
from lore.sources.github.repo.archive import RepositoryArchive
from lore.sources.github.repo.code import CodeUnit, file_units
from lore.sources.github.repo.links import RepositoryLinks, encode_path
from lore.sources.github.repo.state import SeenFile, text_digest
from lore.sources.globs import PathFilter
from lore.sources.partials import without_partials
from lore.types import Document, Failure

__all__ = ["RepositoryFiles"]

DATA = {"xml": (".xml", ".rss", ".atom", ".rdf"), "code:json": (".json", ".jsonc")}
"""Formats that usually hold data, read only if a glob of `include` names their suffix."""
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
LONGEST_POINTER = 1_024
LONGEST_LINE, MEAN_LINE = 5_000, 200
"""Characters of the longest line, and mean line length, beyond which code counts as minified."""
RENDERED = frozenset({"markdown", "mdx", "rst"})
"""Formats whose headings have anchors on GitHub."""
SUBMODULE = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)
NAMED = 10
MAX_SEEN = 100_000
"""Files whose state the cursor keeps; 100,000 take two megabytes, which the index stores."""

Made = TypeVar("Made", str, bytes)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _RepositoryFile:
    """A file, and the commit (or branch) in its documents' addresses."""

    path: str
    format: str
    commit: str


class RepositoryFiles:
    """The selected files of a repository: documents named SOURCE:PATH, and units of code SOURCE:PATH#NAME.

    Hidden files, links, submodules, Git LFS pointers and minified code are left out; the log names what users may miss.

    Addresses and links name the commit at which a document's text first appeared: that in `before` if the text is the
    same, else `commit`, the archive's. `seen` becomes `before` in the next run, once all documents were read. For more
    than `max_seen` files nothing is kept, and addresses name the branch.
    """

    def __init__(
        self,
        declaration: GitHubRepoDeclaration,
        archive: RepositoryArchive,
        web_url: str,
        commit: str,
        before: Mapping[str, SeenFile],
        *,
        max_seen: int = MAX_SEEN,
    ) -> None:
        self.seen: dict[str, SeenFile] = {}
        self._declaration = declaration
        self._archive = archive
        self._commit = commit
        self._before = before
        self._max_seen = max_seen
        self._chosen = PathFilter(declaration.include, declaration.exclude)
        self._links = RepositoryLinks(web_url, archive.paths())
        self._pointers: list[str] = []
        self._minified: list[str] = []

    def documents(self) -> Iterator[Document | Failure]:
        """Yield every document in the order of paths; a file that is too large is a failure.

        Raises SourceError when no file is selected, so that the documents don't all look deleted.
        """
        selected = [path for path in self._archive.paths() if self._is_selected(path)]
        paths = without_partials(selected, self._included)
        if not paths:
            raise SourceError(
                f"No file of {self._declaration.repository} matches {self._declaration.id}.",
                remedy="Check `ref`, `include`, `exclude`, and `code` if you want code.",
            )
        too_many = len(paths) > self._max_seen
        if too_many:
            self._commit, self._before = self._declaration.ref or "HEAD", {}
        for path in paths:
            yield from self._read(path)
        if too_many:
            self.seen.clear()
        self._log_left_out("submodules", self._submodules())
        self._log_left_out("Git LFS pointers", self._pointers)
        self._log_left_out("minified files", self._minified)

    def _is_selected(self, path: str) -> bool:
        name = format_of(path) or ""
        known = name in FORMATS and (self._declaration.code or not name.startswith(CODE_PREFIX))
        named = name not in DATA or any(glob.endswith(DATA[name]) for glob in self._declaration.include)
        hidden = any(part.startswith(".") for part in path.split("/"))
        return known and named and not hidden and self._chosen(path)

    def _read(self, path: str) -> Iterator[Document | Failure]:
        limit = self._declaration.max_bytes
        if self._archive.size(path) > limit:
            reason = f"It is larger than max_bytes, {limit:,} bytes. Exclude it, or raise the limit."
            yield Failure(self._document_id(path), reason)
            return
        data = self._archive.read(path)
        format_name = format_of(path) or ""
        if len(data) <= LONGEST_POINTER and data.startswith(LFS_POINTER):
            self._pointers.append(path)
        elif format_name.startswith(CODE_PREFIX):
            yield from self._code(path, data, format_name)
        else:
            yield self._page(path, data, format_name)

    def _first_seen(self, path: str, make: Callable[[str], Made]) -> tuple[str, Made]:
        """Return the commit for the file's documents, and their text made for that commit.

        The comparison covers included files and link targets. So the commit contains the whole text, and every link's
        target exists at it.
        """
        key = encode_path(path)
        if (before := self._before.get(key)) and text_digest(made := make(before.commit)) == before.digest:
            self.seen[key] = before
            return before.commit, made
        made = make(self._commit)
        self.seen[key] = SeenFile(text_digest(made), self._commit)
        return self._commit, made

    def _unparsed(self, path: str, data: bytes, format_name: str) -> _RepositoryFile:
        """Return a file whose text depends on its own bytes only."""
        return _RepositoryFile(path, format_name, self._first_seen(path, lambda _: data)[0])

    def _page(self, path: str, data: bytes, format_name: str) -> Document:
        """Return a document; bytes that are not UTF-8 are left to conversion, which detects the charset."""
        text = _decoded(data)
        if text is None or format_name not in INCLUDING_FORMATS:
            return self._document(self._unparsed(path, data, format_name), "", data)
        whole = resolve_includes(text, path, self._included, format_name)
        link = self._links.rst if format_name == "rst" else self._links.markdown
        commit, linked = self._first_seen(path, lambda commit: link(whole, path, commit))
        return self._document(_RepositoryFile(path, format_name, commit), linked, None)

    def _included(self, path: str) -> str | None:
        if path not in self._archive:
            return None
        return self._archive.read(path, self._declaration.max_bytes).decode("utf-8-sig", "replace")

    def _code(self, path: str, data: bytes, format_name: str) -> Iterator[Document]:
        text = _decoded(data)
        if text is None:
            yield self._document(self._unparsed(path, data, format_name), "", data)
        elif _is_minified(text):
            self._minified.append(path)
        elif text.strip():
            file = self._unparsed(path, data, format_name)
            language = "tsx" if path.lower().endswith(".tsx") else format_name.removeprefix(CODE_PREFIX)
            for unit in file_units(text, language):
                if unit.text.strip():
                    yield self._unit(file, unit)

    def _unit(self, file: _RepositoryFile, unit: CodeUnit) -> Document:
        if not unit.name:
            return self._document(file, unit.text, None, title=_shown(file.path))
        return Document(
            id=f"{self._document_id(file.path)}#{quote(unit.name, safe='')}",
            source_id=self._declaration.id,
            url=self._links.page(file.path, file.commit, (unit.first, unit.last)),
            title=f"{unit.name} in {_shown(file.path)}",
            text=unit.text,
            format=file.format,
            metadata=self._metadata(file.path) | {"symbol": unit.name, "symbol_kind": unit.kind},
            audiences=self._declaration.audiences,
        )

    def _document(self, file: _RepositoryFile, text: str, data: bytes | None, title: str = "") -> Document:
        return Document(
            id=self._document_id(file.path),
            source_id=self._declaration.id,
            url=self._links.page(file.path, file.commit),
            title=title,
            text=text,
            format=file.format,
            metadata=self._metadata(file.path) | _anchor_style(file.format),
            audiences=self._declaration.audiences,
            data=data if data is not None or text else b"",
        )

    def _metadata(self, path: str) -> dict[str, str]:
        return {"repository": self._declaration.repository, "path": encode_path(path)}

    def _document_id(self, path: str) -> str:
        return f"{self._declaration.id}:{encode_path(path)}"

    def _submodules(self) -> list[str]:
        """Return the paths of submodules, which are empty folders in an archive."""
        if ".gitmodules" not in self._archive:
            return []
        text = self._archive.read(".gitmodules", self._declaration.max_bytes).decode("utf-8", "replace")
        return [path for path in SUBMODULE.findall(text) if self._chosen(f"{path}/any.md")]

    def _log_left_out(self, what: str, paths: list[str]) -> None:
        if paths:
            more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
            named = ", ".join(encode_path(path) for path in paths[:NAMED])
            logger.warning("%s left out %d %s: %s%s.", self._declaration.id, len(paths), what, named, more)


def _anchor_style(format_name: str) -> dict[str, str]:
    """Return the style of anchors on GitHub's page of a file, which shows the source of HTML and PDF."""
    style = "github" if format_name in RENDERED else "none" if format_name in ("html", "pdf") else ""
    return {ANCHOR_STYLE: style} if style else {}


def _is_minified(text: str) -> bool:
    lines = text.split("\n")
    return len(text) > MEAN_LINE * len(lines) and any(len(line) > LONGEST_LINE for line in lines)


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
