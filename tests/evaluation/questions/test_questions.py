"""Reading a question set: what fits, and what each mistake in a hostile or careless file is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.evaluation.questions.question_set import JudgedQuestion, load_questions

WriteBeir = Callable[..., Path]
WriteSet = Callable[[str], Path]


@pytest.fixture
def write_set(tmp_path: Path) -> WriteSet:
    def write(text: str) -> Path:
        path = tmp_path / "questions.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_list_of_pages_and_graded_pages(write_set: WriteSet) -> None:
    path = write_set(
        """
- question: "  How do I rotate a key? "
  pages: ["docs:keys.md", "https://docs.example.com/keys#rotate"]
- id: drill
  question: How long did the drill take?
  pages: {"docs:drills.md": 3, "docs:backup.md": 1}
  sources: [docs]
  audiences: [sre, public]
  must_mention: [23 minutes]
  tags: [demo]
"""
    )
    loaded = load_questions(path)
    assert loaded.name == "questions.yaml"
    assert loaded.questions == (
        JudgedQuestion("q1", "How do I rotate a key?", {"docs:keys.md": 1, "https://docs.example.com/keys#rotate": 1}),
        JudgedQuestion(
            "drill",
            "How long did the drill take?",
            {"docs:drills.md": 3, "docs:backup.md": 1},
            sources=("docs",),
            audiences=("sre", "public"),
            must_mention=("23 minutes",),
            tags=("demo",),
        ),
    )
    asked = loaded.questions[1].asked()
    assert (asked.text, asked.sources, asked.audiences) == (
        "How long did the drill take?",
        ("docs",),
        ("sre", "public"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("[]", "is empty"),
        ("# only a comment", "is empty"),
        ("question: x", "is not a list of questions"),
        ("just words", "is not a list of questions"),
        ("- just words", "line 1: is no question"),
        ("- question: x", "line 1: the key `pages` is missing"),
        ("- pages: [a]", "line 1: the key `question` is missing"),
        ("- question: x\n  unanswerable: false", "line 1: the key `pages` is missing"),
        ("- question: x\n  pages: [a]\n  unanswerable: true", "line 1: `unanswerable` means .* leave out `pages`"),
        ("- question: x\n  reference: b\n  unanswerable: true", "line 1: .* leave out `reference`"),
        ("- question: x\n  unanswerable: maybe", "line 2: `unanswerable`: .*boolean"),
        ("- question: x\n  pages: [a]\n  reference: ' '", "line 3: `reference` is empty"),
        ("- question: x\n  pages: [a]\n  draft: true", "all of its questions are drafts"),
        ("- question: x\n  pages: []", "line 2: `pages`: .*at least 1"),
        ("- question: x\n  pages: a", "line 2: `pages` should be a list of pages, or pages with grades"),
        ("- question: x\n  pages: [1]", "line 2: `pages` should hold texts only"),
        ("- question: x\n  pages: [[a]]", "line 2: `pages` should hold texts only"),
        ("- question: x\n  pages: [a, b, a]", "line 2: `pages` names 'a' twice"),
        ("- question: x\n  pages: {a: 0}", r"line 2: `pages` \(a\)"),
        ("- question: x\n  pages: {a: 4}", r"line 2: `pages` \(a\)"),
        ("- question: x\n  pages: {a: true}", r"line 2: `pages` \(a\)"),
        ("- question: x\n  pages: {a: 1.5}", r"line 2: `pages` \(a\)"),
        ("- question: x\n  pages: {a: }", r"line 2: `pages` \(a\)"),
        ("- question: x\n  pages: {a: 1, a: 2}", "line 2: `a` is repeated"),
        ("- question: x\n  pages: ['  ']", "line 2: `pages` is empty"),
        ("- question: ' '\n  pages: [a]", "line 1: `question` is empty"),
        ("- question: 2026-01-01\n  pages: [a]", "line 1: `question`"),
        ("- question: [x]\n  pages: [a]", "line 1: `question`"),
        ('- question: "a\\e[31mb"\n  pages: [a]', "line 1: `question` holds control characters"),
        ('- question: x\n  pages: ["a\\0"]', "line 2: `pages` holds control characters"),
        ("- question: a\x07b\n  pages: [a]", "couldn't read it as YAML"),
        ("- question: x\n  page: [a]\n  pages: [a]", r"line 2: unknown key `page` \(did you mean `pages`\?\)"),
        ("- question: x\n  pages: [a]\n  zzz: 1", r"line 3: unknown key `zzz` \(known keys: id, question"),
        ("- question: x\n  pages: [a]\n  sources: docs", "line 3: `sources` should be a list"),
        ("- question: x\n  pages: [a]\n  audiences: []", "line 3: `audiences`"),
        ("- question: x\n  question: y\n  pages: [a]", "line 2: `question` is repeated; the first is on line 1"),
        ("- question: What? now\n  pages: [a]\n- question: what?  NOW\n  pages: [b]", "line 3: this question is here"),
        ("- {id: k, question: x, pages: [a]}\n- {id: k, question: y, pages: [a]}", "line 2: the id 'k' is here twice"),
        ("- {id: q2, question: x, pages: [a]}\n- {question: y, pages: [a]}", "line 2: the id 'q2' is here twice"),
        ("- question: x\n  pages: [a", "line 2: invalid YAML"),
        ("- question: @x\n  pages: [a]", "line 1: invalid YAML"),
        ("- question: !!python/object/apply:os.system [echo]\n  pages: [a]", "line 1: invalid YAML"),
        ("- ? [a]\n  : b", "line 1: invalid YAML"),
        ("- 1: x", "line 1: "),
        ("---\n- question: x\n  pages: [a]\n---\n- b", "invalid YAML"),
        ("- question: x\n  pages: &p [a]\n- question: y\n  pages: *p", "line 4: invalid YAML: aliases are not read"),
        (f"- question: {'x' * 10_001}\n  pages: [a]", "line 1: `question`: .*10000 characters"),
        (f"- question: x\n  pages: [{'a' * 2_001}]", "line 2: `pages`"),
        ("[" * 1_200, "couldn't read it as YAML"),
        ("- question: 2026-99-99\n  pages: [a]", "couldn't read it as YAML"),
    ],
)
def test_a_mistake_is_named_with_its_place(write_set: WriteSet, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_questions(write_set(text))
    assert "questions.yaml" in caught.value.message
    assert caught.value.remedy


def test_a_few_lines_that_stand_for_billions(write_set: WriteSet) -> None:
    laughs = ["- &a0 [lol, lol]", *(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))]
    with pytest.raises(ConfigurationError, match="aliases are not read"):
        load_questions(write_set("\n".join(laughs)))


def test_a_huge_file_is_not_read(write_set: WriteSet) -> None:
    with pytest.raises(ConfigurationError, match="is larger than 1,048,576 bytes"):
        load_questions(write_set("- question: x\n  pages: [a]\n" + "#" * 1_048_576))


def test_all_mistakes_are_told_up_to_five(write_set: WriteSet) -> None:
    with pytest.raises(ConfigurationError, match=r"line 1: .*line 5: .*; and 4 more"):
        load_questions(write_set("- wrong\n" * 9))


def test_the_same_question_of_other_sources_is_another_question(write_set: WriteSet) -> None:
    path = write_set("- {question: x, pages: [a], sources: [docs]}\n- {question: x, pages: [b], sources: [wiki]}")
    assert [question.sources for question in load_questions(path).questions] == [("docs",), ("wiki",)]


def test_a_file_that_is_not_there_and_one_that_is_not_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.yaml: there is no such file"):
        load_questions(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("- question: Größe".encode("latin-1"))
    with pytest.raises(ConfigurationError, match="couldn't read it as YAML"):
        load_questions(tmp_path / "latin.yaml")


def test_a_beir_folder_needs_no_corpus(write_beir: WriteBeir) -> None:
    folder = write_beir(qrels=[("q1", "keys", "1"), ("q2", "backup", "2"), ("q2", "scale", "0"), ("q3", "x", "-1")])
    (folder / "corpus.jsonl").unlink()
    loaded = load_questions(folder)
    assert loaded.name == "tiny"
    assert loaded.questions == (
        JudgedQuestion("q1", "rotate api key", {"keys": 1}),
        JudgedQuestion("q2", "how long are backups kept", {"backup": 2}),
    )


def test_a_folder_that_is_no_benchmark(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"queries\.jsonl does not exist"):
        load_questions(tmp_path)


def test_drafts_are_left_out_and_counted_and_an_unanswerable_question_has_no_pages(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text(
        "- question: a\n  pages: [p]\n  reference: The answer.\n- question: b\n  unanswerable: true\n"
        "- question: c\n  pages: [p]\n  draft: true\n",
        encoding="utf-8",
    )
    loaded = load_questions(file)
    assert [question.text for question in loaded.questions] == ["a", "b"]
    assert loaded.drafts == 1
    assert loaded.questions[0].reference == "The answer."
    assert loaded.questions[1].unanswerable and not loaded.questions[1].pages
