"""A folder of files as documents."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime

import pytest
from lore.convert import convert
from lore.declarations import FilesDeclaration
from lore.errors import SourceError
from lore.sources.files import FilesSource

from tests.contracts.source import SourceContract, failed, ids


def put(folder, **files: str | bytes):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def source_of(folder, **options) -> FilesSource:
    return FilesSource(FilesDeclaration(id="docs", path=folder, **options))


def read(source):
    batches = list(source.read(None))
    return {document.id.partition(":")[2]: document for batch in batches for document in batch.documents}


class TestContract(SourceContract):
    @pytest.fixture
    def folder(self, tmp_path):
        put(tmp_path, **{f"page {n}.md": f"# Page {n}" for n in range(70)}, **{"a/ü.rst": "Ü\n=\n", "b.html": "<p>b"})
        return put(tmp_path, **{"large.txt": "x" * 2000})

    @pytest.fixture
    def source(self, folder):
        return source_of(folder, base_url="https://docs.example.com/en", max_bytes=1000)

    @pytest.fixture
    def change(self, folder):
        def change():
            path = folder / "page 7.md"
            status = path.stat()
            path.write_text("# Page 7, again")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            return "docs:page%207.md"

        return change


@pytest.mark.parametrize(
    ("path", "options", "url"),
    [
        ("a/b.md", {}, "https://x.org/d/a/b"),
        ("a/b.md", {"strip_suffix": False}, "https://x.org/d/a/b.md"),
        ("a/b.rst", {"url_suffix": ".html"}, "https://x.org/d/a/b.html"),
        ("a/index.md", {}, "https://x.org/d/a/"),
        ("a/README.md", {}, "https://x.org/d/a/"),
        ("index.mdx", {}, "https://x.org/d/"),
        ("a/index.md", {"strip_suffix": False}, "https://x.org/d/a/index.md"),
        ("a/script.v1.py", {}, "https://x.org/d/a/script.v1.py"),
        ("1.2 notes.md", {}, "https://x.org/d/1.2%20notes"),
        ("ü?#%.md", {}, "https://x.org/d/%C3%BC%3F%23%25"),
        ("a/b.md", {"base_url": None}, ""),
    ],
)
def test_a_path_becomes_the_public_address(tmp_path, path, options, url):
    put(tmp_path, **{path: "text"})
    (document,) = read(source_of(tmp_path, **{"base_url": "https://x.org/d/"} | options)).values()
    assert document.url == url


TREE = (
    "a.md",
    "b.txt",
    "guide/a.md",
    "guide/deep/b.md",
    "guide/draft.md",
    "src/m.py",
    "data.bin",
    ".git/c.md",
    ".h.md",
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a.md", "b.txt", "guide/a.md", "guide/deep/b.md", "guide/draft.md", "src/m.py"}),
        ({"include": ["*.md"]}, {"a.md", "guide/a.md", "guide/deep/b.md", "guide/draft.md"}),
        ({"include": ["**/*.md"]}, {"a.md", "guide/a.md", "guide/deep/b.md", "guide/draft.md"}),
        ({"include": ["/*.md"]}, {"a.md"}),
        ({"include": ["./guide/*.md"]}, {"guide/a.md", "guide/draft.md"}),
        ({"include": ["guide/"]}, {"guide/a.md", "guide/deep/b.md", "guide/draft.md"}),
        ({"include": ["guide/**/b.md"]}, {"guide/deep/b.md"}),
        ({"include": ["?.txt", "*.py"]}, {"b.txt", "src/m.py"}),
        ({"exclude": ["guide", "*.py"]}, {"a.md", "b.txt"}),
        ({"include": ["*.md"], "exclude": ["guide/deep/", "draft*"]}, {"a.md", "guide/a.md"}),
    ],
)
def test_globs_choose(tmp_path, options, expected):
    put(tmp_path, **dict.fromkeys(TREE, "text"))
    assert set(read(source_of(tmp_path, **options))) == expected


def test_bytes_are_kept_for_conversion_and_convert(tmp_path):
    put(tmp_path, **{"a.md": b"# Gr\xfc\xdfe\n\nf\xfcr alle im Garten, und sch\xf6ne Ferien", "b.ipynb": "{}"})
    document = read(source_of(tmp_path, audiences=["staff"]))["a.md"]
    assert (document.text, document.format, document.title, document.audiences) == ("", "markdown", "", ("staff",))
    assert document.data.startswith(b"# Gr\xfc")
    assert convert(document).title == "Grüße"


def test_the_time_is_the_files_own(tmp_path):
    put(tmp_path, **{"a.md": "text"})
    os.utime(tmp_path / "a.md", (0, 1_700_000_000))
    assert read(source_of(tmp_path))["a.md"].updated_at == datetime.fromtimestamp(1_700_000_000, UTC)


def test_rst_takes_in_what_it_includes_but_nothing_from_outside(tmp_path):
    put(
        tmp_path,
        **{"secret.txt": "the outside", "docs/parts/note.txt": "from the *part*", "docs/latin.rst": b"Caf\xe9"},
    )
    text = "Page\n====\n\n.. include:: parts/note.txt\n\n.. include:: ../secret.txt\n\n.. include:: link.txt\n"
    put(tmp_path / "docs", **{"page.rst": text})
    (tmp_path / "docs" / "link.txt").symlink_to(tmp_path / "secret.txt")
    found = read(source_of(tmp_path / "docs"))
    assert "from the *part*" in found["page.rst"].text
    assert "outside" not in found["page.rst"].text
    assert found["page.rst"].data is None
    assert found["latin.rst"].data == b"Caf\xe9"


def test_what_cannot_be_read_fails_by_name_and_stays_listed(tmp_path):
    put(tmp_path, **{"docs/ok.md": "ok", "docs/large.md": "x" * 101, "outside.md": "secret"})
    docs = tmp_path / "docs"
    (docs / "leaves.md").symlink_to(tmp_path / "outside.md")
    (docs / "inside.md").symlink_to(docs / "ok.md")
    (docs / "dangling.md").symlink_to(docs / "nowhere.md")
    (docs / "folder.md").mkdir()
    (docs / "loop").symlink_to(docs)
    os.mkfifo(docs / "pipe.md")
    source = source_of(docs, max_bytes=100)
    batches = list(source.read(None))
    assert ids(batches) == ["docs:inside.md", "docs:ok.md"]
    assert failed(batches) == ["docs:large.md", "docs:leaves.md"]
    reasons = [failure.reason for batch in batches for failure in batch.failures]
    assert "max_bytes" in reasons[0]
    assert "leaves the folder" in reasons[1]
    assert set(source.list_ids()) == {"docs:inside.md", "docs:ok.md", "docs:large.md", "docs:leaves.md"}


def test_what_cannot_be_looked_at_is_a_failure_and_not_gone(tmp_path):
    put(tmp_path, **{"ok.md": "ok"})
    (tmp_path / "odd.md").symlink_to("x" * 300)  # the system refuses to look, as it does in a folder that is locked
    source = source_of(tmp_path)
    assert failed(list(source.read(None))) == ["docs:odd.md"]
    assert set(source.list_ids()) == {"docs:odd.md", "docs:ok.md"}


@pytest.mark.parametrize("name", ["loop.txt", "x" * 300, "../docs/loop.txt", "loop.txt/a"])
def test_an_include_that_leads_nowhere_leads_nowhere(tmp_path, name):
    put(tmp_path, **{"docs/page.rst": f"Page\n====\n\n.. include:: {name}\n\nAfter.\n"})
    (tmp_path / "docs" / "loop.txt").symlink_to("loop.txt")
    assert "After." in read(source_of(tmp_path / "docs"))["page.rst"].text


@pytest.fixture
def deep(tmp_path):
    """A folder with a file 1,200 folders down; Python's own rmtree could not remove it."""
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("a.md", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    yield tmp_path
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)


def test_a_tree_deeper_than_pythons_stack_is_read(deep):
    assert list(source_of(deep).list_ids()) == ["docs:" + "d/" * 1200 + "a.md"]


def test_a_file_that_becomes_a_pipe_does_not_hold_the_read(tmp_path):
    put(tmp_path, **{f"{n:03}.md": "text" for n in range(100)})
    batches = source_of(tmp_path).read(None)
    next(batches)
    (tmp_path / "099.md").unlink()
    os.mkfifo(tmp_path / "099.md")
    assert failed(list(batches)) == ["docs:099.md"]


def test_a_file_that_vanishes_between_list_and_read_is_gone(tmp_path):
    put(tmp_path, **{f"{n:03}.md": "text" for n in range(100)})
    batches = source_of(tmp_path).read(None)
    first = next(batches)
    (tmp_path / "099.md").unlink()
    rest = list(batches)
    assert len(first.documents) + len(ids(rest)) == 99
    assert not failed(rest)


def test_odd_names_are_encoded_byte_by_byte(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9 \n.md")).write_text("latin-1 in the name")
    source = source_of(tmp_path, base_url="https://x.org")
    (document,) = read(source).values()
    assert document.id == "docs:caf%E9%20%0A.md"
    assert document.url == "https://x.org/caf%E9%20%0A"
    assert document.id.encode()
    assert list(source.list_ids()) == [document.id]


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("file")])
def test_a_missing_or_empty_folder_is_an_error_and_never_an_empty_list(tmp_path, make):
    make(tmp_path / "docs")
    source = source_of(tmp_path / "docs")
    for call in (lambda: list(source.read(None)), lambda: list(source.list_ids())):
        with pytest.raises(SourceError, match="docs") as caught:
            call()
        assert caught.value.remedy


def test_airflows_docs_ingest(shared_data):
    source = source_of(
        shared_data / "sources" / "airflow_docs",
        base_url="https://airflow.apache.org/docs/apache-airflow/stable",
        url_suffix=".html",
    )
    found = read(source)
    assert len(found) > 100
    assert set(source.list_ids()) == {f"docs:{path}" for path in found}
    assert all(document.text for document in found.values() if document.format == "rst")
