"""Repositories that the tests of GitHub share."""

from __future__ import annotations

from lore.declarations import GitHubRepoDeclaration
from lore.sources.github.api.client import GitHubAccess
from lore.sources.github.repo.source import GitHubRepoSource
from lore.sources.http.retries import RetryPolicy

METHODS = "\n".join(f"    def m{n}(self):\n        return '{'text ' * 100}'\n" for n in range(6))


FILES = {
    "README.md": "---\ntitle: The demo\n---\n# Demo\n\nSee [the guide](docs/guide.md#start).\n",
    "docs/guide.md": "# Guide\n\n![a picture](img/a.png)\n",
    "docs/img/a.png": b"\x89PNG",
    "docs/api.rst": "API\n===\n\nSee `the guide <guide.md>`_.\n\n.. include:: part.txt\n",
    "docs/part.txt": "The part that is included.\n",
    "docs/latin.md": "Gr\xfc\xdfe aus K\xf6ln, sch\xf6n ist es hier im Fr\xfchling.".encode("latin-1"),
    "docs/empty.md": b"",
    "src/app.py": f"import os\n\nclass App:\n{METHODS}\n\ndef main():\n    App()\n",
    "src/tool.go": "package tool\n\nfunc Run() {}\n",
    "src/bundle.min.js": "x=1;" * 3000,
    ".github/workflows/ci.yml": "on: push\n",
    "pom.xml": "<project/>",
    "data.bin": b"\x00\x01",
}


def source_of(github, token=None, waits=None, max_retries=2, **options) -> GitHubRepoSource:
    access = GitHubAccess(
        github.base_url,
        token=lambda: token,
        timeout=5.0,
        retries=RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append),
        archive_hosts=(github.archives.host,) if github.archives else (),
    )
    return GitHubRepoSource(GitHubRepoDeclaration(id="repo", repository="octo/demo", **options), access)


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}
