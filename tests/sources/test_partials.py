"""Markdown files that others import, and the addresses that front matter gives."""

from __future__ import annotations

import pytest
from lore.convert import convert
from lore.sources.partials import without_partials

from tests.servers.github import GitHubServer
from tests.servers.github_tarball import ArchiveServer
from tests.sources.github.repo.repositories import documents
from tests.sources.github.repo.repositories import source_of as repository
from tests.sources.test_files import put, read, source_of

IMPORTING = "---\ntitle: Limits\n---\nimport Limits from './_limits.mdx';\n\n# Limits\n\n<Limits />\n"
PARTIAL = "---\nsidebar: false\n---\nAt most **4200** jobs a day.\n\nimport Deep from '../shared/_deep.md'\n\n<Deep/>\n"
FILES = {
    "docs/limits.mdx": IMPORTING,
    "docs/_limits.mdx": PARTIAL,
    "shared/_deep.md": "Deep down: 77.\n",
    "docs/_unused.md": "Nobody imports this.\n",
    "_index.md": "# The first page\n",
}


@pytest.mark.parametrize("kind", ["files", "github_repo"])
def test_partials_are_part_of_the_pages_that_import_them(tmp_path, kind):
    if kind == "files":
        source = source_of(put(tmp_path, **FILES))
        found = read(source)
        assert {name.partition(":")[2] for name in source.list_ids()} == set(found)
    else:
        with ArchiveServer() as archives, GitHubServer(files=FILES, archives=archives) as github:
            found = documents(repository(github))
    assert set(found) == {"docs/limits.mdx", "docs/_unused.md", "_index.md"}
    text = convert(found["docs/limits.mdx"]).text
    assert "At most **4200** jobs a day." in text and "Deep down: 77." in text
    assert "import" not in text and "sidebar" not in text


def test_a_page_changes_with_the_partial_that_it_imports(tmp_path):
    before = read(source_of(put(tmp_path, **FILES)))["docs/limits.mdx"]
    after = read(source_of(put(tmp_path, **{"shared/_deep.md": "Deep down: 78."})))["docs/limits.mdx"]
    assert before.text != after.text and "78" in after.text


def test_texts_without_includes_keep_their_bytes(tmp_path):
    page = read(source_of(put(tmp_path, **{"a.md": "# A\n", "b.mdx": "# B\n"})))
    assert [(one.text, one.data) for one in page.values()] == [("", b"# A\n"), ("", b"# B\n")]


def test_partials_are_looked_for_only_where_there_are_some():
    calls: list[str] = []
    assert without_partials(["a.md", "b/_index.md"], lambda path: calls.append(path)) == ["a.md", "b/_index.md"]
    assert calls == []
    loop = {"_a.md": "import B from './_b.md'\n\n<B/>", "_b.md": "import A from './_a.md'\n\n<A/>", "c.md": "C"}
    assert without_partials(list(loop), loop.get) == ["c.md"]


@pytest.mark.parametrize(
    ("path", "slug", "options", "url"),
    [
        ("guide/a.md", "/start/here", {}, "https://x.org/d/start/here"),
        ("guide/a.mdx", "here", {}, "https://x.org/d/guide/here"),
        ("a.md", "here", {}, "https://x.org/d/here"),
        ("guide/index.md", "/", {}, "https://x.org/d/"),
        ("guide/a.md", "über/uns/", {}, "https://x.org/d/guide/%C3%BCber/uns/"),
        ("guide/a.md", "/a", {"url_suffix": ".html"}, "https://x.org/d/a.html"),
        ("guide/a.md", "../../secret", {}, "https://x.org/d/guide/a"),
        ("guide/a.md", "https://evil.example/", {}, "https://x.org/d/guide/a"),
        ("guide/a.md", "//evil.example", {}, "https://x.org/d/guide/a"),
        ("guide/a.md", "'a b?x=1#y'", {}, "https://x.org/d/guide/a"),
        ("guide/a.md", "[1]", {}, "https://x.org/d/guide/a"),
        ("guide/a.rst", "/other", {}, "https://x.org/d/guide/a"),
    ],
)
def test_front_matter_may_name_the_address(tmp_path, path, slug, options, url):
    put(tmp_path, **{path: f"---\nslug: {slug}\n---\n# A\n"})
    (page,) = read(source_of(tmp_path, base_url="https://x.org/d", **options)).values()
    assert page.url == url


def test_anchors_are_declared_and_go_with_the_formats_that_have_them(tmp_path):
    put(tmp_path, **{"a.md": "# A", "b.rst": "B\n=\n", "c.html": "<h1>C</h1>", "d.txt": "D"})
    pages = read(source_of(tmp_path, base_url="https://x.org/d", anchors="mkdocs"))
    styles = {name: page.metadata.get("anchor_style") for name, page in pages.items()}
    assert styles == {"a.md": "mkdocs", "b.rst": "mkdocs", "c.html": None, "d.txt": None}
    assert "anchor_style" not in read(source_of(tmp_path))["a.md"].metadata
