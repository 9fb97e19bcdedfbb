"""Put lost runs back into their queue, slowly, after a worker pool went away.

Use this after an incident in which many workers were lost at once, when `tidewheel runs retry --state lost` would
start thousands of runs in the same minute. The script starts them in waves and stops when the share of failures grows.

    export TIDEWHEEL_URL=https://tidewheel.example.com
    export TIDEWHEEL_KEY=tw_live_...        # scope "run"
    python requeue_lost_runs.py --queue reports --per-wave 50 --pause 30

Ask the owner of each job first whether it is idempotent. Jobs that are not are named with --skip.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

MAX_FAILED_SHARE = 0.2
"""Stop when more than this share of the last wave failed: something is still broken."""


class TidewheelApi:
    """The few calls that the script needs, with the waiting that rate limits ask for."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url.rstrip("/")
        self.key = key

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        """Make one call; wait and repeat up to five times when the server says 429 or 503."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        for _ in range(5):
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
                time.sleep(float(error.headers.get("Retry-After", 5)))
        raise RuntimeError(f"{method} {path} was refused five times")

    def lost_runs(self, queue: str) -> Iterator[dict]:
        """Yield every lost run of a queue, oldest first, page by page."""
        cursor = ""
        while True:
            page = self.call("GET", f"/v1/runs?state=lost&queue={queue}&order=oldest&limit=100&cursor={cursor}")
            yield from page["runs"]
            cursor = page["next"]
            if cursor is None:
                return


def waves(runs: Iterator[dict], size: int, skip: set[str]) -> Iterator[list[dict]]:
    """Group runs into waves of `size`, leaving out jobs that must not run twice."""
    wave: list[dict] = []
    for run in runs:
        if run["job"] in skip:
            continue
        wave.append(run)
        if len(wave) == size:
            yield wave
            wave = []
    if wave:
        yield wave


def failed_share(api: TidewheelApi, wave: list[dict]) -> float:
    """The share of a wave whose latest attempt failed."""
    states = [api.call("GET", f"/v1/runs/{run['id']}")["state"] for run in wave]
    return sum(state in ("failed", "timed_out", "lost") for state in states) / len(states)


def main() -> None:
    """Requeue in waves and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--per-wave", type=int, default=50)
    parser.add_argument("--pause", type=float, default=30.0, help="seconds between waves")
    parser.add_argument("--skip", action="append", default=[], help="a job that is not idempotent")
    options = parser.parse_args()
    api = TidewheelApi(os.environ["TIDEWHEEL_URL"], os.environ["TIDEWHEEL_KEY"])
    done = 0
    for wave in waves(api.lost_runs(options.queue), options.per_wave, set(options.skip)):
        for run in wave:
            api.call("POST", f"/v1/runs/{run['id']}/retry", {"reason": "requeue after incident"})
        done += len(wave)
        print(f"{done} runs requeued, waiting {options.pause:.0f} s")
        time.sleep(options.pause)
        if (share := failed_share(api, wave)) > MAX_FAILED_SHARE:
            raise SystemExit(f"{share:.0%} of the last wave failed; stopping. Fix the cause, then start again.")


if __name__ == "__main__":
    main()
