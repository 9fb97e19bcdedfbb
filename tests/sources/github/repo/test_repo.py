"""The documents and code of a repository, from servers on this machine."""

from __future__ import annotations

import json
import logging

import pytest
from lore.convert import convert
from lore.errors import SourceError

from tests.contracts.source import SourceContract, failed, ids, last_cursor
from tests.sources.github.repo.repositories import FILES, documents, source_of


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, github):
        github.files |= {f"many/{n}.md": f"Page {n}." for n in range(150)}
        return source_of(github, code=True)

    @pytest.fixture
    def change(self, github):
        def change():
            github.files["docs/guide.md"] = "# Guide\n\nNow different.\n"
            return "repo:docs/guide.md"

        return change


def test_documents_are_taken_and_the_rest_is_not(github):
    found = documents(source_of(github))
    assert set(found) == {
        "README.md",
        "docs/api.rst",
        "docs/empty.md",
        "docs/guide.md",
        "docs/latin.md",
        "docs/part.txt",
    }
    page = found["docs/guide.md"]
    assert page.url == f"{github.base_url}/octo/demo/blob/{github.commit}/docs/guide.md"
    assert page.metadata == {"repository": "octo/demo", "path": "docs/guide.md", "anchor_style": "github"}
    assert page.updated_at is None


def test_links_lead_to_the_commit_and_front_matter_and_includes_are_read(github):
    found = documents(source_of(github, ref="main"))
    web, commit = f"{github.base_url}/octo/demo", github.commit
    readme = convert(found["README.md"])
    assert readme.title == "The demo"
    assert f"[the guide]({web}/blob/{commit}/docs/guide.md#start)" in readme.text
    assert f"![a picture]({web}/raw/{commit}/docs/img/a.png)" in found["docs/guide.md"].text
    assert f"{web}/blob/{commit}/docs/guide.md" in convert(found["docs/api.rst"]).text
    assert "The part that is included." in convert(found["docs/api.rst"]).text
    assert "Grüße aus Köln" in convert(found["docs/latin.md"]).text


def test_code_is_read_by_function_and_class_when_asked(github):
    found = documents(source_of(github, code=True))
    code = {name: document for name, document in found.items() if name.startswith("src/")}
    assert set(code) == {"src/app.py", "src/app.py#App", "src/app.py#main", "src/tool.go"} | {
        f"src/app.py#App.m{n}" for n in range(6)
    }
    method = code["src/app.py#App.m1"]
    assert method.url.endswith(f"/blob/{github.commit}/src/app.py#L7-L8")
    assert method.title == "App.m1 in src/app.py"
    assert method.format == "code:python"
    assert method.metadata["symbol"] == "App.m1"
    assert convert(method).text.startswith("```python\n    def m1(self):\n")
    assert convert(code["src/app.py"]).title == "src/app.py"
    assert "class App:\n" in code["src/app.py"].text


def test_globs_choose(github):
    found = documents(source_of(github, include=["docs/", "src/*.py"], exclude=["api.*", "latin.md"], code=True))
    assert {name.partition("#")[0] for name in found} == {
        "docs/empty.md",
        "docs/guide.md",
        "docs/part.txt",
        "src/app.py",
    }


def test_data_is_taken_where_its_suffix_is_named(github):
    github.files |= {"a.json": "{}", "docs/feed.xml": "<rss/>"}
    assert not {"a.json", "pom.xml", "docs/feed.xml"} & set(documents(source_of(github, code=True)))
    assert set(documents(source_of(github, code=True, include=["*.json", "docs/*.xml"]))) == {"a.json", "docs/feed.xml"}
    assert set(documents(source_of(github, include=["*.json", "docs/*.xml"]))) == {"docs/feed.xml"}


def test_code_with_one_long_line_is_not_minified(github):
    github.files = {"a.py": "# a line\n" * 100 + f"vector = [{'0.1, ' * 1500}]\n"}
    assert "a.py" in documents(source_of(github, code=True))


def test_an_unchanged_commit_costs_one_call_that_is_not_counted(github, archives):
    source = source_of(github, code=True)
    before = list(source.read(None))
    listed = list(source.list_ids())
    assert len(github.requests) == 2
    assert len(archives.requests) == 1
    github.requests.clear()
    cursor = last_cursor(before)
    for again in (source, source_of(github, code=True)):
        assert list(again.read(cursor)) == []
        assert list(again.list_ids()) == listed == ids(before)
    assert [request.status for request in github.requests] == [304, 304]
    assert len(archives.requests) == 1


def test_a_push_changes_only_what_it_changed(github, archives):
    source = source_of(github, code=True)
    before, cursor = documents(source), None
    cursor = last_cursor(list(source.read(None)))
    github.files["src/app.py"] = "# a new first line\n" + FILES["src/app.py"].replace("App()", "App().run()")
    github.files["docs/new.md"] = "New."
    del github.files["docs/api.rst"]
    after = documents(source, cursor)
    listed = set(source.list_ids())
    assert listed == {f"repo:{name}" for name in after}
    assert set(before) - set(after) == {"docs/api.rst"}
    assert set(after) - set(before) == {"docs/new.md"}
    changed = {name for name in before if name in after and before[name] != after[name]}
    assert changed == {"src/app.py", "src/app.py#App", "src/app.py#main"} | {f"src/app.py#App.m{n}" for n in range(6)}
    texts = {name for name in changed if before[name].text != after[name].text}
    assert texts == {"src/app.py", "src/app.py#main"}  # the others moved by a line: their vectors stay


@pytest.mark.parametrize(
    "other", [{"code": False}, {"ref": "main"}, {"include": ["*.md"]}, {"exclude": ["docs/"]}, {"audiences": ["staff"]}]
)
def test_a_declaration_that_chooses_otherwise_reads_anew(github, other):
    cursor = last_cursor(list(source_of(github, code=True).read(None)))
    assert documents(source_of(github, **({"code": True} | other)), cursor)


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"commit": 5, "selection": "", "ids": "%%%"}', "null"])
def test_a_cursor_that_cannot_be_read_reads_anew(github, cursor):
    assert "README.md" in documents(source_of(github), cursor)


def test_a_list_that_was_not_kept_is_asked_for(github, archives):
    source = source_of(github)
    before = list(source.read(None))
    cursor = json.dumps(json.loads(last_cursor(before)) | {"ids": ""})
    assert list(source.read(cursor)) == []
    assert list(source.list_ids()) == ids(before)
    assert len(archives.requests) == 2


def test_a_file_that_is_too_large_is_a_failure_by_name(github):
    source = source_of(github, max_bytes=60)
    batches = list(source.read(None))
    assert failed(batches) == ["repo:README.md", "repo:docs/api.rst"]
    assert "max_bytes, 60 bytes" in next(failure.reason for batch in batches for failure in batch.failures)
    assert set(source.list_ids()) == set(ids(batches)) | set(failed(batches))


def test_submodules_pointers_and_minified_code_are_left_out_and_named(github, caplog):
    github.files |= {
        ".gitmodules": '[submodule "lib"]\n\tpath = vendor/lib\n\turl = https://github.com/octo/lib\n',
        "docs/big.md": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    }
    with caplog.at_level(logging.WARNING):
        batches = list(source_of(github, code=True).read(None))
    assert "repo:docs/big.md" not in ids(batches)
    assert not failed(batches)
    assert [record.getMessage() for record in caplog.records] == [
        "repo left out 1 submodules: vendor/lib.",
        "repo left out 1 Git LFS pointers: docs/big.md.",
        "repo left out 1 minified files: src/bundle.min.js.",
    ]


def test_names_that_are_not_ascii_have_ids_and_addresses(github):
    github.files = {"docs/caf\udce9 #1.md": "x", "docs/日本.md": "y"}
    found = documents(source_of(github))
    assert set(found) == {"docs/caf%E9%20%231.md", "docs/%E6%97%A5%E6%9C%AC.md"}
    assert all(document.url.isascii() and json.dumps(dict(document.metadata)) for document in found.values())
    assert convert(found["docs/%E6%97%A5%E6%9C%AC.md"]).text == "y"


@pytest.mark.parametrize("files", [{}, {"a.bin": b"x"}, {"src/a.py": "x = 1"}])
def test_a_repository_with_nothing_to_take_is_an_error_and_not_a_deletion(github, files):
    github.files = {"x.bin": b""} | files
    with pytest.raises(SourceError, match="No file of octo/demo"):
        list(source_of(github).read(None))
    with pytest.raises(SourceError, match="No file of octo/demo"):
        list(source_of(github).list_ids())
