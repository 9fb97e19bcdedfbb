"""Retries of failed tasks: the error itself says whether to try again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import RetryPolicy
from airflow.sdk.definitions.retry_policy import RetryDecision

from lore.errors import LoreError

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["RETRIES", "LoreRetryPolicy"]


class LoreRetryPolicy(RetryPolicy):
    """Fails at once on a LoreError that a retry can't help; anything else is retried as the task says."""

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        if isinstance(exception, LoreError) and not exception.retryable:
            return RetryDecision.fail(str(exception))
        return RetryDecision.default()


RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay": timedelta(seconds=30),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=10),
    "retry_policy": LoreRetryPolicy(),
}
"""Arguments of a task that calls the outside world: 30 s, 1 min, 2 min, never more than 10 min apart."""
