"""The last tasks of two DAGs, from a finished version to the live one: judge → approve → promote → settings_fit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from lore.errors import ConfigurationError, GateError
from lore.orchestration.progress import LoggedProgress
from lore.orchestration.version_tasks import (
    open_index,
    promoted_since_trigger,
    settings_fit,
    settings_of_run,
)

if TYPE_CHECKING:
    from airflow.sdk import Context

    from lore.evaluation.gate.verdict import Verdict
    from lore.evaluation.versions import VersionStatus
    from lore.settings import Settings

__all__ = ["VersionApproval", "approval_page", "judge_and_promote", "judge_params", "require_judge", "shortened"]

log = logging.getLogger(__name__)

OUTCOMES_KEPT = 50
"""Number of questions that lost most, and that gained most, whose outcomes the XCom keeps."""

APPROVE_HELP = "Shows the report and waits for a person, if the run asks for one; skipped otherwise."


def judge_and_promote(version: Any) -> None:
    """Make the tasks that both DAGs end with; `version` refers to the number of a finished version."""
    verdict: Any = judge(version)
    approve = VersionApproval(
        task_id="approve",
        doc_md=APPROVE_HELP,
        subject="Make this version of the index live?",
        body=verdict["report"],  # by reference: a text given here would be rendered as a Jinja template
    )
    approval: Any = approve.output
    promoted: Any = promote(version, verdict, approval)
    settings_fit(promoted)


@task(
    doc_md="Compares the version with the live one by the question set; its log is the report.",
    show_return_value_in_logs=False,
)
def judge(number: int) -> dict[str, Any] | None:
    from lore.evaluation.gate.report_text import report_lines

    context = get_current_context()
    settings = settings_of_run(context["params"])
    versions = open_index(settings)
    verdict = None
    if settings.evaluation.questions is None:
        log.warning("No question set is configured, so the version isn't judged.")
    else:
        verdict = versions.judge(number, listener=LoggedProgress(log).counts("questions asked"))
        for line in report_lines(verdict):
            log.info("%s", line)
    status = versions.one(number)
    context["ti"].xcom_push(key="report", value=approval_page(status, verdict))
    return {**shortened(verdict), "against": status.version.scores["against"]} if verdict else None


# none_failed: `approve` is skipped where nobody is asked; a person who rejects skips this task by name.
@task(
    doc_md="Makes the version live, if a person approved it, the run forces it, or the gate accepted it.",
    trigger_rule="none_failed",
)
def promote(number: int, judged: Mapping[str, Any] | None, approval: Mapping[str, Any] | None) -> int:
    from lore.evaluation.gate.verdict import Verdict

    versions = open_index()
    verdict = Verdict.from_json(judged) if judged else None
    forced = get_current_context()["params"]["force"]
    if versions.one(number).role == "live":  # a try that was cut off had come this far
        return number
    if judged and not forced and versions.one(judged["against"]).role != "live":
        raise GateError(
            f"Version {number} was judged against version {judged['against']}, which is not live any more; nothing "
            "was changed.",
            remedy="Trigger promote_version, which judges it again.",
        )
    if (other := promoted_since_trigger(versions)) is not None:
        raise GateError(
            f"Version {other} went live after this run was triggered; nothing was changed.",
            remedy="Trigger promote_version, which judges the version against it.",
        )
    if approval and approval["chosen_options"] != [VersionApproval.APPROVE]:
        raise AirflowSkipException("A person rejected it.")  # where somebody runs this task by hand all the same
    if approval:
        log.info("Approved by %s.", (approval["responded_by_user"] or {}).get("name"))
    if approval or forced:
        said = f"was {verdict.decision}" if verdict else "was not judged"
        log.info("The gate does not decide; the version %s.", said)
    try:
        versions.promote(number, verdict, force=bool(approval or forced))
    except GateError as error:
        raise GateError(
            error.message,
            remedy="Read the report in the log of `judge`. To promote the version all the same, trigger "
            "promote_version and tick Force, or Ask a person.",
        ) from None
    log.info("Version %d is live.", number)
    return number


class VersionApproval(ApprovalOperator):
    """Asks a person to read the report, if the run's params say so; skipped otherwise."""

    def execute(self, context: Context) -> Any:
        params: Any = context["params"]
        if not params["ask_a_person"]:
            raise AirflowSkipException("This run needs no approval: the gate decides, or the run forces it.")
        return super().execute(context)


def approval_page(status: VersionStatus, verdict: Verdict | None) -> str:
    """Return the approval page as Markdown."""
    from lore.evaluation.gate.report_text import report_markdown

    recipe, counts = status.version.recipe, status.counts
    made = (
        f"Version {status.version.number}: `{recipe.splitter}`, `{recipe.embedder}`; {counts.documents:,} documents, "
        f"{counts.chunks:,} passages."
    )
    report = report_markdown(verdict) if verdict else "**Not judged, because no question set is named.**\n"
    choice = (
        "**Approve** makes it live, whatever the gate says. **Reject** leaves the live version as it is; this one "
        "stays beside it, until it is promoted or pruned."
    )
    return f"{made}\n\n{report}\n{choice}\n"


def shortened(verdict: Verdict, *, kept: int = OUTCOMES_KEPT) -> dict[str, Any]:
    """Return the verdict as JSON values, with only the `kept` outcomes that lost and gained most."""
    ids = {outcome.id for outcome in (*verdict.worse[:kept], *verdict.better[:kept])}
    values = verdict.to_json()
    outcomes = [outcome for outcome in values["outcomes"] if outcome["id"] in ids]
    lists = {name: values[name][:kept] for name in ("left_out", "missing_pages")}
    return {**values, **lists, "outcomes": outcomes}


def require_judge(settings: Settings, params: Mapping[str, Any]) -> None:
    """Raise ConfigurationError before hours of building if nothing could decide, or the question set can't judge."""
    if settings.evaluation.questions is not None:
        open_index(settings).check_questions()
    elif not (params["ask_a_person"] or params["force"]):
        raise ConfigurationError(
            "Nothing can decide on the version: there is no question set, no approval and no force.",
            remedy="Set LORE_QUESTIONS, fill in Question set, or ask for approval.",
        )


def judge_params() -> dict[str, Param]:
    return {
        "questions": Param(
            None,
            type=["string", "null"],
            title="Question set",
            description="Path of a YAML file or BEIR folder, as the workers see it. Blank: LORE_QUESTIONS. Without "
            "any, only a person or force can promote.",
        ),
        "margin": Param(
            None,
            type=["number", "null"],
            minimum=0,
            exclusiveMaximum=1,
            title="Margin",
            description="Loss of nDCG@10 that the gate tolerates. Blank: LORE_GATE_MARGIN.",
        ),
        "ask_a_person": Param(
            False,
            type="boolean",
            title="Ask a person",
            description="The run waits until somebody reads the report and approves or rejects it.",
        ),
        "force": Param(
            False,
            type="boolean",
            title="Force",
            description="Promote it whatever the gate says, or without a question set.",
        ),
    }
