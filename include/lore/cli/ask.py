"""`lore search` and `lore ask`: passages and answers from the index."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from lore.cli.common import answer_json, hit_json, open_index
from lore.cli.output import is_terminal, message, one_line, print_json, print_markdown, print_text

if TYPE_CHECKING:
    from lore.protocols import Recorder, Store
    from lore.query.pipeline import Pipeline
    from lore.settings import Settings
    from lore.types import Answer, Citation, Hit, Question

__all__ = ["register"]

SNIPPET = 300

Words = Annotated[
    list[str],
    typer.Argument(metavar="QUESTION", show_default=False, help="The question, quoted or not; - reads standard input."),
]
Sources = Annotated[list[str] | None, typer.Option("--source", "-s", help="Only this source; may be repeated.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class QuestionCommand(TyperCommand):
    """A command that takes a question, which may itself begin with a dash."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse as usual; explain `--` if a word of the question looks like an option."""
        given = " ".join(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if name := getattr(error, "option_name", None):  # NoSuchOption, which Typer doesn't export
                raise typer.BadParameter(
                    f"No such option: {name}. If it is part of the question: {ctx.command_path} -- {given}"
                ) from None
            raise


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=QuestionCommand)(search)
    app.command(cls=QuestionCommand)(ask)


def search(
    words: Words,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Passages to show.")] = None,
    source: Sources = None,
    json: Json = False,
) -> None:
    """Find the passages that answer a question best, each with its similarity to the question (a cosine, at most 1)."""
    from lore.settings import load_settings

    question, pipeline, store = _open(words, source or (), load_settings())
    hits = pipeline.search(question, limit)
    if json:
        print_json({"question": question.text, "hits": [hit_json(hit) for hit in hits]})
        return
    if not hits:
        message("Nothing found." if store.count().documents else "The index is empty. Run: lore sync --all")
    for number, hit in enumerate(hits, start=1):
        print_text(_hit_text(number, hit))


def ask(words: Words, source: Sources = None, json: Json = False) -> None:
    """Answer a question and show the sources of the answer."""
    from lore.settings import load_settings
    from lore.wiring.records import make_recorder

    settings = load_settings()
    with make_recorder(settings) as recorder:
        question, pipeline, _ = _open(words, source or (), settings, recorder)
        if json:
            print_json(answer_json(pipeline.ask(question)))
        else:
            _print_answer(pipeline, question)


def _print_answer(pipeline: Pipeline, question: Question) -> None:
    from lore.query.events import Answered, Delta, Verified

    printer = MarkdownPrinter()
    for event in pipeline.stream(question):
        match event:
            case Delta(text=text):
                printer.feed(text)
            case Verified(text=text, corrected=True):
                printer.finish()
                message("The sources don't bear out all of the text above. What is left of it:")
                printer.feed(text)
            case Answered(answer=answer):
                printer.finish()
                _print_sources(answer)


def _open(
    words: Sequence[str], sources: Sequence[str], settings: Settings, recorder: Recorder | None = None
) -> tuple[Question, Pipeline, Store]:
    from lore.types import Question
    from lore.wiring.query import make_pipeline

    text = (sys.stdin.read() if list(words) == ["-"] else " ".join(words)).strip()
    if not text:
        raise typer.BadParameter("The question is empty.")
    store, embedder = open_index(settings, sources)
    pipeline = make_pipeline(settings, index=store, embedder=embedder, recorder=recorder)
    return Question(text, sources=tuple(sources), surface="cli"), pipeline, store


class MarkdownPrinter:
    """Prints streamed Markdown: rendered on a terminal, unchanged elsewhere.

    It prints whole blocks and never moves the cursor, so that it works on any terminal. A block ends at a blank line
    outside a code fence if the next line does not start with a space (it may belong to a list item).
    """

    _BOUNDARY = re.compile(r"\n[ \t]*\n+(?=\S)")
    _FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, text: str) -> None:
        """Add the next piece and print the blocks that are complete."""
        self._pending += text
        start = 0
        for boundary in self._BOUNDARY.finditer(self._pending):
            block = self._pending[start : boundary.start()]
            if len(self._FENCE.findall(block)) % 2 == 0:
                self._print(block)
                start = boundary.end()
        self._pending = self._pending[start:]

    def finish(self) -> None:
        """Print the rest."""
        if self._pending.strip():
            self._print(self._pending.rstrip())
        self._pending = ""

    def _print(self, block: str) -> None:
        if not is_terminal():
            print_text(block, end="\n\n")
            return
        print_markdown(block)
        print_text("")  # rich sets some blocks apart by blank lines of their own, which print_rich removes


def _print_sources(answer: Answer) -> None:
    if answer.citations:
        print_text("Sources")
    for citation in answer.citations:
        print_text(f"[{citation.number}] {_place(citation)}")
    if answer.nearest:
        print_text("Nearest pages")
    for citation in answer.nearest:
        print_text(f"  - {_place(citation)}")
    if answer.citations and "chat" not in answer.trace.models:
        message("Note: No language model is set; LORE_CHAT_MODEL=openai:gpt-4.1-mini, for example, writes answers.")
    for note in answer.trace.notes:
        message(f"Note: {note}")


def _place(citation: Citation) -> str:
    lines = [_path(citation.title, citation.headings), citation.url or citation.document_id]
    return "\n    ".join(one_line(line) for line in lines if line)


def _hit_text(number: int, hit: Hit) -> str:
    chunk = hit.chunk
    text = one_line(chunk.text)
    shown = text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " …"
    lines = [
        f"{number}. {one_line(_path(chunk.title, chunk.headings))}  ({chunk.source_id}{_similarity(hit)})",
        one_line(chunk.url or chunk.document_id),
        shown,
    ]
    return "\n   ".join(line for line in lines if line) + "\n"


def _similarity(hit: Hit) -> str:
    return "" if hit.vector_score is None else f", similarity {hit.vector_score:.2f}"


def _path(title: str, headings: Sequence[str]) -> str:
    return " > ".join(part for part in (title, *headings) if part.strip())
