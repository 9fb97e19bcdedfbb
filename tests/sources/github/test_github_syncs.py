"""The journey from GitHub to the index: what a first, an unchanged and a changed sync cost and leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.convert import convert
from lore.errors import RemovalFloorError, SourceError
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.protocols import Source
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder
from tests.servers.github import Fault, GitHubServer, rate_limited
from tests.servers.github_tarball import ArchiveServer
from tests.sources.github.issues.issues import comment, issue
from tests.sources.github.issues.issues import source_of as issues_of
from tests.sources.github.issues.test_changes import now
from tests.sources.github.issues.test_discussions import discussion, note
from tests.sources.github.repo.repositories import source_of as repo_of
from tests.syncs import make_sync


class House:
    """An index, kept over several syncs."""

    def __init__(self, folder: Path) -> None:
        self._staging = str(folder / "staging")
        self._embedder = FakeEmbedder()
        self.store = LanceStore(str(folder / "index"), Recipe(self._embedder.name, self._embedder.dimensions))

    def sync(self, source: Source) -> SyncReport:
        splitter = MarkdownSplitter(800)
        return make_sync(source, self.store, self._embedder, splitter, convert, staging_uri=self._staging).run()

    def ids(self, source_id: str) -> set[str]:
        return {document.id.partition(":")[2] for document in self.store.documents(source_id)}


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def counts(report: SyncReport) -> tuple[int, int, int, int, int]:
    return report.new, report.changed, report.unchanged, report.removed, report.embedded_texts


class TestRepository:
    FILES = {f"docs/{n}.md": f"# Page {n}\n\nAbout {n}. See [next](../src/a.py).\n" for n in range(40)} | {
        "src/a.py": "import os\n\n" + "".join(f"def f{n}():\n    return '{'x ' * 100}{n}'\n\n\n" for n in range(20))
    }

    @pytest.fixture
    def archives(self):
        with ArchiveServer() as archives:
            yield archives

    @pytest.fixture
    def github(self, archives):
        with GitHubServer(files=self.FILES, archives=archives) as github:
            yield github

    def test_each_kind_of_sync_does_what_it_must_and_no_more(self, house, github, archives):
        first = house.sync(repo_of(github, code=True))
        assert counts(first)[:4] == (61, 0, 0, 0)
        assert (len(github.requests), len(archives.requests)) == (2, 1)

        unchanged = house.sync(repo_of(github, code=True))
        assert counts(unchanged) == (0, 0, 0, 0, 0)
        assert (github.requests[-1].status, len(github.requests), len(archives.requests)) == (304, 3, 1)

        github.files["docs/3.md"] = "# Page 3\n\nOther words.\n"
        github.files["docs/new.md"] = "# New\n"
        github.files["src/a.py"] = "# moved\n" + str(self.FILES["src/a.py"])
        del github.files["docs/4.md"]
        changed = house.sync(repo_of(github, code=True))
        # the page, the file of code for its comment, and its 20 functions for their lines, of which no text changed
        assert counts(changed)[:4] == (1, 22, 38, 1)
        assert changed.embedded_texts == 3
        assert "docs/4.md" not in house.ids("repo")
        assert house.store.document("repo:src/a.py#f0").url.endswith("#L4-L5")

    def test_a_push_changes_no_document_of_another_file_though_one_fails_each_time(self, house, github, archives):
        github.files["docs/large.md"] = "x" * 5_000
        source = {"code": True, "max_bytes": 4_900}
        github.files["src/a.py"] = "def f():\n    pass\n"
        first = house.sync(repo_of(github, **source))
        assert (counts(first)[:4], first.status) == ((41, 0, 0, 0), "warning")
        again = house.sync(repo_of(github, **source))
        assert counts(again) == (0, 0, 41, 0, 0)
        urls = {document.id: document.url for document in house.store.documents("repo")}
        github.files["docs/3.md"] = "# Page 3\n\nOther words.\n"
        assert counts(house.sync(repo_of(github, **source)))[:4] == (0, 1, 40, 0)
        changed = {document.id for document in house.store.documents("repo") if document.url != urls[document.id]}
        assert changed == {"repo:docs/3.md"}
        del github.files["docs/large.md"]
        assert counts(house.sync(repo_of(github, **source))) == (0, 0, 41, 0, 0)
        assert counts(house.sync(repo_of(github, **source))) == (0, 0, 0, 0, 0)

    def test_a_branch_that_lost_most_of_its_files_empties_nothing(self, house, github, archives):
        house.sync(repo_of(github))
        github.files = {"docs/1.md": "# Page 1\n"}
        with pytest.raises(RemovalFloorError):
            house.sync(repo_of(github))
        assert len(house.ids("repo")) == 40


class TestIssues:
    @pytest.fixture
    def github(self):
        issues = [issue(n) for n in range(1, 61)]
        with GitHubServer(issues, [comment(n, n) for n in range(1, 61, 4)]) as github:
            github.discussions = [discussion(n, comments=[note(n, "A note.")]) for n in range(100, 110)]
            yield github

    def source(self, github):
        return issues_of(github, include_discussions=True)

    def test_each_kind_of_sync_does_what_it_must_and_no_more(self, house, github):
        assert counts(house.sync(self.source(github)))[:4] == (70, 0, 0, 0)

        github.requests.clear()
        assert counts(house.sync(self.source(github))) == (0, 0, 0, 0, 0)
        assert [(request.path.rpartition("/")[2], request.status) for request in github.requests] == [
            ("issues", 304),
            ("comments", 304),
            ("graphql", 200),
            ("issues", 200),
        ]
        assert [request.method for request in github.requests][-1] == "HEAD"

        github.issues[1] |= {"title": "Now different", "updated_at": now()}
        github.comments[2] |= {"body": "Corrected.", "updated_at": now()}
        github.discussions[0] |= {"answer": {"id": "DC_100"}, "updatedAt": now()}
        github.issues.append(issue(99) | {"updated_at": now()})
        del github.issues[4]
        del github.discussions[5]
        assert counts(house.sync(self.source(github)))[:4] == (1, 3, 0, 2)
        assert house.ids("issues") == {str(n) for n in (*range(1, 61), 99, *range(100, 110)) if n not in (5, 105)}
        assert "Corrected." in house.store.document("issues:9").text
        assert house.sync(self.source(github)).removed == 0

    def test_a_limit_in_the_middle_keeps_what_was_read_and_the_next_goes_on(self, house, github):
        one_by_one = Fault("/issues/comments", body=b"[]")  # instead of the whole list
        github.faults = [one_by_one, rate_limited(4_000_000_000, "/issues/33/comments")]
        with pytest.raises(SourceError, match="Couldn't read issues to its end"):
            house.sync(self.source(github))
        assert len(house.ids("issues")) == 25
        github.requests.clear()
        report = house.sync(self.source(github))
        assert (report.new, report.removed) == (45, 0)
        assert "/repos/octo/demo/issues/1/comments" not in github.paths()
