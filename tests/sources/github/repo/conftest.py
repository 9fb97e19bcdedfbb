"""Fixtures that several files of tests here share."""

from __future__ import annotations

import pytest

from tests.servers.github import GitHubServer
from tests.servers.github_tarball import ArchiveServer
from tests.sources.github.repo.repositories import FILES


@pytest.fixture
def archives():
    with ArchiveServer() as archives:
        yield archives


@pytest.fixture
def github(archives):
    with GitHubServer(files=FILES, archives=archives) as github:
        yield github
