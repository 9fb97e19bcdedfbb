"""The addresses of a repository's documents are permanent: they name a commit at which all is there that they show."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest
from lore.declarations import GitHubRepoDeclaration
from lore.protocols import Rereadable
from lore.sources.github.repo.archive import RepositoryArchive
from lore.sources.github.repo.files import RepositoryFiles
from lore.sources.github.repo.state import RepositoryState, SeenFile, text_digest
from lore.types import Cursor, Document

from tests.contracts.source import last_cursor
from tests.servers.github import GitHubServer
from tests.servers.github_tarball import ArchiveServer, tarball
from tests.sources.github.repo.repositories import METHODS, source_of

APP = f"import os\n\nclass App:\n{METHODS}\n\ndef main():\n    App()\n"
FILES = {
    "README.md": "See [the guide](docs/guide.md) and [what comes](docs/later.md).\n",
    "docs/guide.md": "# Guide\n\n![a picture](img/a.png)\n",
    "docs/img/a.png": b"\x89PNG",
    "docs/api.rst": "API\n===\n\n`The guide <guide.md>`_.\n\n.. include:: part.txt\n",
    "docs/part.txt": "The part that is included.\n",
    "docs/page.html": "<h1>Page</h1>",
    "src/app.py": APP,
}
ADDRESS = re.compile(r"/octo/demo/(blob|raw|tree)/([0-9a-f]{40})(?:/([^\s)>#]*))?")


@pytest.fixture
def github():
    with ArchiveServer() as archives, GitHubServer(files=FILES, archives=archives) as github:
        yield github


class Reader:
    """Reads a repository again and again, each time from the cursor of before; it knows every commit that there was."""

    def __init__(self, github: GitHubServer) -> None:
        self._github = github
        self.history: dict[str, dict[str, bytes | str]] = {}
        self.cursor: Cursor | None = None
        self.found: dict[str, Document] = {}

    def read(self, **options: object) -> dict[str, str]:
        """The commit in each document's address, by the document's name."""
        self.history[self._github.commit] = dict(self._github.files)
        batches = list(source_of(self._github, **({"code": True} | options)).read(self.cursor))
        self.cursor = last_cursor(batches, self.cursor)
        read = {document.id.partition(":")[2]: document for batch in batches for document in batch.documents}
        self.found = read or self.found
        return {name: ADDRESS.search(document.url)[2] for name, document in self.found.items()}

    def check(self) -> None:
        """Hold every address, and every link of every text, against the files of the commit that it names."""
        for name, document in self.found.items():
            (_, commit, path) = ADDRESS.search(document.url).groups()
            assert self.history[commit][unquote(path)] == self._github.files[name.partition("#")[0]]
            if "#L" in document.url:
                first = int(document.url.partition("#L")[2].partition("-")[0])
                lines = str(self.history[commit][path]).split("\n")
                assert lines[first - 1] == document.text.split("\n")[0]
            for _, linked, target in ADDRESS.findall(document.text):
                assert linked == commit
                there = self.history[linked]
                assert unquote(target) in there or any(path.startswith(f"{target}/") for path in there)


@pytest.fixture
def reader(github):
    return Reader(github)


def test_a_file_keeps_its_commit_until_it_changes(github, reader):
    first = reader.read()
    one = github.commit
    assert set(first.values()) == {one}
    github.files["docs/guide.md"] = "# Guide\n\nOther words.\n"
    assert reader.read() == first | {"docs/guide.md": github.commit}
    two = github.commit
    github.files["src/app.py"] = "# a new first line\n" + APP
    github.files["docs/new.md"] = "New."
    third = reader.read()
    code = {name: github.commit for name in first if name.startswith("src/")}
    assert third == first | {"docs/guide.md": two, "docs/new.md": github.commit} | code
    assert reader.found["src/app.py#App.m1"].url.endswith(f"/blob/{github.commit}/src/app.py#L8-L9")
    reader.check()


def test_a_document_whose_text_changes_with_another_file_names_the_commit_of_that(github, reader):
    first = reader.read()
    github.files["docs/part.txt"] = "Another part.\n"
    assert reader.read() == first | dict.fromkeys(["docs/api.rst", "docs/part.txt"], github.commit)
    reader.check()


def test_a_link_is_written_at_a_commit_that_has_its_target(github, reader):
    first = reader.read()
    github.files["docs/later.md"] = "Now there."
    assert reader.read() == first | {"README.md": github.commit, "docs/later.md": github.commit}
    assert f"/blob/{github.commit}/docs/later.md" in reader.found["README.md"].text
    reader.check()
    second = github.commit
    del github.files["docs/img/a.png"]
    assert reader.read()["docs/guide.md"] == github.commit != second
    assert reader.found["docs/guide.md"].text == FILES["docs/guide.md"]
    reader.check()


def test_a_branch_that_is_set_back_names_no_commit_that_shows_something_else(github, reader):
    first = reader.read()
    one = dict(github.files)
    github.files |= {"docs/guide.md": "Other.", "docs/later.md": "Later."}
    reader.read()
    reader.check()
    github.files = one
    assert reader.read() == first
    reader.check()


def test_every_address_shows_what_was_indexed_whatever_was_pushed(github, reader):
    texts = [FILES["README.md"], "[a](docs/guide.md) [b](src)", "", "Plain."]
    for step in range(24):
        for number, path in enumerate(("README.md", "docs/guide.md", "docs/part.txt", "docs/later.md")):
            if (step * 7 + number * 3) % 4 == 0:
                github.files[path] = texts[(step + number) % 4]
            elif (step + number) % 5 == 0:
                github.files.pop(path, None)
        github.files["src/app.py"] = "#\n" * (step // 6) + APP
        reader.read()
        reader.check()
        state = RepositoryState.from_cursor(reader.cursor)
        assert set(state.files) == {name.partition("#")[0] for name in reader.found}


def test_a_declaration_with_other_globs_keeps_the_addresses_and_one_with_another_ref_does_not(github, reader):
    first = reader.read()
    github.files["docs/guide.md"] = "Other."
    second = reader.read(exclude=["docs/part.txt"])
    assert second == {name: first[name] for name in first if name != "docs/part.txt"} | {"docs/guide.md": github.commit}
    assert set(reader.read(ref="main").values()) == {github.commit}


def test_a_file_that_went_and_came_again_is_a_new_one(github, reader):
    reader.read()
    del github.files["docs/page.html"]
    reader.read()
    github.files["docs/page.html"] = FILES["docs/page.html"]
    github.files["docs/new.md"] = "So that the commit is another."
    assert reader.read()["docs/page.html"] == github.commit


def test_from_a_cursor_without_what_failed_all_is_read_at_the_commits_of_before(github, reader):
    first = reader.read()
    source = source_of(github, code=True)
    assert isinstance(source, Rereadable)
    reader.cursor, reader.found = source.rewind(reader.cursor, ["repo:README.md"]), {}
    assert reader.read() == first
    reader.cursor = source.rewind(reader.cursor, ["repo:README.md"])
    github.files["docs/guide.md"] = "Other."
    assert reader.read() == first | {"docs/guide.md": github.commit}
    assert source.rewind("{}", ["repo:README.md"]) is None


def test_a_cursor_that_remembers_no_files_reads_anew(github, reader):
    first = reader.read()
    values = json.loads(reader.cursor)
    del values["files"]
    reader.cursor, reader.found = json.dumps(values), {}
    assert reader.read() == first


def test_a_cursor_that_names_something_else_than_commits_reads_anew(github, reader):
    reader.read()
    state = RepositoryState.from_cursor(reader.cursor)
    forged = {path: SeenFile(file.digest, "../../../evil") for path, file in state.files.items()}
    reader.cursor = RepositoryState("", state.selection, state.ids, state.branch, forged).to_cursor()
    assert set(reader.read().values()) == {github.commit}


def test_what_makes_no_document_is_not_remembered(github, reader):
    github.files |= {
        "src/bundle.min.js": "x=1;" * 3000,
        "src/empty.py": "\n",
        "docs/big.md": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        "docs/large.md": "x" * 5000,
    }
    reader.read(max_bytes=4500)
    state = RepositoryState.from_cursor(reader.cursor)
    assert set(state.files) == set(FILES) - {"docs/img/a.png"}


def test_what_is_remembered_takes_some_twenty_bytes_for_a_file():
    names = [f"docs/section-{n % 40}/page-about-{n}.md" for n in range(5_000)]
    commits = [text_digest(str(n)) * 4 for n in range(100)]
    files = {name: SeenFile(text_digest(name), commits[len(name) * n % 100][:40]) for n, name in enumerate(names)}
    cursor = RepositoryState("", "", None, "", files).to_cursor()
    assert len(cursor) < 25 * len(files)
    assert RepositoryState.from_cursor(cursor).files == files


def test_more_files_than_are_remembered_have_addresses_of_the_branch():
    declaration = GitHubRepoDeclaration(id="repo", repository="octo/demo", ref="release/1")
    commit, web = "ab" * 20, "https://github.com/octo/demo"
    before = {"docs/guide.md": SeenFile(text_digest(FILES["docs/guide.md"]), "cd" * 20)}
    with RepositoryArchive([tarball(FILES)], max_bytes=10**6) as archive:
        few = RepositoryFiles(declaration, archive, web, commit, before, max_seen=5)
        assert all(commit in document.url for document in few.documents())
        many = RepositoryFiles(declaration, archive, web, commit, before, max_seen=4)
        found = list(many.documents())
    assert len(few.seen) == len(found) == 5
    assert not many.seen
    assert all(document.url.startswith(f"{web}/blob/release/1/") for document in found)
    assert f"{web}/blob/release/1/docs/guide.md" in found[0].text
