"""The documents that strategies are compared on, read once: files, folders, benchmarks and declared sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lore.convert import convert
from lore.declarations import FilesDeclaration, load_declarations
from lore.errors import ConfigurationError
from lore.evaluation.beir.dataset import BeirSource
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.strategies.strategy import SUMMARY_PASSAGE_CHARACTERS
from lore.ingest.write.prepare import DocumentPreparer
from lore.protocols import Source
from lore.redact.redactor import Redactor
from lore.settings import Settings
from lore.types import Document, Failure
from lore.wiring.sources import make_source

__all__ = ["Corpus", "open_sources", "read_corpus"]

LARGEST_FILE = 50_000_000


@dataclass(frozen=True, slots=True)
class Corpus:
    """Converted documents, and the number that could not be read or converted."""

    name: str
    documents: tuple[Document, ...]
    failed: int = 0


def open_sources(names: Sequence[str], settings: Settings) -> list[Source]:
    """Resolve each name: the id of a declared source, else a file, a folder, or a folder in BEIR's layout.

    Documents of a file or folder get its name as the prefix of their ids, like those of a declared source of that name.
    Raises ConfigurationError for any other name.
    """
    declared = load_declarations(settings.project.sources_dir).valid if settings.project.sources_dir.is_dir() else ()
    by_id = {declaration.id: declaration for declaration in declared}
    sources: list[Source] = []
    for name in names:
        path = Path(name)
        if name in by_id:
            sources.append(make_source(by_id[name], settings))
        elif (path / "corpus.jsonl").is_file():
            sources.append(BeirSource(path, id=_id_of(path)))
        elif path.exists():
            folder, include = (path, ()) if path.is_dir() else (path.parent, (f"/{path.name}",))
            values = {"id": _id_of(path), "path": folder.absolute(), "include": include, "max_bytes": LARGEST_FILE}
            declaration = FilesDeclaration.model_validate(values)
            sources.append(make_source(declaration, settings))
        else:
            known = f" Declared: {', '.join(sorted(by_id))}." if by_id else ""
            raise ConfigurationError(
                f"{name!r} is neither a declared source nor a file or folder.", remedy=f"Check the name.{known}"
            )
    return sources


def read_corpus(
    sources: Sequence[Source], redactor: Redactor, progress: Callable[[int], None] = lambda _: None
) -> Corpus:
    """Read all documents of the sources, converted and redacted as in a sync. Raises SourceError."""
    documents: dict[str, Document] = {}
    failed = 0
    preparer = DocumentPreparer(convert, redactor, MarkdownSplitter(SUMMARY_PASSAGE_CHARACTERS))
    for source in sources:
        for batch in source.read(None):
            failed += len(batch.failures)
            for document in batch.documents:
                converted = preparer.convert(redactor.document(document))
                if isinstance(converted, Failure):
                    failed += 1
                else:
                    documents[converted.id] = converted
            progress(len(documents))
    if not documents:
        raise ConfigurationError("There are no documents to compare strategies on.", remedy="Name another corpus.")
    return Corpus(", ".join(source.id for source in sources), tuple(documents.values()), failed)


def _id_of(path: Path) -> str:
    name = path.resolve().stem if path.is_file() else path.resolve().name
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:100] or "corpus"
