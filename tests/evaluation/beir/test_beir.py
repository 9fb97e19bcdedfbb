"""Reading a benchmark folder: what fits, and what each mistake is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.evaluation.beir.dataset import BeirSource, load_beir
from lore.protocols import Listable, Source

WriteBeir = Callable[..., Path]


def test_only_judged_queries_in_file_order(write_beir: WriteBeir) -> None:
    dataset = load_beir(write_beir())
    assert dataset.name == "tiny"
    assert [(query.id, query.text, dict(query.relevance)) for query in dataset.queries] == [
        ("q1", "rotate api key", {"keys": 1}),
        ("q2", "how long are backups kept", {"backup": 2, "scale": 0}),
    ]
    assert [query.id for query in load_beir(dataset.folder, limit_queries=1).queries] == ["q1"]


def test_a_query_without_a_relevant_page_is_left_out(write_beir: WriteBeir) -> None:
    folder = write_beir(qrels=[("q1", "keys", "0"), ("q2", "backup", "1")])
    assert [query.id for query in load_beir(folder).queries] == ["q2"]


def test_the_corpus_is_a_source_that_can_be_listed(write_beir: WriteBeir) -> None:
    source = BeirSource(write_beir())
    assert isinstance(source, Source)
    assert isinstance(source, Listable)
    documents = [document for batch in source.read(None) for document in batch.documents]
    assert [document.id for document in documents] == list(source.list_ids())
    assert documents[0].id == "beir:keys"
    assert documents[0].title == "API keys"
    assert documents[0].text == "Rotate an API key with `keys rotate`."
    assert {document.format for document in documents} == {"markdown"}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.rst", "Title\n=====", "rst"),
        ("a.md", "# Title", "markdown"),
        ("a.ipynb", "# taken out of the notebook", "markdown"),
        ("a.ipynb", '{"cells": []}', "notebook"),
        ("a.unknown", "text", "markdown"),
        ("", "text", "markdown"),
    ],
)
def test_by_path_the_suffix_says_the_format(write_beir: WriteBeir, path: str, text: str, expected: str) -> None:
    folder = write_beir(pages=[{"_id": "p", "title": "", "text": text, "metadata": {"path": path}}])
    [batch] = BeirSource(folder, by_path=True).read(None)
    assert batch.documents[0].format == expected


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_named(write_beir: WriteBeir, name: str) -> None:
    folder = write_beir()
    (folder / name).unlink()
    with pytest.raises(ConfigurationError, match=name):
        load_beir(folder)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("queries.jsonl", "{not json", r"queries\.jsonl, line 4: not JSON"),
        ("queries.jsonl", "[1]", r"queries\.jsonl, line 4: not a JSON object"),
        ("queries.jsonl", '{"_id": "q9"}', r'queries\.jsonl, line 4: "text" is missing'),
        ("queries.jsonl", '{"_id": 9, "text": "x"}', r'queries\.jsonl, line 4: "_id" is missing'),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}', r"queries\.jsonl, line 4: .*was there before"),
        ("qrels/test.tsv", "q1\tkeys", r"test\.tsv, line 5: 2 columns"),
        ("qrels/test.tsv", "q1\tkeys\tgood", r"test\.tsv, line 5: the score 'good'"),
        ("qrels/test.tsv", "q404\tkeys\t1", r"the query 'q404'"),
        ("corpus.jsonl", '{"_id": "x", "title": "x"}', r'corpus\.jsonl, line 5: "text" is missing'),
        ("corpus.jsonl", '{"_id": "x", "text": "x", "metadata": 3}', r"corpus\.jsonl, line 5: .*metadata"),
        ("corpus.jsonl", '{"_id": "keys", "text": "x"}', r"corpus\.jsonl, line 5: .*was there before"),
    ],
)
def test_a_wrong_line_is_named(write_beir: WriteBeir, name: str, line: str, message: str) -> None:
    folder = write_beir()
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(ConfigurationError, match=message):
        load_beir(folder)
        list(BeirSource(folder).read(None))


def test_nothing_judged_is_an_error(write_beir: WriteBeir) -> None:
    with pytest.raises(ConfigurationError, match="no query has a relevant document"):
        load_beir(write_beir(qrels=[]))


def test_bytes_that_are_no_text(write_beir: WriteBeir) -> None:
    folder = write_beir()
    (folder / "queries.jsonl").write_bytes(b'{"_id": "\xff\xfe"}')
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_beir(folder)


def test_judged_pages_that_the_corpus_lacks_are_counted(write_beir: WriteBeir) -> None:
    dataset = load_beir(write_beir(qrels=[("q1", "keys", "1"), ("q1", "gone", "1"), ("q2", "nowhere", "0")]))
    assert dataset.missing == 1


def test_judgements_of_another_corpus_are_an_error(write_beir: WriteBeir) -> None:
    with pytest.raises(ConfigurationError, match=r"none of the pages.*'7'"):
        load_beir(write_beir(qrels=[("q1", "7", "1"), ("q2", "8", "1")]))


def test_an_empty_query_is_named_with_its_line(write_beir: WriteBeir) -> None:
    with pytest.raises(ConfigurationError, match=r"queries.jsonl, line 2: the text of the query 'q2' is empty"):
        load_beir(write_beir(queries=[{"_id": "q1", "text": "a"}, {"_id": "q2", "text": " "}]))


def test_a_byte_order_mark_is_no_mistake(write_beir: WriteBeir) -> None:
    folder = write_beir()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        path = folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(load_beir(folder).queries) == 2
