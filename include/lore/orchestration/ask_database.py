"""The DAG `ask_database`: a form for a question, the statement for it, a person's approval, and the rows.

    propose → approve → run

XCom carries the proposal without its schema, the page that the approver reads, and the first rows. Nothing runs before
somebody has approved that very statement, and `run` checks it again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from lore.errors import ConfigurationError, DatabaseError
from lore.orchestration.connections import database_addresses, settings_in_airflow
from lore.orchestration.retries import RETRIES

if TYPE_CHECKING:
    from lore.databases.journey.assistant import SqlAssistant
    from lore.databases.journey.proposal import SqlAnswer, SqlProposal
    from lore.declarations.database import DatabaseDeclaration
    from lore.protocols import Recorder

__all__ = ["approval_text", "make_ask_database_dag"]

log = logging.getLogger(__name__)

KEPT_ROWS = 100
"""Rows in the XCom and in the log; the others are in nothing that Airflow keeps."""
WAIT = timedelta(days=7)

HELP = """
Asks a declared database a question in plain language.

1. Press **Trigger**, choose the database and type the question.
2. The run waits at `approve`: its tab **Required Action** shows the statement, what it assumes and reads, the
   database's plan and the cost. Approve or reject it. If the declaration names approvers, only their word counts.
3. The log of `run` has the summary and the first rows; the XCom `return_value` has them as JSON.

A question that the database can't answer skips the tasks after `propose`, whose log says what is missing.
"""


def make_ask_database_dag(declarations: Sequence[DatabaseDeclaration]) -> DAG:
    """Make the DAG `ask_database`; its form offers these databases."""
    with DAG(
        dag_id="ask_database",
        dag_display_name="Ask a database",
        description="Ask a database in plain language, approve the SQL, and read the rows",
        schedule=None,
        catchup=False,
        is_paused_upon_creation=False,
        tags=["ask", "lore"],
        doc_md=HELP,
        default_args={"owner": "lore", **RETRIES, "retries": 1, "retry_delay": timedelta(seconds=5)},
        params=_params(declarations),
        auto_register=False,
    ) as dag:
        proposed: Any = propose()
        approve = ApprovalOperator(
            task_id="approve",
            doc_md="Shows the statement and waits for a person.",
            subject="Run this statement?",
            body=proposed["page"],  # by reference: a text given here would be rendered as a Jinja template
            response_timeout=WAIT,
        )
        approval: Any = approve.output
        run(proposed, approval)
    return dag


@task(
    doc_md="Writes, reviews and checks a statement. Skipped if the database can't answer; its log says why.",
    multiple_outputs=True,
    show_return_value_in_logs=False,
)
def propose() -> dict[str, Any]:
    import msgspec

    from lore.types import Question
    from lore.wiring.records import make_recorder

    context = get_current_context()
    params: Any = context["params"]
    with make_recorder(settings_in_airflow()) as recorder:
        assistant = _assistant(params["database"], recorder)
        proposal = assistant.propose(Question(params["question"], surface="airflow"))
    if proposal.statement is None:
        raise AirflowSkipException(proposal.refusal)
    page = approval_text(proposal, assistant.dialect)
    values = msgspec.to_builtins(replace(proposal, retrieved=None))
    return {"page": page, "proposal": values}


@task(
    doc_md="Checks the approved statement again and runs it; its log has the summary and the first rows.",
    show_return_value_in_logs=False,
)
def run(proposed: Mapping[str, Any], approval: Mapping[str, Any] | None) -> dict[str, Any]:
    import msgspec

    from lore.databases.journey.proposal import SqlProposal
    from lore.wiring.records import make_recorder

    if not approval or approval.get("chosen_options") != [ApprovalOperator.APPROVE]:
        raise AirflowSkipException("Nobody approved the statement.")  # where this task is run by hand all the same
    proposal = msgspec.convert(proposed["proposal"], SqlProposal)
    person = approval.get("responded_by_user") or {}
    with make_recorder(settings_in_airflow()) as recorder:
        assistant = _assistant(proposal.database, recorder)
        consent = replace(assistant.approve(proposal, str(person.get("name") or "")), at=datetime.now(UTC))
        answer = assistant.run(proposal, consent)
    if answer.result is None:
        raise DatabaseError(answer.failure, remedy="Trigger the DAG again with a more exact question.")
    for line in _result_lines(answer):
        log.info("%s", line)
    return {
        "id": proposal.id,
        "sql": proposal.statement.sql if proposal.statement else "",
        "summary": answer.summary,
        "columns": list(answer.result.columns),
        "rows": [list(row) for row in answer.result.rows[:KEPT_ROWS]],
        "cut": answer.result.cut or len(answer.result.rows) > KEPT_ROWS,
    }


def approval_text(proposal: SqlProposal, dialect: str) -> str:
    """Return the page of a proposal as Markdown; text of others is in fences that it can't end."""
    from lore.databases.compliance.check import readable_sql

    if proposal.statement is None:
        return _fenced(proposal.refusal)
    parts = [
        f"A question to the database `{proposal.database}`:",
        _fenced(proposal.question.text),
        "The statement, which only reads:",
        _fenced(readable_sql(proposal.statement.sql, dialect), "sql"),
    ]
    for title, lines in (
        ("What it does", [proposal.explanation]),
        ("Assumed", proposal.assumptions),
        ("The review doubts", proposal.problems),
        ("Notes", proposal.notes),
        ("Tables", proposal.statement.tables),
        ("The database's plan", proposal.plan),
    ):
        if text := "\n".join(line for line in lines if line):
            parts += [f"{title}:", _fenced(text)]
    cost = "unknown" if proposal.cost is None else f"${proposal.cost:,.4f}"
    parts.append(f"Cost so far: {len(proposal.usage)} calls of the language model, {cost}.")
    parts.append("**Approve** runs it. **Reject** runs nothing.")
    return "\n\n".join(parts)


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _result_lines(answer: SqlAnswer) -> Iterator[str]:
    from lore.databases.journey.rows import as_csv

    yield f"Question: {answer.proposal.question.text}"
    yield ""
    yield answer.summary
    yield ""
    if answer.result is not None:
        yield from as_csv(answer.result, KEPT_ROWS).splitlines()
        yield f"{len(answer.result.rows):,} rows{' and more' if answer.result.cut else ''}."
    yield f"Approved by {answer.approval.by}."


def _assistant(name: str, recorder: Recorder) -> SqlAssistant:
    from lore.wiring.databases import find_database, make_sql_assistant

    settings = settings_in_airflow()
    declaration = find_database(settings, name)
    return make_sql_assistant(settings, declaration, recorder=recorder, environ=database_addresses(declaration))


def _params(declarations: Sequence[DatabaseDeclaration]) -> dict[str, Param]:
    if not declarations:
        raise ConfigurationError("No database is declared.", remedy="Write a file in dags/databases.")
    return {
        "database": Param(
            declarations[0].id,
            type="string",
            enum=[declaration.id for declaration in declarations],
            values_display={declaration.id: declaration.title for declaration in declarations},
            title="Database",
        ),
        "question": Param(
            None,
            type="string",
            format="multiline",
            minLength=3,
            maxLength=4000,
            title="Question",
            description="In your own words, as you would ask a colleague.",
        ),
    }
