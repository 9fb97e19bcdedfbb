"""Composition of the answer from checked pieces: written by a model, quoted, or "not found"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lore.errors import ModelError
from lore.protocols import Embedder
from lore.query.answer.llm import AnswerWriter, trailing_verdict
from lore.query.answer.quoted_answer import quote_passages
from lore.query.answer.result import nearest_pages
from lore.query.answer.verification import MAX_STATEMENTS, VerifiedText, Verifier, apply_verdicts
from lore.query.prompts import prompt_version
from lore.query.retrieve.relevance import is_irrelevant, unmentioned_names
from lore.query.state import QuestionState
from lore.query.verify.citation_syntax import CHECKED
from lore.query.verify.claims import LEGEND
from lore.query.verify.injection import contains_injection
from lore.query.verify.statements import has_substance, statements
from lore.query.verify.stream import AnswerCheck
from lore.query.verify.support import SupportChecker
from lore.types import Check
from lore.visible_text import visible

__all__ = ["EMPTY_INDEX", "NOTHING_FOUND", "NO_MODEL", "UNCITED", "AnswerComposer"]

SOURCES_NAMED = 5
NOTHING_FOUND = "The index holds nothing that answers this."
EMPTY_INDEX = "The index is empty: nothing has been synced yet. Run `lore sync --all` first."
NO_MODEL = "Word for word from the sources:"
UNCITED = "*This answer cites no source. Check it against the pages before you rely on it.*"
SMALL_TALK = "Ask me something, and I will look it up."


class AnswerComposer:
    """Composes the checked text of an answer, and adds its check, notes and nearest pages to the question's state.

    Without a `writer` the answer quotes passages. The `embedder` helps to check sentences against their sources, and
    the `verifier` judges those that a model wrote.
    """

    def __init__(self, writer: AnswerWriter | None, embedder: Embedder, verifier: Verifier | None = None) -> None:
        self._writer = writer
        self._verifier = verifier
        self._embedder = embedder

    def pieces(self, state: QuestionState) -> Iterator[str]:
        """Yield the checked pieces of the answer; some may be empty."""
        question, writer = state.plan.question, self._writer
        if not state.plan.search and not state.plan.from_context:
            yield from self._small_talk(state, writer) if writer else (SMALL_TALK,)
        elif state.plan.from_context:
            yield from self._from_sources(state)
        elif not state.sources and state.index.count().chunks == 0:
            yield from _not_found(state, EMPTY_INDEX)
        elif is_irrelevant(question, state.passages, state.candidates, last_word=writer is None):
            absent = ", ".join(unmentioned_names(question, state.candidates)) if writer is None else ""
            mentions = f"mentions {absent}" if absent else "is about the question"
            state.notes.append(f"No passage that was found {mentions}.")
            yield from _not_found(state, NOTHING_FOUND)
        elif writer and is_irrelevant(question, state.passages, state.candidates):
            yield from self._written_from_doubtful(state, writer)
        else:
            yield from self._from_sources(state)

    def verify(self, state: QuestionState) -> bool:
        """Verify the text of a language model, and return True if there was one; the state gets what is left of it.

        Statements that their sources don't bear out are taken out or marked. A text of which the checks left no
        statement becomes "not found".
        """
        if not state.is_written:
            return False
        text = "".join(state.text)
        body = text.removesuffix(f"\n\n{LEGEND}")
        if self._verifier and (verified := self._judged(state, self._verifier, body)):
            changed = replace(state.check, unverified=verified.removed)
            state.check = replace(changed, unsupported=(*state.check.unsupported, *verified.marked))
            body = verified.text
        was_cut = state.check.dropped_commands or state.check.dropped_links or state.check.unverified
        if was_cut and not has_substance(body):
            state.notes.append("The checks left no statement of what the language model wrote.")
            state.check = replace(state.check, kept_citations=())
            state.text[:] = list(_not_found(state, NOTHING_FOUND))
            return True
        kept = {int(number) for number in CHECKED.findall(body)} & set(state.check.kept_citations)
        if state.check.unverified:
            state.check = replace(state.check, kept_citations=tuple(sorted(kept)))
            count = _counted(len(state.check.unverified), "statement")
            body = f"{body}\n\n*{count} left out: the cited source doesn't say so.*"
        marked = state.check.unsupported or state.check.misquoted
        state.text[:] = [f"{body}\n\n{LEGEND}" if marked else body]
        return True

    def _judged(self, state: QuestionState, verifier: Verifier, text: str) -> VerifiedText | None:
        """Return the text after one call of the verifier, None if there was nothing to judge or it failed."""
        numbers = range(1, len(state.sources) + 1)
        found = [one for one in statements(text) if not one.marked and set(one.numbers) & set(numbers)]
        if not found[:MAX_STATEMENTS]:
            return None
        messages = verifier.request(found[:MAX_STATEMENTS], state.sources, state.now)
        size = sum(len(message.content.encode()) for message in messages)
        if refusal := state.refusal("verify", verifier.model, size):
            state.notes.append(refusal)
            return None
        state.prompts["verify"] = prompt_version("verify")
        try:
            verdicts = verifier.judge(messages, len(found[:MAX_STATEMENTS]), state.on_usage("verify"))
        except ModelError as error:
            state.model_failed("The answer was checked by words and meaning alone, because a model failed", error)
            return None
        return apply_verdicts(text, list(zip(found, verdicts, strict=False)))

    def _from_sources(self, state: QuestionState) -> Iterator[str]:
        if self._writer:
            yield from self._written(state, self._writer)
        else:
            yield f"{NO_MODEL}\n\n"
            yield from self._quote(state)

    def _small_talk(self, state: QuestionState, writer: AnswerWriter) -> Iterator[str]:
        if refusal := state.refusal("answer", writer.model):
            state.notes.append(refusal)
            yield SMALL_TALK
            return
        check = AnswerCheck(())
        state.prompts["small_talk"] = prompt_version("small_talk")
        try:
            for piece in writer.small_talk(state.plan.question, state.on_usage("answer")):
                yield check.feed(piece)
        except ModelError as error:
            state.model_failed("The language model failed", error)
            yield check.finish() or SMALL_TALK
        else:
            rest = check.finish()
            yield rest if "".join([*state.text, rest]).strip() else SMALL_TALK
        state.check = check.result

    def _written(self, state: QuestionState, writer: AnswerWriter) -> Iterator[str]:
        """Yield the model's answer, and below it the legend of its marks."""
        if refusal := state.refusal("answer", writer.model):
            state.notes.append(refusal)
            yield f"*{refusal}*\n\n"
            yield from self._quote(state)
            return
        _note_injections(state)
        yield from self._write(state, writer)
        if state.check.unsupported or state.check.misquoted:
            yield f"\n\n{LEGEND}"

    def _written_from_doubtful(self, state: QuestionState, writer: AnswerWriter) -> Iterator[str]:
        """Yield the model's answer from doubtful passages at its end, and only if it is cited and supported throughout.

        A small model answers from whatever passages it gets.
        """
        for piece in self._written(state, writer):
            state.text.append(piece)
        written = "".join(state.text)
        state.text.clear()
        if not state.found or _is_fully_supported(state.check):
            yield written
            return
        state.check = Check()
        state.notes.append(
            "What was found is hardly about the question, and it doesn't support all that the language model wrote."
        )
        yield from _not_found(state, NOTHING_FOUND)

    def _write(self, state: QuestionState, writer: AnswerWriter) -> Iterator[str]:
        support = SupportChecker(state.sources, state.question.text, self._embedder)
        check = AnswerCheck(state.passages, question=state.question.text, support=support)
        state.prompts["answer"] = prompt_version("answer")
        try:
            pieces = writer.write(
                state.plan.question,
                state.sources,
                state.now,
                on_usage=state.on_usage("answer"),
                on_note=state.notes.append,
            )
            if pieces is None and state.plan.from_context:
                state.notes.append("The global context didn't answer the question, so it was searched for.")
                return
            if pieces is None:
                yield from _given_up(state)
                return
            for piece in pieces:
                yield check.feed(piece)
            rest = check.finish()
            if not "".join([*state.text, rest]).strip():
                raise ModelError("The check left nothing of its answer.")
        except ModelError as error:
            state.model_failed("The answer quotes the passages, because the language model failed", error)
            yield check.finish()
            lead = "*The language model failed here" if state.text else "*The language model failed"
            yield ("\n\n" if state.text else "") + f"{lead}, so these are the best passages, word for word.*\n\n"
            state.check = check.result
            yield from self._quote(state)
            return
        state.check = check.result
        yield from _end(state, rest, gave_up=check.gave_up)
        state.is_written = state.found

    def _quote(self, state: QuestionState) -> Iterator[str]:
        """Yield the lines that answer; sources are numbered as they appear, unless the text already cites some."""
        quoted = quote_passages(
            state.plan.question, state.passages, self._embedder, keep_order=bool(state.check.kept_citations)
        )
        state.sources = tuple(state.sources[place] for place in quoted.order)
        state.quotes.update(quoted.quotes)
        numbers = {*state.check.kept_citations, *quoted.quotes}
        state.check = replace(state.check, kept_citations=tuple(sorted(numbers)))
        yield quoted.text


def _end(state: QuestionState, rest: str, *, gave_up: bool) -> Iterator[str]:
    """Yield the end of a written answer without the model's verdict; warn of missing citations."""
    verdict = trailing_verdict("".join([*state.text, rest]))
    if verdict:
        rest = rest[: max(0, len(rest) - len(verdict[0]))]
    gave_up = gave_up or verdict is not None
    if state.check.kept_citations:
        if gave_up:
            state.notes.append("The language model also wrote that the passages don't answer; its cited part was kept.")
        yield rest
    elif gave_up:
        yield rest.rstrip()
        yield "\n\n"
        yield from _given_up(state)
    else:
        yield rest
        state.notes.append("The answer cites no source.")
        state.nearest = nearest_pages(state)
        yield f"\n\n{UNCITED}"


def _is_fully_supported(check: Check) -> bool:
    """Return True if there is an answer, and each of its sentences is cited and supported."""
    marked = check.unsupported or check.misquoted
    return bool(check.cited) and check.supported == check.cited and not check.uncited and not marked


def _note_injections(state: QuestionState) -> None:
    pages = [visible(hit.chunk.title) for hit in state.passages if contains_injection(hit.chunk.passage)]
    if pages:
        named = ", ".join(dict.fromkeys(pages))
        state.notes.append(f"Passages that speak to a language model were given to it, but count for nothing: {named}.")


def _given_up(state: QuestionState) -> Iterator[str]:
    state.notes.append("The language model found no answer in the passages.")
    yield from _not_found(state, NOTHING_FOUND)


def _not_found(state: QuestionState, sentence: str) -> Iterator[str]:
    state.found = False
    state.nearest = nearest_pages(state)
    yield sentence
    if state.candidates:
        yield f" {_searched(state)}"


def _searched(state: QuestionState) -> str:
    """Return a sentence on the search: counts and source ids, but no text of the asker, a model or a page."""
    sources = [f"`{source}`" for source in sorted({hit.chunk.source_id for hit in state.candidates})]
    named = ", ".join(sources[:SOURCES_NAMED]) + (" and others" if len(sources) > SOURCES_NAMED else "")
    passages = _counted(len(state.candidates), "passage")
    wordings = _counted(len(state.plan.wordings), "wording")
    return f"Searched: the nearest {passages} to {wordings} of the question, from {named}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
