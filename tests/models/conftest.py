"""Fixtures of the tests of models."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def variables_of_azure_and_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that the packages of these two read themselves."""
    for name, value in {
        "OPENAI_API_VERSION": "2024-10-21",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
    }.items():
        monkeypatch.setenv(name, value)
