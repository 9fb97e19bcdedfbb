"""Archives and APIs that fail, refuse, or lead elsewhere."""

from __future__ import annotations

import pytest
from lore.declarations import GitHubRepoDeclaration
from lore.errors import SourceError
from lore.sources.github.api.client import GitHubAccess
from lore.sources.github.repo.source import GitHubRepoSource
from lore.sources.http.client import HttpError
from lore.sources.http.retries import RetryPolicy

from tests.contracts.source import ids
from tests.servers.github import Fault, rate_limited, too_many_requests
from tests.servers.github_tarball import tarball
from tests.sources.github.repo.repositories import FILES, documents, source_of


def test_the_token_goes_to_the_api_and_not_to_the_host_of_archives(github, archives):
    github.token = "tok-123"
    assert documents(source_of(github, token="tok-123"))
    assert {request.headers["authorization"] for request in github.requests} == {"Bearer tok-123"}
    assert all("authorization" not in request for request in archives.requests)


def test_an_archive_at_a_host_that_is_not_named_is_not_taken(github, archives):
    access = GitHubAccess(github.base_url, token=lambda: "tok-123", retries=RetryPolicy(0))
    source = GitHubRepoSource(GitHubRepoDeclaration(id="repo", repository="octo/demo"), access)
    with pytest.raises(SourceError, match="points to another server") as caught:
        list(source.read(None))
    assert not archives.requests
    assert "ARCHIVE-SECRET" not in str(caught.value)


def test_a_cut_archive_is_downloaded_again(github, archives):
    whole, waits = tarball(FILES), list[float]()
    archives.broken = [whole[: len(whole) // 2], whole[:20]]
    assert documents(source_of(github, waits=waits))
    assert len(archives.requests) == 3
    assert len(waits) == 2


def test_an_archive_that_stays_cut_is_an_error_that_passes_and_tells_no_secret(github, archives):
    archives.broken = [tarball(FILES)[:100]] * 3
    with pytest.raises(SourceError, match="failed 3 times") as caught:
        list(source_of(github).read(None))
    assert caught.value.retryable
    assert "ARCHIVE-SECRET" not in str(caught.value)


def test_an_archive_that_is_whole_but_no_archive_is_an_error(github, archives):
    archives.broken = [b"<html>a page of a proxy</html>" * 100] * 3
    with pytest.raises(SourceError, match="truncated or damaged"):
        list(source_of(github).read(None))


def test_a_bomb_is_refused_without_another_try(github, archives):
    archives.broken = [tarball({"a.md": bytes(20_000_000)})]
    with pytest.raises(SourceError, match="contains more than 1,000,000 bytes") as caught:
        list(source_of(github, max_total_bytes=1_000_000).read(None))
    assert not caught.value.retryable
    assert len(archives.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 429])
def test_the_host_of_archives_may_fail_for_a_moment(github, archives, status):
    archives.broken = [status]
    waits: list[float] = []
    assert documents(source_of(github, waits=waits))
    assert (waits[0] >= 60) == (status == 429)


@pytest.mark.parametrize(
    "fault",
    [too_many_requests("7"), Fault(status=503), Fault(cut=True), Fault(body=b"x", length=5000), rate_limited(0)],
)
def test_the_api_may_fail_for_a_moment(github, fault):
    github.faults = [fault]
    waits: list[float] = []
    assert documents(source_of(github, waits=waits))
    assert len(waits) == 1
    assert fault.status != 429 or waits[0] >= 7


def test_a_limit_that_lasts_names_its_end(github):
    github.faults = [rate_limited(4_000_000_000)]
    with pytest.raises(SourceError, match="wait until 2096-") as caught:
        list(source_of(github).read(None))
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "LORE_GITHUB_TOKEN"), (403, "read access"), (404, "octo/demo"), (409, "is empty"), (422, "branch")],
)
def test_refusals_name_the_remedy(github, status, remedy):
    github.faults = [Fault(status=status, body=b'{"message": "no"}')]
    with pytest.raises(HttpError) as caught:
        list(source_of(github).read(None))
    assert remedy in caught.value.remedy


def test_a_ref_that_is_not_there_is_named(github):
    with pytest.raises(HttpError, match="No commit found") as caught:
        list(source_of(github, ref="release/9").read(None))
    assert "release/9" in caught.value.remedy
    assert github.paths() == ["/repos/octo/demo/commits/release/9"]


@pytest.mark.parametrize("body", [b"", b"<html>", b"main", b"../../x"])
def test_an_answer_that_is_no_commit_is_an_error(github, body):
    github.faults = [Fault(body=body)]
    with pytest.raises(SourceError, match="didn't return a commit"):
        list(source_of(github).read(None))


@pytest.mark.parametrize("ref", ["a b", "../x", "-x", "a..b", "x:y", "a\\b", ""])
def test_a_ref_that_can_be_none_is_refused(ref):
    with pytest.raises(ValueError, match="ref"):
        GitHubRepoDeclaration(id="repo", repository="octo/demo", ref=ref)


def test_a_read_that_is_killed_starts_again(github, archives):
    github.files |= {f"many/{n}.md": f"Page {n}." for n in range(150)}
    source = source_of(github)
    first = next(iter(source.read(None)))
    assert first.cursor is None
    assert set(ids(list(source.read(first.cursor)))) >= set(ids([first]))
