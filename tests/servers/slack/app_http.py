"""Slack's end of HTTP mode: each envelope is a signed request, sent again until the app answers with 2xx in time."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

from tests.servers.slack.app_events import sign
from tests.servers.slack.app_socket import ATTEMPTS, Envelope


class HttpHub:
    """Delivers to a URL. Slack waits a minute and more between repeats; this one does not wait."""

    def __init__(self, url: str, signing_secret: str, ack_seconds: float) -> None:
        self.url, self.secret, self.ack_seconds = url, signing_secret, ack_seconds
        self.envelopes: dict[str, Envelope] = {}
        self.statuses: list[int] = []
        """What the app answered, in order; 0 where it did not."""
        self._open = 0
        self._changed = threading.Condition()
        self._threads = ThreadPoolExecutor(16)

    def stop(self) -> None:
        """Deliver nothing more."""
        self._threads.shutdown(cancel_futures=True)

    def send(self, envelope: Envelope) -> Envelope:
        """Take an envelope to deliver at once."""
        with self._changed:
            self.envelopes[envelope.id] = envelope
            self._open += 1
        self._threads.submit(self._deliver, envelope)
        return envelope

    def settle(self, seconds: float = 10.0) -> bool:
        """Wait until everything was acked or given up; False where that does not happen in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, seconds)

    def _deliver(self, envelope: Envelope) -> None:
        while not envelope.acked and not envelope.failed:
            status, body = self.post(envelope)
            self.statuses.append(status)
            if 200 <= status < 300:
                envelope.acked, envelope.response = True, body
            elif envelope.type == "events_api":
                envelope.reason = "http_error" if status else "http_timeout"
                envelope.attempt += 1
            else:
                envelope.attempt = ATTEMPTS  # people press again: Slack does not
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def post(self, envelope: Envelope, *, at: float | None = None, headers: Mapping[str, str] | None = None) -> Any:
        """Send it once, signed as of now or of `at`; returns status and body. `headers` go before ours."""
        kind, body = encode(envelope)
        sent = {"Content-Type": kind, **sign(self.secret, body, int(time.time() if at is None else at))}
        if envelope.attempt:
            sent |= {"X-Slack-Retry-Num": str(envelope.attempt), "X-Slack-Retry-Reason": envelope.reason}
        request = urllib.request.Request(self.url, data=body, headers={**sent, **(headers or {})}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.ack_seconds) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""


def encode(envelope: Envelope) -> tuple[str, bytes]:
    """Content type and body: events are JSON, interactions a form with JSON in it, commands a form."""
    if envelope.type == "events_api":
        return "application/json", json.dumps(envelope.payload).encode()
    form = envelope.payload if envelope.type == "slash_commands" else {"payload": json.dumps(envelope.payload)}
    return "application/x-www-form-urlencoded", urlencode(form).encode()
