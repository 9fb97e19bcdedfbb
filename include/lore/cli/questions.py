"""`lore questions`: drafts of questions for a question set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lore.cli.common import open_index
from lore.cli.output import message, print_json, print_text, progress
from lore.errors import ConfigurationError

if TYPE_CHECKING:
    from lore.evaluation.questions.suggest import QuestionDrafts
    from lore.settings import Settings

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(name="questions", help="Question sets: drafts from documents.", no_args_is_help=True)
    group.callback()(lambda: None)  # without one, a group of a single command is that command
    group.command("suggest")(suggest_questions)
    app.add_typer(group)


def suggest_questions(
    source: Annotated[str, typer.Argument(metavar="SOURCE", show_default=False, help="A source of the index.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=1_000, help="Number of drafts.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="New file; default: standard output.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed for choosing the documents.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Draft questions from a source's documents, for a person to read, correct and accept."""
    from lore.evaluation.questions.suggest import drafts_yaml, suggest
    from lore.settings import load_settings
    from lore.wiring.models import make_chat_model

    if out is not None and out.exists():
        raise ConfigurationError(f"{out} exists and won't be overwritten.", remedy="Name a new file with --out.")
    if out is not None and not out.parent.is_dir():
        raise ConfigurationError(f"There is no folder {out.parent}.", remedy="Create it, or name another file.")
    settings = load_settings()
    chat_model = make_chat_model(settings)
    store, _ = open_index(settings, [source])
    with progress("drafts") as listener:
        found = suggest(store, source, chat_model, count=count, seed=seed, known=_known(settings), listener=listener)
    text = drafts_yaml(found)
    _tell(found)
    if out is not None and found.drafts:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
        message(f"Saved: {out}. Delete `draft: true` from the drafts that you accept.")
    if json:
        print_json(found.to_json())
    elif out is None and found.drafts:
        print_text(text, end="")
    if not found.drafts:
        raise typer.Exit(1)


def _known(settings: Settings) -> list[str]:
    """Return the questions of the team's set, which no draft should repeat."""
    from lore.evaluation.questions.question_set import load_questions

    if settings.evaluation.questions is None:
        return []
    return [question.text for question in load_questions(settings.evaluation.questions).questions]


def _tell(found: QuestionDrafts) -> None:
    """Print how many documents were read, the dropped drafts with reasons, and the cost."""
    message(f"{found.source}: {len(found.drafts):,} drafts from {found.documents:,} documents.")
    if not found.model:
        message("No language model is set, so the drafts are questions from the documents themselves.")
    if not found.drafts:
        message("Set LORE_CHAT_MODEL to have questions written." if not found.model else "Try another --seed.")
    for reason, count in sorted(found.dropped.items()):
        message(f"  dropped {count:,}: {reason}")
    if found.usage:
        message(found.cost_sentence())
