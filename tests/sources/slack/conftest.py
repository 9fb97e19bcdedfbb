"""What several files of tests of Slack share: a workspace of two channels, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lore.types import Document

from tests.servers.slack.web_api import SlackServer
from tests.sources.slack.workspaces import CHANNELS, USERS, documents, messages_of_weeks, source_of, thread


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer(CHANNELS, USERS, {"C1": messages_of_weeks(3), "C2": thread(20, (21, "ok", "U2"))}) as slack:
        yield slack


@pytest.fixture
def expected(slack: SlackServer) -> dict[str, Document]:
    """All documents, by id; the calls that it took to read them are forgotten."""
    found = documents(source_of(slack))
    slack.requests.clear()
    return found
