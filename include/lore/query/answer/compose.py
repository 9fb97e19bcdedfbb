"""What leaves as the answer to a question, piece by piece and checked: written, quoted, or that there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lore.errors import ModelError
from lore.protocols import ChatModel, Embedder
from lore.query.answer import llm as answering
from lore.query.answer.llm import AnswerWriter
from lore.query.prompts import prompt_version
from lore.query.retrieve.relevance import irrelevant, unmentioned
from lore.query.state import Run
from lore.query.verify.claims import LEGEND
from lore.query.verify.injection import gives_orders
from lore.query.verify.stream import AnswerCheck
from lore.query.verify.support import Support
from lore.types import Check
from lore.visible_text import visible

__all__ = ["Writing"]

SOURCES_NAMED = 5
SMALL_TALK = "Ask me something, and I will look it up."


class Writing:
    """The last stage of the journey. What it has to say besides the answer's text goes into the run.

    The `embedder` serves the check of what the sentences of an answer mean.
    """

    def __init__(
        self, chat_model: ChatModel | None, embedder: Embedder, *, context_tokens: int | None, seconds: float
    ) -> None:
        self._embedder = embedder
        self._model = chat_model.name if chat_model is not None else ""
        self._writer = (
            AnswerWriter(chat_model, context_tokens=context_tokens, seconds=seconds) if chat_model is not None else None
        )

    def pieces(self, run: Run) -> Iterator[str]:
        """The checked pieces of the answer; some may be empty."""
        if run.plan.from_context:
            yield from self._from_context(run)
        elif not run.plan.search and self._writer:
            yield from self._small_talk(run, self._writer)
        elif not run.sources and run.index.count().chunks == 0:
            yield from _not_found(run, answering.EMPTY_INDEX)
        elif irrelevant(run.plan.question, run.passages, run.candidates, last_word=self._writer is None):
            absent = ", ".join(unmentioned(run.plan.question, run.candidates)) if self._writer is None else ""
            mentions = f"mentions {absent}" if absent else "has to do with the question"
            run.notes.append(f"Nothing that was found {mentions}.")
            yield from _not_found(run, answering.NOTHING_FOUND)
        elif self._writer and irrelevant(run.plan.question, run.passages, run.candidates):
            yield from self._doubted(run, self._writer)
        elif self._writer:
            yield from self._written(run, self._writer)
        else:
            yield f"{answering.NO_MODEL}\n\n"
            yield from _quote(run)

    def _from_context(self, run: Run) -> Iterator[str]:
        """An answer from the global context, which the planner, or the rule without a model, found relevant."""
        if self._writer:
            yield from self._written(run, self._writer)
        else:
            yield f"{answering.NO_MODEL}\n\n"
            yield from _quote(run)

    def _small_talk(self, run: Run, writer: AnswerWriter) -> Iterator[str]:
        if refusal := run.refusal("answer", self._model):
            run.notes.append(refusal)
            yield SMALL_TALK
            return
        check = AnswerCheck(())
        run.prompts["small_talk"] = prompt_version("small_talk")
        try:
            for piece in writer.small_talk(run.plan.question, run.on_usage("answer")):
                yield check.feed(piece)
        except ModelError as error:
            run.notes.append(f"The language model failed: {error}")
            yield check.finish() or SMALL_TALK
        else:
            rest = check.finish()
            yield rest if "".join([*run.text, rest]).strip() else SMALL_TALK
        run.check = check.result

    def _written(self, run: Run, writer: AnswerWriter) -> Iterator[str]:
        """What the model writes; below it what the marks in it mean."""
        if refusal := run.refusal("answer", self._model):
            run.notes.append(refusal)
            yield f"*{refusal}*\n\n"
            yield from _quote(run)
            return
        _note_orders(run)
        yield from self._write(run, writer)
        if run.check.unsupported or run.check.misquoted:
            yield f"\n\n{LEGEND}"

    def _doubted(self, run: Run, writer: AnswerWriter) -> Iterator[str]:
        """What the model writes of passages that hardly have to do with the question: held back until its end, and
        shown when each of its sentences is cited and borne out. A small model answers from whatever it is given.
        """
        for piece in self._written(run, writer):
            run.text.append(piece)
        written = "".join(run.text)
        run.text.clear()
        if not run.found or _borne_out(run.check):
            yield written
            return
        run.check = Check()
        run.notes.append(
            "What was found hardly has to do with the question, and not all that the language model made of it is "
            "borne out by it."
        )
        yield from _not_found(run, answering.NOTHING_FOUND)

    def _write(self, run: Run, writer: AnswerWriter) -> Iterator[str]:
        support = Support(run.sources, run.question.text, self._embedder)
        check = AnswerCheck(run.passages, question=run.question.text, support=support)
        run.prompts["answer"] = prompt_version("answer")
        try:
            pieces = writer.write(
                run.plan.question, run.sources, run.now, on_usage=run.on_usage("answer"), on_note=run.notes.append
            )
            if pieces is None and run.plan.from_context:
                run.notes.append("The global context does not answer it after all, so it was searched for.")
                return
            if pieces is None:
                run.notes.append("The language model found no answer in the passages.")
                yield from _not_found(run, answering.NOTHING_FOUND)
                return
            for piece in pieces:
                yield check.feed(piece)
            rest = check.finish()
            if not "".join([*run.text, rest]).strip():
                raise ModelError("Nothing that may be shown came from it.")
        except ModelError as error:
            run.notes.append(f"The answer quotes the passages, because the language model failed: {error}")
            yield check.finish()
            lead = "*The language model failed here" if run.text else "*The language model failed"
            yield ("\n\n" if run.text else "") + f"{lead}, so these are the best passages, word for word.*\n\n"
            run.check = check.result
            yield from _quote(run)
            return
        run.check = check.result
        if not run.check.kept_citations:
            yield from _uncited(run, rest, gave_up=check.gave_up)
            return
        rest, ends_so = _without_verdict(run, rest)
        if check.gave_up or ends_so:
            run.notes.append("The language model also said that the passages do not answer; what it cites stands.")
        yield rest


def _borne_out(check: Check) -> bool:
    """Whether there is an answer, each sentence of it cited, and supported by what it cites."""
    marked = check.unsupported or check.misquoted
    return bool(check.cited) and check.supported == check.cited and not check.uncited and not marked


def _note_orders(run: Run) -> None:
    """Say which passages nothing is taken from on their word."""
    pages = [visible(hit.chunk.title) for hit in run.passages if gives_orders(hit.chunk.passage)]
    if pages:
        named = ", ".join(dict.fromkeys(pages))
        run.notes.append(f"Passages that speak to a language model were given, but count for nothing: {named}.")


def _not_found(run: Run, sentence: str) -> Iterator[str]:
    run.found = False
    run.nearest = run.nearest_pages()
    yield sentence
    if run.candidates:
        yield f" {_searched(run)}"


def _searched(run: Run) -> str:
    """What was looked at: counts and ids of sources, nothing that the asker, a model or a page wrote."""
    sources = [f"`{source}`" for source in sorted({hit.chunk.source_id for hit in run.candidates})]
    named = ", ".join(sources[:SOURCES_NAMED]) + (" and others" if len(sources) > SOURCES_NAMED else "")
    passages = _counted(len(run.candidates), "passage")
    wordings = _counted(len(run.plan.wordings), "wording")
    return f"Searched: the nearest {passages} to {wordings} of the question, from {named}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _uncited(run: Run, rest: str, *, gave_up: bool) -> Iterator[str]:
    """The end of an answer without citations: a warning, or "not found" where that is the model's verdict."""
    rest, ends_so = _without_verdict(run, rest)
    if gave_up or ends_so:
        run.notes.append("The language model found no answer in the passages.")
        yield rest.rstrip()
        yield "\n\n"
        yield from _not_found(run, answering.NOTHING_FOUND)
        return
    yield rest
    run.notes.append("The answer cites no source.")
    run.nearest = run.nearest_pages()
    yield f"\n\n{answering.UNCITED}"


def _without_verdict(run: Run, rest: str) -> tuple[str, bool]:
    """The end of an answer, without the verdict that the passages do not answer; and whether it ends so."""
    verdict = answering.late_verdict("".join([*run.text, rest]))
    return (rest[: max(0, len(rest) - len(verdict[0]))], True) if verdict else (rest, False)


def _quote(run: Run) -> Iterator[str]:
    numbers = answering.worth_quoting(run.plan.question, run.passages)
    run.check = replace(run.check, kept_citations=tuple(sorted({*run.check.kept_citations, *numbers})))
    yield answering.quoted_answer(run.plan.question, run.passages, numbers)
