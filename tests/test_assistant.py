"""What a team says of its assistant: read from a file, checked key by key."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.declarations import load_assistant
from lore.errors import DeclarationError
from lore.query.understand.filters import SearchableSource
from lore.settings import Settings
from lore.wiring.query import make_context, searchable_sources

from tests.conftest import ROOT
from tests.fakes import FakeEmbedder

GOOD = "name: Desk\ncontext: |\n  The book: https://book.example.com.\nsuggested_questions: [Where]\n"


def write(folder: Path, text: str) -> Path:
    file = folder / "assistant.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_is_read(tmp_path: Path) -> None:
    assistant = load_assistant(write(tmp_path, GOOD))
    assert assistant is not None
    assert (assistant.name, assistant.context) == ("Desk", "The book: https://book.example.com.")
    assert assistant.suggested_questions == ("Where",)


def test_no_file_is_no_assistant(tmp_path: Path) -> None:
    assert load_assistant(tmp_path / "absent.yaml") is None


def test_the_one_of_the_example_is_valid() -> None:
    assistant = load_assistant(ROOT / "examples" / "assistant.yaml")
    assert assistant is not None
    assert assistant.suggested_questions


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        (GOOD + "contxt: more\n", "line 5: unknown key `contxt`", "Did you mean `context`?"),
        ("name: Desk\n", "line 1: the key `context` is missing", ""),
        ("name: Desk\ncontext: '   '\n", "line 2: `context`", ""),
        (f"name: Desk\ncontext: {'long ' * 900}\n", "line 2: `context` should have at most 4000 characters", ""),
        (f"name: {'x' * 201}\ncontext: a\n", "line 1: `name`", ""),
        ("name: Desk\ncontext: a\nsuggested_questions:\n- b\n- ''\n", "line 5: `suggested_questions.1`", ""),
        ("name: Desk\ncontext: a\nsuggested_questions: one\n", "`suggested_questions` should be a list", ""),
        ("name: Desk\ncontext: [a]\n", "line 2: `context`", ""),
        ("name: Desk\nname: Other\ncontext: a\n", "line 2: the key `name` is repeated", ""),
        ("- name\n", "is not a mapping", "Write `name"),
        ("", "is empty", "at least `name`"),
        ("name: [\n", "invalid YAML", ""),
        ("a: &a [x]\n<<: {name: b}\n", "merge keys are unsupported", ""),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, said: str, remedy: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(DeclarationError) as caught:
        load_assistant(file)
    assert said in caught.value.message
    assert remedy in caught.value.remedy
    assert str(file) in caught.value.message


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="is not a file"):
        load_assistant(tmp_path)


def test_the_planner_is_told_of_it_and_of_the_declared_sources(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "chat.yaml").write_text(
        "kind: slack_export\ntitle: Chat\npath: .\nchannels: ['#help', news]\naudiences: [ops]\n"
    )
    (sources / "broken.yaml").write_text("kind: nothing\n")
    settings = Settings.of(sources_dir=sources, assistant=write(tmp_path, GOOD))
    assert searchable_sources(settings) == (
        SearchableSource("chat", "slack_export", "Chat", ("help", "news"), ("ops",)),
    )
    context = make_context(settings, FakeEmbedder())
    assert context is not None
    assert (context.name, context.passage.chunk.document_id) == ("Desk", "assistant:assistant.yaml")


def test_without_files_it_is_told_nothing(tmp_path: Path) -> None:
    settings = Settings.of(sources_dir=tmp_path / "none", assistant=tmp_path / "none.yaml")
    assert searchable_sources(settings) == ()
    assert make_context(settings, FakeEmbedder()) is None
