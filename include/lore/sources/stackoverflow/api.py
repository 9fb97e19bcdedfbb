"""The API of Stack Exchange, 2.3: its envelope, its quota, its pauses, and lists that shift while they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from lore.errors import SourceError
from lore.sources.http.json_client import JsonClient, Secrets
from lore.sources.http.retries import Retry, RetryPolicy

__all__ = ["PAGE_SIZE", "ApiPage", "StackExchangeAccess", "StackExchangeApi"]

BASE_URL = "https://api.stackexchange.com/2.3"
PAGE_SIZE = 100
"""Largest page that the API allows."""
MAX_PAGES = 20_000
MAX_REPEATS = 10
"""Consecutive pages without new items after which a list counts as endless."""
THROTTLE_WAIT = 30.0
"""Seconds to wait after throttling without a stated time."""
TRANSIENT_ERRORS = {500: "internal error", 502: "throttled", 503: "temporarily unavailable"}
"""Temporary errors, by their number in the body of a 400."""

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StackExchangeAccess:
    """Access to the API. `key` raises the daily quota from 300 calls to 10,000; `timeout` is in seconds."""

    base_url: str = BASE_URL
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    def open(self, site: str) -> StackExchangeApi:
        """Return a client for one site. Raises ConfigurationError for an invalid address or key."""
        return StackExchangeApi(self, site)


@dataclass(frozen=True, slots=True)
class ApiPage:
    """New items; `reached` is the time up to which all are seen, None for a list out of order."""

    items: tuple[Item, ...]
    reached: int | None


class StackExchangeApi:
    """Reads lists, and pauses between calls as long as the last response asked (`backoff`)."""

    def __init__(self, access: StackExchangeAccess, site: str) -> None:
        self._site = site
        self._retries = access.retries
        self._api = JsonClient(
            access.base_url,
            secrets=Secrets(params={"key": access.key} if access.key else {}),
            timeout=access.timeout,
            retries=access.retries,
            explain=_explain,
            remedies={
                400: f"Check `site` ({site}), the tags and LORE_STACKEXCHANGE_KEY.",
                403: "The key is not accepted: set LORE_STACKEXCHANGE_KEY again.",
                404: "Check `site` and `base_url`.",
            },
        )
        self._pause = 0.0
        self._quota: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._api.__exit__(*error)

    def total(self, path: str, params: Mapping[str, str | int]) -> int:
        """Return the number of items in a list."""
        found = self._get(path, {**params, "filter": "total"}).get("total")
        return found if isinstance(found, int) else 0

    def walk(
        self, path: str, params: Mapping[str, str | int], *, name: str, time: str, start: int | None = None
    ) -> Iterator[ApiPage]:
        """Yield every item, oldest first by the field `time`, from `start` on; `name` is the field that identifies it.

        An item that changes meanwhile comes again. Numbered pages shift while items change. So each call starts one
        second before the last time seen, and pages are turned only among items of one second.
        """
        seen: set[tuple[Any, Any]] = set()
        position, page, last, in_order, repeats = start, 1, start, True, 0
        for _ in range(MAX_PAGES):
            bound = {} if position is None else {"min": position}
            query = {**params, **bound, "order": "asc", "page": page, "pagesize": PAGE_SIZE}
            envelope = self._get(path, query)
            items = [item for item in envelope["items"] if isinstance(item, dict)]
            times = [moment for item in items if isinstance(moment := item.get(time), int)]
            in_order = in_order and times == sorted(times)
            last = max((moment for moment in (*times, last) if moment is not None), default=None)
            fresh = [item for item in items if (item.get(name), item.get(time)) not in seen]
            seen.update((item.get(name), item.get(time)) for item in fresh)
            yield ApiPage(tuple(fresh), last if in_order else None)
            if envelope.get("has_more") is not True:
                return
            repeats = 0 if fresh else repeats + 1
            if repeats > MAX_REPEATS:
                break
            if in_order and last is not None and (position is None or last - 1 > position):
                position, page = last - 1, 1
            else:
                page += 1
        raise SourceError(
            f"The list {path} of {self._site} runs in a circle or has no end.",
            remedy="Check `base_url`; Stack Exchange's API doesn't do this.",
        )

    def _get(self, path: str, params: Mapping[str, str | int]) -> dict[str, Any]:
        if self._quota == 0:
            raise SourceError(
                f"The quota of calls to Stack Exchange is used up for today; {self._site} isn't read completely.",
                remedy="Run again after midnight UTC; Lore keeps what it has read. "
                "A key (LORE_STACKEXCHANGE_KEY) raises the quota from 300 calls to 10,000.",
                retryable=True,
            )
        if self._pause:
            self._wait_for_backoff(path)
        data = self._api.get(path, {"site": self._site, **params}).data
        if not isinstance(data, dict) or not isinstance(data.get("items", []), list):
            raise SourceError(f"{path} didn't return a list.", remedy="Check that `base_url` is Stack Exchange's API.")
        backoff, quota = data.get("backoff"), data.get("quota_remaining")
        self._pause = float(backoff) if isinstance(backoff, int) and backoff > 0 else 0.0
        self._quota = quota if isinstance(quota, int) else None
        return {"items": [], **data}

    def _wait_for_backoff(self, path: str) -> None:
        """Wait for the pause that the last response asked for."""
        until = datetime.fromtimestamp(self._retries.now() + self._pause, UTC)
        if self._pause > self._retries.max_wait:
            raise SourceError(
                f"Stack Exchange asks to wait until {until:%Y-%m-%d %H:%M:%S} UTC before the next call for {path}.",
                remedy="Run again after that; Lore keeps what it has read.",
                retryable=True,
            )
        self._retries.sleep(self._pause)
        self._pause = 0.0


def _explain(status: int, data: Any) -> Retry | str:
    """Explain an error; throttling comes as a 400 with a number and a sentence."""
    if not isinstance(data, dict):
        return ""
    said = " ".join(str(data.get("error_message") or "").split())
    if data.get("error_id") not in TRANSIENT_ERRORS:
        return said
    seconds = re.search(r"available in (\d{1,9}) second", said)
    pause = float(seconds[1]) if seconds else THROTTLE_WAIT if data["error_id"] == 502 else None
    return Retry(said or TRANSIENT_ERRORS[data["error_id"]], pause)
