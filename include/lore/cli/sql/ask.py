"""`lore sql ask` and `lore sql replay`: a question to a database, and a recorded one again."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lore.cli.output import message, print_json, print_table, print_text
from lore.cli.sql.text import answer_json, cost_line, proposal_json, proposal_lines
from lore.errors import ConfigurationError, DatabaseError

if TYPE_CHECKING:
    from lore.databases.journey.assistant import SqlAssistant
    from lore.databases.journey.proposal import SqlAnswer, SqlProposal
    from lore.databases.run.execute import QueryResult
    from lore.settings import Settings
    from lore.types import Message

__all__ = ["ask", "replay"]

NOT_RUN = 1
SHOWN_ROWS = 50

DatabaseName = Annotated[
    str, typer.Argument(metavar="DATABASE", show_default=False, help="Id of a declaration in dags/databases.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def ask(
    database: DatabaseName,
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", show_default=False, help="In plain language.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve the statement unseen.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the statement, and don't run it.")] = False,
    after: Annotated[str, typer.Option("--after", help="Id of a recorded answer that this question follows.")] = "",
    audience: Annotated[
        list[str] | None, typer.Option("--audience", help="Ask as this audience; may be repeated. Default: public.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the rows to this file.")] = None,
    json: Json = False,
) -> None:
    """Write a statement for a question, show it with its cost, and run it once you approve."""
    from lore.settings import load_settings
    from lore.types import PUBLIC, Question
    from lore.wiring.databases import find_database, make_sql_assistant
    from lore.wiring.records import make_recorder

    settings = load_settings()
    declaration = find_database(settings, database)
    audiences = tuple(audience or (PUBLIC,))
    question = Question(" ".join(words), _history(after, settings), audiences=audiences, surface="cli")
    with make_recorder(settings) as recorder:
        assistant = make_sql_assistant(settings, declaration, recorder=recorder)
        proposal = assistant.propose(question)
        while True:
            approved = _approved(assistant, proposal, yes=yes, dry_run=dry_run, json=json)
            if approved is None:
                raise typer.Exit(0 if dry_run and proposal.statement else NOT_RUN)
            answer = assistant.run(approved, assistant.approve(approved, getpass.getuser()))
            if answer.result is not None:
                break
            message(f"{answer.failure} It goes back to the language model.")
            proposal = assistant.repaired(answer)
    _show_answer(answer, csv, json=json)


def replay(answer_id: Annotated[str, typer.Argument(metavar="ID")], json: Json = False) -> None:
    """Run the statement of a recorded answer again, by the rules of today."""
    from lore.databases.journey.recording import recorded_statement
    from lore.settings import load_settings
    from lore.wiring.databases import find_database, open_declared
    from lore.wiring.records import open_records

    settings = load_settings()
    with open_records(settings) as records:
        found = recorded_statement(records.get(answer_id).answer)
    if found is None:
        raise ConfigurationError(
            f"{answer_id} has no statement to run.", remedy=f"Run: lore answers replay {answer_id}"
        )
    name, sql = found
    result = open_declared(find_database(settings, name)).run(sql)
    if json:
        print_json({"database": name, "sql": sql, "columns": result.columns, "rows": result.rows, "cut": result.cut})
    else:
        print_text(sql)
        _print_rows(result)


def _approved(
    assistant: SqlAssistant, proposal: SqlProposal, *, yes: bool, dry_run: bool, json: bool
) -> SqlProposal | None:
    """Show the proposal, and return it, perhaps edited, if it is approved."""
    may_ask = sys.stdin.isatty() and not json
    while True:
        if not json:
            _show(assistant, proposal)
        elif not yes or dry_run or proposal.statement is None:
            print_json(proposal_json(proposal))
        if proposal.statement is None or dry_run:
            return None
        if yes:
            return proposal
        if not may_ask:
            message("Not run: approve it with --yes, or on a terminal.")
            return None
        choice = typer.prompt("Run it? [y]es, [n]o, [e]dit", default="n", show_default=False).strip().lower()
        if choice in ("y", "yes"):
            return proposal
        if choice not in ("e", "edit"):
            message("Not run.")
            return None
        proposal = _edited(assistant, proposal)


def _show(assistant: SqlAssistant, proposal: SqlProposal) -> None:
    for line in proposal_lines(proposal, assistant.dialect):
        print_text(line)
    for note in proposal.notes:
        message(f"Note: {note}")
    message(cost_line(proposal))


def _edited(assistant: SqlAssistant, proposal: SqlProposal) -> SqlProposal:
    """Return the proposal with the statement that is typed; with the old one if that breaks a rule."""
    try:
        return assistant.edited(proposal, typer.prompt("Statement"))
    except DatabaseError as error:
        message(str(error))
        return proposal


def _show_answer(answer: SqlAnswer, csv: Path | None, *, json: bool) -> None:
    from lore.databases.journey.rows import as_bars, as_csv

    result = answer.result
    if result is None:
        return
    if csv:
        csv.write_text(as_csv(result), encoding="utf-8")
    if json:
        print_json(answer_json(answer))
        return
    print_text("")
    _print_rows(result)
    for line in as_bars(result):
        print_text(line)
    print_text(f"\n{answer.summary}")
    if csv:
        message(f"Saved: {csv}")
    message(f"{cost_line(answer.proposal)} Answer {answer.proposal.id[:10]}.")


def _print_rows(result: QueryResult) -> None:
    from lore.databases.journey.rows import cell_text

    shown = [[cell_text(value) for value in row] for row in result.rows[:SHOWN_ROWS]]
    places = range(len(result.columns))
    numbers = {
        result.columns[place]
        for place in places
        if all(isinstance(row[place], int | float) for row in result.rows if row[place] is not None)
    }
    print_table(result.columns, shown, numbers=numbers)
    if len(result.rows) > SHOWN_ROWS or result.cut:
        more = " The policy allows no more." if result.cut else ""
        message(f"{len(shown):,} of {len(result.rows):,} rows are shown.{more}")


def _history(answer_id: str, settings: Settings) -> tuple[Message, ...]:
    """Return the conversation that a recorded answer ends."""
    from lore.types import Message
    from lore.wiring.records import open_records

    if not answer_id:
        return ()
    with open_records(settings) as records:
        before = records.get(answer_id).answer
    return (*before.question.history, Message("user", before.question.text), Message("assistant", before.text))
