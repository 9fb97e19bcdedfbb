"""Declarations: what is right is typed, and what is wrong is named with file, line, key and remedy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from lore import declarations
from lore.declarations import (
    KINDS,
    Declaration,
    FilesDeclaration,
    GitHubIssuesDeclaration,
    SlackExportDeclaration,
    SlackRules,
    load_declaration,
    load_declarations,
    load_slack_rules,
)
from lore.errors import ConfigurationError, DeclarationError
from pydantic import TypeAdapter, ValidationError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes, name: str = "guide.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_defaults(write, tmp_path):
    declaration = load_declaration(write("kind: files\npath: docs\n"))
    assert isinstance(declaration, FilesDeclaration)
    assert (declaration.id, declaration.title, declaration.schedule) == ("guide", "guide", "@daily")
    assert declaration.audiences == ("public",)
    assert (declaration.max_failed_share, declaration.max_removed_share) == (0.05, 0.5)
    assert declaration.path == tmp_path / "docs"


@pytest.mark.parametrize(
    ("path", "expected"), [("../data", "data"), ("./a/../b", "sub/b"), (".", "sub"), ("/srv/docs", "/srv/docs")]
)
def test_a_path_starts_at_the_declarations_folder(write, tmp_path, monkeypatch, path, expected):
    (tmp_path / "sub").mkdir()
    file = write(f"kind: files\npath: {path}\n", "sub/guide.yaml")
    monkeypatch.chdir(tmp_path)
    assert load_declaration(file).path == tmp_path / expected
    assert load_declaration(file.relative_to(tmp_path)).path == tmp_path / expected


def test_every_kind_with_every_key(write):
    slack = load_declaration(
        write(
            "kind: slack_export\nid: chat\ntitle: Chat\ndescription: What was said\nowner: team\ntags: [a, b]\n"
            "schedule: null\naudiences: [staff]\nmax_failed_share: 0\nmax_removed_share: 1\npath: e.zip\n"
            "channels: [general]\nworkspace_url: https://acme.slack.com/\ninclude_bots: true\n"
        )
    )
    assert isinstance(slack, SlackExportDeclaration)
    assert slack.schedule is None
    assert slack.workspace_url == "https://acme.slack.com"
    github = load_declaration(
        write(
            "kind: github_issues\nrepository: octo/hello.world\nbase_url: https://ghe.example.com/api/v3/\n"
            "state: open\nlabels: [bug]\nsince: 2024-02-01\ninclude_pull_requests: false\n"
        )
    )
    assert isinstance(github, GitHubIssuesDeclaration)
    assert github.base_url == "https://ghe.example.com/api/v3"
    assert f"{github.since}" == "2024-02-01"


def test_declarations_are_frozen_and_a_union(write):
    declaration = load_declaration(write("kind: github_issues\nrepository: octo/demo\n"))
    with pytest.raises(ValidationError):
        declaration.state = "open"
    again = TypeAdapter(Declaration).validate_python(declaration.model_dump())
    assert again == declaration


def test_every_kind_is_registered_once_by_its_own_name():
    defined = {name: value for name, value in vars(declarations).items() if name.endswith("Declaration")}
    defined.pop("Declaration")
    assert set(KINDS.values()) == set(defined.values())
    assert [kind.model_fields["kind"].default for kind in KINDS.values()] == list(KINDS)


@pytest.mark.parametrize(
    "schedule", ["@hourly", "@once", "30 4 * * *", "*/15 0-6,18 1 jan mon-fri", "0 0 1,15 * 7", "5  4\t* * sun"]
)
def test_schedules(write, schedule):
    assert load_declaration(write(f'kind: files\npath: .\nschedule: "{schedule}"\n')).schedule


@pytest.mark.parametrize(
    "schedule",
    [
        "@dayly",
        "daily",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "a b c d e",
        "",
    ],
)
def test_schedules_that_are_none(write, schedule):
    with pytest.raises(DeclarationError, match="line 3: `schedule` is an invalid schedule"):
        load_declaration(write(f'kind: files\npath: .\nschedule: "{schedule}"\n'))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: files\npath: .\n\nexlude: [a]\n", "line 4: unknown key `exlude`. Did you mean `exclude`?"),
        (
            "kind: files\npath: .\nduplicates:\n  prefr: [a]\n",
            "line 4: unknown key `duplicates.prefr`. Did you mean `duplicates.prefer`?",
        ),
        (
            "kind: files\npath: .\nduplicates:\n  variants: [/a/]\n",
            "line 4: `duplicates.variants.0` has 0 groups instead of one",
        ),
        (
            "kind: files\npath: .\nduplicates:\n  variants: /(a/\n",
            "line 4: `duplicates.variants.0` is an invalid regular expression: ",
        ),
        ("kind: files\npath: .\nduplicates: {similarity: null}\n", "line 3: `duplicates` compares nothing"),
        ("kind: files\npath: .\nxyzzy: 1\n", "line 3: unknown key `xyzzy`. Known keys: anchors, audiences, "),
        ("path: .\nkind: fiels\n", "line 2: unknown kind 'fiels'. Did you mean 'files'?"),
        ("kind: [files]\n", "line 1: unknown kind ['files']."),
        ("path: .\n", "line 1: the key `kind` is missing. Known kinds: files, "),
        ("# a\nkind: files\n", "line 1: the key `path` is missing."),
        ("kind: files\npath: .\npath: b\n", "line 3: the key `path` is repeated; the first is on line 2."),
        ("kind: files\npath: .\nid: Not Good\n", "line 3: `id` (by default the file's name) takes a-z, 0-9, _ and -"),
        ("kind: files\npath: ~/docs\n", "line 2: `path` starts with ~, which isn't expanded"),
        ("kind: files\npath: .\ninclude:\n  - ok\n  - 7\n", "line 5: `include.1` should be text"),
        ("kind: files\npath: .\ninclude: '*.md'\n", "line 3: `include` should be a list"),
        ("kind: files\npath: .\naudiences: []\n", "line 3: `audiences`"),
        ("kind: files\npath: .\nmax_failed_share: 1.5\n", "line 3: `max_failed_share` should be 1 or less"),
        ("kind: files\npath: .\nbase_url: docs.example.com\n", "line 3: `base_url` is an invalid web address"),
        ("kind: files\npath: .\nbase_url: https://me:hunter2@x.org\n", "line 3: `base_url` holds a user name"),
        ("kind: files\npath: .\nbase_url: 'http://['\n", "line 3: `base_url`"),
        ("kind: github_issues\nrepository: https://github.com/a/b\n", "line 2: `repository` should be OWNER/NAME"),
        ("kind: github_issues\nrepository: a/..\n", "line 2: `repository` should be OWNER/NAME"),
        ("kind: github_issues\nrepository: a/b\nstate: opened\n", "line 3: `state` should be 'all', 'open' or"),
        ("kind: files\npath: [\n", "line 3: invalid YAML"),
        ("kind: files\npath: .\nschedule: @daily\n", "line 3: invalid YAML: found character '@'"),
        ("kind: files\npath: .\ninclude: [**/*.md]\n", "line 3: invalid YAML"),
        ("kind: files\n---\nkind: files\n", "line 2: invalid YAML"),
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("- kind: files\n", "line 1: is not a mapping"),
        ("files\n", "line 1: is not a mapping"),
        ("1: 2\n", "line 1: is not a mapping"),
        ("kind: !!python/object/apply:os.system ['true']\n", "line 1: invalid YAML"),
        (b"kind: files\npath: \xff\n", "couldn't read it as YAML"),
        (b"kind: files\x00\n", "couldn't read it as YAML"),
        ("[" * 5000, "guide.yaml"),
        ("kind: files\npath: .\nmax_bytes: 0x" + "f" * 20_000, "line 3: `max_bytes` should be 1,000,000,000 or less"),
        ("kind: files\npath: .\ndescription: " + "x" * 300_000, "is larger than"),
        ("x: &x {kind: files}\n<<: *x\npath: .\n", "line 2: invalid YAML: merge keys are unsupported"),
    ],
)
def test_what_is_wrong_is_named(write, text, expected):
    file = write(text)
    with pytest.raises(DeclarationError) as caught:
        load_declaration(file)
    assert str(caught.value).startswith(str(file))
    assert expected in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_all_mistakes_of_a_file_are_named_at_once(write):
    with pytest.raises(
        DeclarationError, match=r"line 2: unknown key `pth`; .*|line 1: .*line 2: unknown key `pth`"
    ) as caught:
        load_declaration(write("kind: files\npth: .\n"))
    assert "the key `path` is missing" in str(caught.value)
    assert "Did you mean `path`?" in str(caught.value)


def test_a_bomb_of_aliases_is_refused_quickly(write):
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 30))
    with pytest.raises(DeclarationError, match="unknown key"):
        load_declaration(write(f"kind: files\npath: .\nl0: &l0 [x]\n{levels}"))


def test_a_bomb_of_merge_keys_is_refused_quickly(write):
    levels = "".join(f"l{n}: &l{n} {{<<: [{', '.join([f'*l{n - 1}'] * 9)}]}}\n" for n in range(1, 30))
    with pytest.raises(DeclarationError, match="merge keys"):
        load_declaration(write(f"l0: &l0 {{k: v}}\n{levels}kind: files\npath: .\n"))


def test_what_is_no_file_is_not_waited_for(write, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yml").mkdir()
    (tmp_path / "link.yaml").symlink_to("nowhere")
    write("kind: files\npath: .\n")
    found = load_declarations(tmp_path)
    assert len(found.valid) == 1
    assert len(found.broken) == 3


def test_a_broken_file_never_hides_the_others(write, tmp_path):
    write("kind: files\npath: .\n", "b.yaml")
    write("kind: files\npath: .\nid: b\n", "c.yml")
    write("kind: nothing\n", "a.yaml")
    write("kind: files\npath: .\n", "d.yaml")
    write("not a declaration", "notes.txt")
    found = load_declarations(tmp_path)
    assert [declaration.id for declaration in found.valid] == ["b", "d"]
    assert ["a.yaml" in str(found.broken[0]), "c.yml" in str(found.broken[1])] == [True, True]
    assert "already declared in b.yaml" in str(found.broken[1])


def test_a_missing_folder_names_the_setting(tmp_path):
    with pytest.raises(ConfigurationError, match="LORE_SOURCES_DIR"):
        load_declarations(tmp_path / "nowhere")


def test_lores_own_pages_are_off_until_their_declaration_is_copied(tmp_path):
    shipped = load_declarations(ROOT / "dags" / "sources")
    assert (shipped.valid, shipped.broken) == ((), ())
    shutil.copy(ROOT / "dags" / "sources" / "lore_docs.yaml.example", tmp_path / "lore_docs.yaml")
    assert load_declaration(tmp_path / "lore_docs.yaml").id == "lore_docs"


WRONG = ["{a: [1]}", "[[]]", "-1.5", "'\\0'", "true", "9e99", "''", "[1, {}]"]
PYDANTIC = ("Input should", "input should", "String should", "valid string", "valid integer", "unable to", "pydantic")


@pytest.mark.parametrize("kind", KINDS)
def test_no_mistake_is_told_in_the_words_of_pydantic(write, kind):
    """Whatever stands where something else should: the sentence is Lore's, and it does not repeat the value."""
    told = 0
    for key in KINDS[kind].model_fields:
        for value in WRONG if key != "kind" else ():
            try:
                load_declaration(write(f"kind: {kind}\n{key}: {value}\n"))
            except DeclarationError as error:
                told += 1
                assert not any(word in error.message for word in PYDANTIC), error.message
                assert f"`{key}" in error.message or "the key `" in error.message, error.message
    assert told > 50


class TestSlackRules:
    """The file about the channels of the Slack bot."""

    def test_a_channel_differs_from_the_others(self, write, tmp_path):
        assert load_slack_rules(tmp_path / "absent.yaml") == SlackRules(answers="thread")
        rules = load_slack_rules(write("answers: mention\nchannels:\n  C1:\n    answers: auto\n  C2: {}\n"))
        assert [rules.answers_in(channel) for channel in ("C1", "C2", "C3")] == ["auto", "mention", "mention"]
        rules = load_slack_rules(write("channels:\n  C1:\n    sources: [docs, help]\n"))
        assert [rules.sources_in(channel) for channel in ("C1", "C2")] == [("docs", "help"), ()]

    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("answers: always\n", ["line 1", "`answers`", "'auto'"]),
            ("channels:\n  C1:\n    anwsers: auto\n", ["line 3", "`channels.C1.anwsers`", "Did you mean `answers`?"]),
            ("answers: auto\nchannels:\n  general:\n    answers: auto\n", ["line 3", "C0123456789"]),
            ("channels: [C1]\n", ["line 1", "`channels`"]),
        ],
    )
    def test_what_is_wrong_is_named_with_its_line(self, write, text, parts):
        with pytest.raises(DeclarationError) as raised:
            load_slack_rules(write(text, "slack.yaml"))
        said = f"{raised.value} {raised.value.remedy}"
        assert all(part in said for part in parts), said
