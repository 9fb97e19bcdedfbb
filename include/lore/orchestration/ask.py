"""The DAG `ask`: a form in the Airflow UI, and a button that opens the cited answer.

Airflow 3.3 renders no Markdown of a task: a task can't write the note of its own run, XComs lose their line breaks, and
human-in-the-loop pages hold the run until somebody responds. So a button opens the answer on Lore's page, which the
plugin mounts. The log has the answer as text, and `return_value` as JSON for programs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.configuration import conf
from airflow.sdk import DAG, BaseOperator, BaseOperatorLink, Param
from airflow.sdk.bases.xcom import BaseXCom

from lore.errors import ConfigurationError
from lore.orchestration.connections import settings_in_airflow
from lore.orchestration.dag_factory import shared_embedder
from lore.orchestration.retries import RETRIES
from lore.types import Answer, Citation, Question

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import Context

    from lore.declarations import Declaration

__all__ = ["AskOperator", "answer_lines", "answer_to_json", "make_ask_dag"]

LOG_COLUMNS = 110

HELP = """
Asks Lore a question and answers it from the indexed sources, with citations.

1. Press **Trigger**, type the question, and choose sources or leave them empty to search all.
2. Open the task `answer` of the run: its button **Answer** opens the answer with its sources; its log shows them
   as text.

Programs find the answer as JSON in the XCom `return_value`.
"""


class AnswerLink(BaseOperatorLink):
    """The button that opens the answer on Lore's page in Airflow; absent where answers aren't recorded."""

    name = "Answer"
    xcom_key = "_link_answer"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        answer = BaseXCom.get_value(ti_key=ti_key, key=BaseXCom.XCOM_RETURN_KEY) or {}
        address = conf.get("api", "base_url", fallback="").rstrip("/")
        return f"{address}/lore/a/{answer['id']}" if answer.get("id") else ""


class AskOperator(BaseOperator):
    """Answers the question in the run's params. Returns `answer_to_json` of the answer; raises LoreError."""

    operator_extra_links = (AnswerLink(),)

    def execute(self, context: Context) -> dict[str, Any]:
        from lore.wiring.query import make_pipeline
        from lore.wiring.records import make_recorder

        params: Any = context["params"]
        settings = settings_in_airflow()
        question = Question(params["question"], sources=tuple(params["sources"] or ()), surface="airflow")
        _require_declared(question.sources, settings.project.sources_dir)
        with make_recorder(settings) as recorder:
            pipeline = make_pipeline(settings, embedder=shared_embedder(settings), recorder=recorder)
            answer = pipeline.ask(question)
        for line in answer_lines(answer):
            self.log.info("%s", line)
        return answer_to_json(answer)


def _require_declared(source_ids: Sequence[str], folder: Path) -> None:
    """Raise ConfigurationError for an undeclared source: a question to it would find nothing, and look answered."""
    from lore.declarations import load_declarations

    declared = [declaration.id for declaration in load_declarations(folder).valid]
    for source_id in source_ids:
        if source_id not in declared:
            raise ConfigurationError(
                f"No source {source_id!r} is declared.", remedy=f"Declared are: {', '.join(declared) or 'none'}."
            )


def make_ask_dag(declarations: Sequence[Declaration] = ()) -> DAG:
    """Make the DAG `ask`; its form offers the declared sources."""
    with DAG(
        dag_id="ask",
        dag_display_name="Ask Lore",
        description="Ask a question and read the cited answer",
        schedule=None,
        catchup=False,
        is_paused_upon_creation=False,
        tags=["ask", "lore"],
        doc_md=HELP,
        default_args={"owner": "lore", **RETRIES, "retries": 1, "retry_delay": timedelta(seconds=5)},
        params={"question": _question_param(), "sources": _sources_param(declarations)},
        auto_register=False,
    ) as dag:
        AskOperator(task_id="answer", doc_md="Its button Answer opens the answer; its log has it as text.")
    return dag


def answer_lines(answer: Answer) -> Iterator[str]:
    """Yield the answer for a log: question, text, then each source with its address on a line of its own."""
    yield f"Question: {answer.question.text}"
    yield ""
    yield from _wrapped(answer.text)
    for heading, citations in (("Sources", answer.citations), ("Nearest pages", answer.nearest)):
        if citations:
            yield ""
            yield heading
        for citation in citations:
            yield f"[{citation.number}] {' > '.join((citation.title, *citation.headings))}"
            yield f"    {citation.url or citation.document_id}"
    yield from (f"Note: {note}" for note in answer.trace.notes)


def _wrapped(markdown: str) -> Iterator[str]:
    """Wrap lines for the log viewer, which does not; quotations stay quotations, code stays as it is."""
    wrapper = textwrap.TextWrapper(LOG_COLUMNS, break_long_words=False, break_on_hyphens=False)
    in_code = False
    for line in markdown.splitlines():
        text = line.lstrip("> ")
        in_code ^= text.startswith(("```", "~~~"))
        if in_code or len(line) <= LOG_COLUMNS:
            yield line
        else:
            wrapper.initial_indent = wrapper.subsequent_indent = line[: len(line) - len(text)]
            yield from wrapper.wrap(text)


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Return the answer as JSON values: id, question, answer (Markdown), found, citations, nearest, notes, seconds."""
    return {
        "id": answer.id,
        "question": answer.question.text,
        "answer": answer.text,
        "found": answer.found,
        "citations": [_citation(citation) for citation in answer.citations],
        "nearest": [_citation(citation) for citation in answer.nearest],
        "notes": list(answer.trace.notes),
        "seconds": {stage: round(seconds, 4) for stage, seconds in answer.trace.seconds.items()},
    }


def _citation(citation: Citation) -> dict[str, Any]:
    names = ("number", "title", "url", "source_id", "document_id", "quote")
    return {name: getattr(citation, name) for name in names} | {"headings": list(citation.headings)}


def _question_param() -> Param:
    return Param(
        None,
        type="string",
        format="multiline",
        minLength=3,
        maxLength=4000,
        title="Question",
        description="In your own words; several lines are fine.",
    )


def _sources_param(declarations: Sequence[Declaration]) -> Param:
    """Return a multiple choice; the UI sends null for an empty one."""
    return Param(
        None,
        type=["array", "null"],
        items={"type": "string"},
        examples=[declaration.id for declaration in declarations],
        values_display={declaration.id: declaration.title for declaration in declarations},
        title="Sources",
        description="Leave empty to search all of them.",
    )
