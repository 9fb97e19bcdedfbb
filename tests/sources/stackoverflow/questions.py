"""Questions that the tests of Stack Exchange share."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.sax.saxutils import quoteattr

from lore.declarations import StackOverflowDeclaration
from lore.sources.http.retries import RetryPolicy
from lore.sources.stackoverflow.api import StackExchangeAccess
from lore.sources.stackoverflow.source import StackOverflowSource

DAY = 86_400


START = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())


NOW = START + 400 * DAY


def question(number: int, active: int | None = None, **more: object) -> dict[str, object]:
    return {
        "question_id": number,
        "title": f"Question {number}?",
        "body": f"<p>Body of {number}.</p>",
        "score": 1,
        "tags": ["airflow"],
        "owner": {"display_name": "Ada &amp; Co"},
        "is_answered": True,
        "creation_date": START + number,
        "last_activity_date": START + 1000 * number if active is None else active,
        "link": f"https://stackoverflow.com/questions/{number}/question",
        "content_license": "CC BY-SA 4.0",
    } | more


def answer(number: int, parent: int, score: int = 1, **more: object) -> dict[str, object]:
    return {
        "answer_id": number,
        "question_id": parent,
        "body": f"<p>Answer {number}.</p>",
        "score": score,
        "is_accepted": False,
        "owner": {"display_name": "Bo"},
        "creation_date": START + number,
    } | more


def declared(**options: object) -> StackOverflowDeclaration:
    return StackOverflowDeclaration(**({"id": "so", "tagged": ["airflow"]} | options))


def source_of(server, key=None, max_retries=1, waits=None, now=NOW, timeout=5.0, **options) -> StackOverflowSource:
    retries = RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append, now=lambda: float(now))
    access = StackExchangeAccess(server.base_url, key=key, timeout=timeout, retries=retries)
    return StackOverflowSource(declared(**options), access=access)


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}


def dump(path, questions, answers):
    """A Posts.xml with these posts, as the dumps have it: answers by number among the questions, and tag wikis."""
    rows = []
    for one in questions:
        row = {
            "Id": one["question_id"],
            "PostTypeId": 1,
            "AcceptedAnswerId": one.get("accepted_answer_id"),
            "CreationDate": iso(one["creation_date"]),
            "LastActivityDate": iso(one["last_activity_date"]),
            "Score": one["score"],
            "Title": one["title"],
            "Body": one["body"],
            "Tags": "".join(f"<{tag}>" for tag in one["tags"]),
            "ContentLicense": "CC BY-SA 4.0",
        }
        rows.append(row)
    for one in answers:
        row = {"Id": one["answer_id"], "PostTypeId": 2, "ParentId": one["question_id"], "Score": one["score"]}
        rows.append(row | {"CreationDate": iso(one["creation_date"]), "Body": one["body"]})
    rows += [{"Id": 9_000_001, "PostTypeId": 5, "Body": "A tag wiki"}, {"Id": 9_000_002, "PostTypeId": 2}]
    rows.sort(key=lambda row: row["Id"])
    lines = [
        f"  <row {' '.join(f'{key}={quoteattr(str(value))}' for key, value in row.items() if value is not None)} />"
        for row in rows
    ]
    text = "\n".join(['<?xml version="1.0" encoding="utf-8"?>', "<posts>", *lines, "</posts>"])
    path.write_text(text, encoding="utf-8")


def iso(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.000}"
