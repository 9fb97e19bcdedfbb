"""A record as text: the question, its search, the passages of the answer, and the cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from lore.cli.output import clean, one_line

if TYPE_CHECKING:
    from lore.evaluation.replay import Replay
    from lore.records.entries import Record
    from lore.types import Answer, Check, Citation, Plan, Trace, Usage

__all__ = ["money", "record_lines", "replay_lines", "shortened"]

WIDTH = 12


def record_lines(record: Record) -> Iterator[str]:
    """Yield the record line by line."""
    answer, trace = record.answer, record.answer.trace
    yield _field("answer", answer.id)
    yield _field("asked", f"{record.asked_at:%Y-%m-%d %H:%M:%S} UTC{_where(answer)}")
    yield from _paragraph("question", answer.question.text)
    for message in answer.question.history:
        yield from _paragraph(f"  {message.role}"[:WIDTH], message.content)
    yield from _plan(trace.plan)
    yield _field("found", "yes" if answer.found else "no")
    yield _field("index", f"version {trace.version}" if trace.version is not None else "version unknown")
    yield from _pairs("models", trace.models)
    yield from _pairs("prompts", trace.prompts)
    yield from _section("Answer", answer.text.splitlines())
    yield from _section("Sources", _citations(answer.citations))
    yield from _section("Nearest pages", _citations(answer.nearest))
    yield from _section(_found(trace), _ranks(trace))
    yield from _section("Passages", _passages(trace))
    yield from _section("Checks", _checks(trace.check))
    yield from _section("Calls of models", _calls(trace.usage))
    yield from _section("Seconds", (f"  {stage:<{WIDTH}}{seconds:8.3f}" for stage, seconds in trace.seconds.items()))
    yield from _section("Notes", (f"  - {one_line(note)}" for note in trace.notes))
    yield from _section("Ignored in the plan", (f"  - {one_line(part)}" for part in trace.ignored))
    yield from _section("Feedback", _feedback(record))


def replay_lines(replayed: Replay) -> Iterator[str]:
    """Yield the differences line by line."""
    version = "?" if replayed.version is None else replayed.version
    yield f"The same plan over version {version} of the index, with its present contents."
    for note in replayed.notes:
        yield f"Note: {one_line(note)}"
    before, now = replayed.before, replayed.now
    if before.found != now.found:
        yield f"Found: {'yes' if before.found else 'no'} then, {'yes' if now.found else 'no'} now."
    moves = replayed.moves()
    lost, gained = sum(move.now is None for move in moves), sum(move.before is None for move in moves)
    yield from _section(
        f"Passages: {gained} gained, {lost} lost, {len(moves) - gained - lost} in both",
        (
            f"  {_sign(move.before, move.now)} {_place(move.before):>4} {_place(move.now):>4}  {one_line(move.title)}"
            for move in moves
        ),
        head="      then  now",
    )
    difference = replayed.answer_diff()
    yield from _section("Answer" if difference else "Answer: the same", difference)
    for name in ("total", "answer"):
        if name in before.trace.seconds and name in now.trace.seconds:
            yield ""
            yield f"{name}: {before.trace.seconds[name]:.3f} s then, {now.trace.seconds[name]:.3f} s now."
            break


def shortened(text: str, characters: int) -> str:
    """Return one line of the text, truncated to a number of characters."""
    line = one_line(text)
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def money(dollars: float | None) -> str:
    """Format US dollars precisely enough for the price of one call; "?" if unknown."""
    return "?" if dollars is None else f"${dollars:,.4f}"


def _field(name: str, value: str) -> str:
    return f"{name:<{WIDTH}}{one_line(value)}"


def _paragraph(name: str, text: str) -> Iterator[str]:
    first, *others = clean(text).splitlines() or [""]
    yield f"{name:<{WIDTH}}{first}"
    yield from (" " * WIDTH + line for line in others)


def _pairs(name: str, values: Mapping[str, str]) -> Iterator[str]:
    if values:
        yield _field(name, ", ".join(f"{key} {value}" for key, value in values.items()))


def _section(title: str, lines: Iterator[str] | Sequence[str], head: str = "") -> Iterator[str]:
    body = list(lines)
    if body:
        yield from ("", title, *([head] if head else []), *body)
    elif title.startswith(("Answer", "Passages:")):
        yield from ("", title)


def _where(answer: Answer) -> str:
    surface, asker = answer.question.surface, answer.question.asker
    return (f", {surface}" if surface else "") + (f", by {asker}" if asker else "")


def _plan(plan: Plan) -> Iterator[str]:
    yield _field("plan", plan.question if plan.search else f"{plan.question} (without a search)")
    for wording in plan.wordings:
        yield _field("", f"- {wording}")
    for field in fields(plan):
        if field.name not in ("question", "wordings", "search") and getattr(plan, field.name) != field.default:
            yield _field("", f"{field.name}: {getattr(plan, field.name)}")


def _citations(citations: Sequence[Citation]) -> Iterator[str]:
    for citation in citations:
        yield f"[{citation.number}] {one_line(_path(citation.title, citation.headings))}"
        yield f"    {one_line(citation.url or citation.document_id)}"
        if citation.quote:
            yield f"    “{shortened(citation.quote, 200)}”"


def _found(trace: Trace) -> str:
    return f"Search: {trace.retrieved} found, {trace.candidates} distinct, {len(trace.passages)} given to the answer"


def _ranks(trace: Trace) -> Iterator[str]:
    """Yield the kept passages, and the best ten of the search that were not."""
    kept = sorted((one for one in trace.ranking if one.reranked_at), key=lambda one: one.reranked_at or 0)
    missed = [one for one in trace.ranking[:10] if not one.reranked_at]
    if trace.ranking:
        yield "  rank  in search   score  page"
    for one in (*kept, *missed):
        yield f"  {_place(one.reranked_at):>4}  {one.found_at:>9}  {one.score:6.3f}  {shortened(one.title, 80)}"


def _passages(trace: Trace) -> Iterator[str]:
    for number, hit in enumerate(trace.passages, start=1):
        yield f"[{number}] {one_line(_path(hit.chunk.title, hit.chunk.headings))}  ({one_line(hit.chunk.source_id)})"
        yield from (f"    {line}" for line in clean(hit.chunk.text).splitlines())


def _checks(check: Check) -> Iterator[str]:
    for field in fields(check):
        values = getattr(check, field.name)
        if values:
            shown = ", ".join(map(str, values)) if isinstance(values, tuple) else str(values)
            yield f"  {field.name.replace('_', ' ')}: {one_line(shown)}"


def _calls(usage: Sequence[Usage]) -> Iterator[str]:
    for one in usage:
        tokens = f"{_number(one.input_tokens)} in, {_number(one.output_tokens)} out"
        yield f"  {one_line(one.stage):<{WIDTH}}{one_line(one.model)}: {tokens}, {money(one.cost)}"


def _feedback(record: Record) -> Iterator[str]:
    for one in record.feedback:
        words = "helpful" if one.helpful else "not helpful"
        by = f" by {one_line(one.asker)}" if one.asker else ""
        reason = f": {one_line(one.reason)}" if one.reason else ""
        yield f"  {one.given_at:%Y-%m-%d %H:%M} {words}{by}{reason}"


def _path(title: str, headings: Sequence[str]) -> str:
    return " > ".join(part for part in (title, *headings) if part.strip())


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _place(place: Any) -> str:
    return "-" if place is None else str(place)


def _sign(before: int | None, now: int | None) -> str:
    return "+" if before is None else "-" if now is None else " "
