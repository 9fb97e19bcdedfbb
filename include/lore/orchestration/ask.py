"""The DAG `ask`: a form in the Airflow UI, and the cited answer in the task's log, links and XCom.

The place of the answer follows from what Airflow 3.3 can show. A task can't write the note of its own run, XComs lose
their line breaks, and human-in-the-loop pages (which do render Markdown) hold the run until somebody responds. The log
is what the UI opens first; it keeps lines and turns addresses into links. The buttons `Source 1` … of the tab Details
lead to the cited pages, and `return_value` is the answer as JSON for programs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

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

LINKS = 8
"""Buttons for cited pages; an answer is written from eight passages by default."""

LOG_COLUMNS = 110

HELP = """
Asks Lore a question and answers it from the indexed sources, with citations.

1. Press **Trigger**, type the question, and choose sources or leave them empty to search all.
2. Open the task `answer` of the run: its log shows the answer and the address of every source. In the tab
   **Details**, the buttons **Source 1**, **Source 2** … open the cited pages.

Programs find the answer as JSON in the XCom `return_value`.
"""


class SourceLink(BaseOperatorLink):
    """A button that opens the page which the answer cites as [number]; absent if there is no such page."""

    def __init__(self, number: int) -> None:
        self._number = number

    @property
    def name(self) -> str:
        return f"Source {self._number}"

    @property
    def xcom_key(self) -> str:
        return f"_link_source_{self._number}"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        answer = BaseXCom.get_value(ti_key=ti_key, key=BaseXCom.XCOM_RETURN_KEY) or {"citations": []}
        urls = (citation["url"] for citation in answer["citations"] if citation["number"] == self._number)
        url: str = next(urls, "")
        return url if url.startswith(("https://", "http://")) else ""


class AskOperator(BaseOperator):
    """Answers the question in the run's params. Returns `answer_to_json` of the answer; raises LoreError."""

    operator_extra_links = tuple(SourceLink(number) for number in range(1, LINKS + 1))

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
        AskOperator(
            task_id="answer", doc_md="Its log is the answer; the buttons in the tab Details open the cited pages."
        )
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
