"""Questions of Stack Exchange from its data dump."""

from __future__ import annotations

import json
from html import escape

import pytest
from lore.errors import SourceError
from lore.settings import load_settings
from lore.sources.stackoverflow.dump import StackOverflowDumpSource
from lore.wiring.sources import make_source

from tests.contracts.source import SourceContract, ids, last_cursor
from tests.servers.stackexchange import StackExchangeServer
from tests.sources.stackoverflow.questions import START, answer, declared, documents, dump, question, source_of


class TestDumpContract(SourceContract):
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "Posts.xml"
        dump(path, self.questions(), [answer(1000 + n, n) for n in range(1, 251)])
        return path

    @pytest.fixture
    def source(self, path):
        return StackOverflowDumpSource(declared(dump=path))

    @pytest.fixture
    def change(self, path):
        def change():
            rows = self.questions()
            rows[4]["title"] = "Now different"
            dump(path, rows, [answer(1000 + n, n) for n in range(1, 251)])
            return "so:5"

        return change

    def questions(self):
        return [question(n) for n in range(1, 251)]


def test_the_dump_gives_the_pages_that_the_api_gives(tmp_path):
    questions = [
        question(1, tags=["airflow", "docker"], accepted_answer_id=11, title="A & B < C?", owner=None),
        question(2, tags=["docker"]),
        question(3, score=-3, owner=None),
        question(4, owner=None),
    ]
    answers = [answer(11, 1, -1, owner=None), answer(12, 1, 5, owner=None), answer(41, 4, 0), answer(2000, 99)]
    path = tmp_path / "Posts.xml"
    dump(path, questions, answers)
    served = [{**one, "title": escape(str(one["title"])), "is_answered": one["question_id"] == 1} for one in questions]
    for row in served:
        row["link"] = f"https://stackoverflow.com/questions/{row['question_id']}"
    with StackExchangeServer(served, answers) as server:
        expected = documents(source_of(server))
    found = documents(StackOverflowDumpSource(declared(dump=path)))
    assert list(found) == ["1"]
    assert found == expected


def test_an_unchanged_dump_gives_nothing(tmp_path):
    path = tmp_path / "Posts.xml"
    dump(path, [question(1)], [answer(5, 1)])
    source = make_source(declared(dump=path), load_settings({}))
    cursor = last_cursor(list(source.read(None)))
    assert ids(list(source.read(cursor))) == []
    assert list(source.list_ids()) == ["so:1"]


def test_tags_of_new_dumps(tmp_path):
    path = tmp_path / "Posts.xml"
    dump(path, [question(1, tags=["airflow", "c++"])], [answer(5, 1)])
    path.write_text(path.read_text().replace("&lt;airflow&gt;&lt;c++&gt;", "|airflow|c++|"))
    (document,) = documents(StackOverflowDumpSource(declared(tagged=["c++ airflow"], dump=path))).values()
    assert document.metadata["tags"] == ["airflow", "c++"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no XML",
        "<posts><row Id='1'",
        "<html><body/></html>",
        "<posts><row><row/></row></posts>",
        '<!DOCTYPE posts [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><posts><row Body="&b;"/></posts>',
        '<!DOCTYPE posts SYSTEM "file:///etc/passwd"><posts/>',
    ],
)
def test_what_is_no_dump_is_an_error_and_not_an_empty_site(tmp_path, text):
    path = tmp_path / "Posts.xml"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"not a Posts\.xml"):
        list(StackOverflowDumpSource(declared(dump=path)).list_ids())


def test_a_row_without_end_is_not_taken_into_memory(tmp_path):
    path = tmp_path / "Posts.xml"
    with path.open("w") as stream:
        stream.write('<posts><row Id="1" Body="')
        for _ in range(40):
            stream.write("x" * 1_000_000)
    with pytest.raises(SourceError, match="is endless"):
        list(StackOverflowDumpSource(declared(dump=path)).list_ids())


def test_a_dump_that_is_not_there_is_named(tmp_path):
    source = StackOverflowDumpSource(declared(dump=tmp_path / "Posts.xml"))
    for call in (lambda: list(source.read(None)), lambda: list(source.list_ids())):
        with pytest.raises(SourceError, match="can't be read") as caught:
            call()
        assert "dump" in caught.value.remedy


def test_a_dump_of_more_questions_than_declared_is_refused(tmp_path):
    path = tmp_path / "Posts.xml"
    dump(path, [question(n) for n in range(1, 12)], [])
    with pytest.raises(SourceError, match="max_questions"):
        list(StackOverflowDumpSource(declared(max_questions=10, dump=path)).read(None))


def test_the_shared_threads_ingest(shared_data, tmp_path):
    folder = shared_data / "retrieval" / "airflow_so"
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    told = {row["_id"]: row for row in map(json.loads, (folder / "corpus.jsonl").read_text().splitlines())}
    pairs = [line.split("\t") for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]]
    threads = {row["_id"]: int(row["_id"][1:]) for row in asked}

    def html(text: str) -> str:
        return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n"))

    questions = [
        question(
            threads[row["_id"]],
            title=escape(row["text"]),
            body=html((row.get("metadata") or {}).get("body", "")),
            last_activity_date=START + number,
        )
        for number, row in enumerate(asked)
    ]
    answers = [
        answer(10**9 + number, threads[query], body=html(told[document]["text"]))
        for number, (query, document, _) in enumerate(pairs)
        if query in threads and document in told
    ]
    with StackExchangeServer(questions, answers, quota=10_000) as server:
        source = source_of(server)
        found = documents(source)
        assert set(source.list_ids()) == {f"so:{number}" for number in found}
        assert documents(source, last_cursor(list(source.read(None)))) == {}
    assert len(found) == len(asked)
    assert sum(document.text.count("\n# Answer by") for document in found.values()) == len(answers)
    path = tmp_path / "Posts.xml"
    dump(path, questions, answers)
    dumped = documents(StackOverflowDumpSource(declared(dump=path)))
    assert dumped.keys() == {key for key, one in found.items() if one.metadata["answers"]}
