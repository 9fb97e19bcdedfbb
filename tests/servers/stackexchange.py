"""A small server that speaks the part of the API of Stack Exchange that Lore reads: envelope, lists, quota, faults.

with StackExchangeServer(questions, answers) as server:
    ...  # point a stackoverflow declaration at server.base_url
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.servers.json_api import ApiServer, Fault, Payload, Request, Response

TIMES = {"activity": "last_activity_date", "creation": "creation_date"}


def refused(number: int, name: str, message: str, match: str = "", times: int = 1) -> Fault:
    """An error of the API: HTTP 400 with its own number in the body."""
    body = {"error_id": number, "error_name": name, "error_message": message}
    return Fault(match, 400, body=json.dumps(body).encode(), times=times)


def throttled(seconds: int, match: str = "", times: int = 1) -> Fault:
    """What an address is told that called too often."""
    said = f"too many requests from this IP, more requests available in {seconds} seconds"
    return refused(502, "throttle_violation", said, match, times)


class StackExchangeServer(ApiServer):
    """One site's questions and answers, which stay lists of this object and may be changed while it runs.

    `backoff` is put into the answers whose numbers, from 1, it names. `quota` counts down; at 0 calls are refused.
    """

    def __init__(
        self,
        questions: Iterable[Payload] = (),
        answers: Iterable[Payload] = (),
        *,
        site: str = "stackoverflow",
        key: str | None = None,
        quota: int = 300,
        backoff: Mapping[int, int] | None = None,
        exclusive: bool = False,
        faults: Sequence[Fault] = (),
        before: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(faults=faults, before=before)
        self.questions = [dict(question) for question in questions]
        self.answers = [dict(answer) for answer in answers]
        self.site, self.key, self.quota, self.backoff = site, key, quota, dict(backoff or {})
        self.exclusive = exclusive
        """Whether `min` leaves out what is equal to it: the documentation does not say."""

    def answer(self, request: Request) -> Response:
        query = request.query
        if query.get("site") != self.site:
            return _error(400, "bad_parameter", "No site found for name")
        if self.key and query.get("key") != self.key:
            return _error(400, "bad_parameter", f"`key` {query.get('key')} doesn't match a known application")
        if self.quota <= 0:
            return _error(502, "throttle_violation", "too many requests, more requests available in 40000 seconds")
        self.quota -= 1
        if request.path == "/questions":
            tags = {tag for tag in query.get("tagged", "").split(";") if tag}
            rows = [question for question in self.questions if tags <= set(question["tags"])]
        elif match := re.fullmatch(r"/questions/([\d;]+)/answers", request.path):
            numbers = {int(number) for number in match[1].split(";")}
            rows = [answer for answer in self.answers if answer["question_id"] in numbers]
        else:
            return _error(404, "no_method", "no method found with this name")
        return Response(self._envelope(rows, query))

    def _envelope(self, rows: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
        time = TIMES[query.get("sort", "activity")]
        if "min" in query:
            low = int(query["min"]) + (1 if self.exclusive else 0)
            rows = [row for row in rows if row[time] >= low]
        envelope: dict[str, Any] = {"quota_max": 300, "quota_remaining": self.quota}
        if query.get("filter") == "total":
            return {"total": len(rows)}
        rows = sorted(rows, key=lambda row: row[time], reverse=query.get("order", "desc") == "desc")
        size, page = min(100, int(query.get("pagesize", "30"))), int(query.get("page", "1"))
        shown = rows[(page - 1) * size : page * size]
        if query.get("filter") != "withbody":
            shown = [{key: value for key, value in row.items() if key != "body"} for row in shown]
        if pause := self.backoff.get(len(self.requests)):
            envelope["backoff"] = pause
        return {"items": shown, "has_more": page * size < len(rows), **envelope}


def _error(number: int, name: str, message: str) -> Response:
    return Response({"error_id": number, "error_name": name, "error_message": message}, 400)
