"""Reviews of pull requests, and comments on their code, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lore.convert.markdown.fences import fence_code
from lore.sources.github.issues.text import ThreadPart, attribution, closed_body, created, login
from lore.sources.payload import Payload, as_text

__all__ = ["review_facts", "review_parts"]

HUNK_LINES = 4
"""Lines of code shown above a comment."""
VERDICTS = {"APPROVED": "Approved", "CHANGES_REQUESTED": "Changes requested"}


def review_facts(reviews: Sequence[Payload]) -> Iterator[str]:
    """Yield the names of who approved and who requested changes, by each reviewer's last verdict."""
    verdicts = {
        login(review): as_text(review.get("state")).upper()
        for review in sorted(reviews, key=created)
        if as_text(review.get("state")).upper() in {*VERDICTS, "DISMISSED"}
    }
    for state, words in VERDICTS.items():
        names = [name for name, last in verdicts.items() if last == state]
        if names:
            yield f"{words} by {', '.join(names)}"


def review_parts(reviews: Sequence[Payload], comments: Sequence[Payload]) -> Iterator[ThreadPart]:
    """Yield each review with text, and each comment on code, replies after their comment."""
    for review in reviews:
        if body := closed_body(review):
            verdict = VERDICTS.get(as_text(review.get("state")).upper(), "")
            heading = attribution("Review", review) + (f": {verdict.lower()}" if verdict else "")
            yield ThreadPart((created(review), created(review)), f"# {heading}\n\n{body}")
    roots = {comment.get("id"): created(comment) for comment in comments}
    for comment in comments:
        if body := closed_body(comment):
            root = roots.get(comment.get("in_reply_to_id"), created(comment))
            yield ThreadPart((root, created(comment)), f"# {_heading(comment)}\n\n{_hunk(comment)}{body}")


def _heading(comment: Payload) -> str:
    path = " ".join(as_text(comment.get("path")).replace("`", "").split())
    line = comment.get("line") or comment.get("original_line")
    where = f" about `{path}`" if path else ""
    return attribution("Comment", comment) + where + (f" line {line}" if path and isinstance(line, int) else "")


def _hunk(comment: Payload) -> str:
    """Return the last lines of the diff that a comment refers to; "" for a reply."""
    lines = as_text(comment.get("diff_hunk")).splitlines()
    if not lines or comment.get("in_reply_to_id"):
        return ""
    shown = [line for line in lines if not line.startswith("@@")][-HUNK_LINES:]
    return fence_code("\n".join(shown), "diff") + "\n\n" if shown else ""
