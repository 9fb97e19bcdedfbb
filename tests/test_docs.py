"""The pages say what the code does: settings, keys, commands, links and examples are compared with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml
from lore.cli.app import app
from lore.declarations import KINDS, load_access, load_assistant, load_declaration, load_slack_rules
from lore.declarations.database import load_database
from lore.evaluation.databases.question_file import load_gold_questions
from lore.settings import PREFIX, RESERVED, SETTINGS, VENDOR_NAMES
from typer.core import TyperGroup

from tests.conftest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "include" / "lore"
README_LINES = 200
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose_of(path: Path) -> str:
    """A page without its code blocks: what stands in them is no link and no heading."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def table_row(name: str, text: str) -> list[str] | None:
    """The cells of the table row whose first cell is `name`."""
    row = re.search(rf"^\| `{re.escape(name)}` \|(.*)\|$", text, re.MULTILINE)
    return [cell.strip() for cell in row.group(1).split("|")] if row else None


def anchors_of(path: Path) -> set[str]:
    """The anchors that GitHub gives the page's headings."""
    headings = re.findall(r"^#+ +(.*)$", prose_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """The code blocks of a page that are written in one of these languages."""
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["language"] in languages:
            yield re.sub(rf"^{block['indent']}", "", block["text"], flags=re.MULTILINE)


def examples() -> Iterator[object]:
    """The YAML of all pages, named by page and first line."""
    for page in PAGES:
        for text in blocks(page, "yaml"):
            yield pytest.param(text, id=f"{page_name(page)}: {text.splitlines()[0]}")


def commands() -> Iterator[tuple[Path, str]]:
    """What the pages have a reader type behind `lore`, in blocks and in sentences."""
    for page in PAGES:
        lines = [line.partition("#")[0] for text in blocks(page, "bash", "console", "sh") for line in text.splitlines()]
        lines += re.findall(r"`([^`\n]+)`", prose_of(page))
        for line in lines:
            if found := re.search(r"^(?:.*\s)?lore ([a-z].*)$", line):
                yield page, found[1]


@pytest.mark.parametrize("field", SETTINGS)
def test_every_setting_is_documented_with_its_default(field: str) -> None:
    row = table_row(f"{PREFIX}{field.upper()}", CONFIGURATION)
    assert row, f"{PREFIX}{field.upper()} is not in docs/configuration.md"
    default = SETTINGS[field].info.default
    if default not in (None, ""):
        assert row[0] == f"`{default}`"
    if field in VENDOR_NAMES:
        assert f"`{VENDOR_NAMES[field]}`" in row[1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_source_is_documented(kind: str) -> None:
    section = CONFIGURATION.partition(f"### {kind}\n")[2].partition("\n##")[0]
    common = CONFIGURATION.partition("## Sources\n")[2].partition("\n###")[0]
    for key, field in KINDS[kind].model_fields.items():
        row = table_row(key, section) or table_row(key, common)
        assert row, f"the key `{key}` of {kind} is not in docs/configuration.md"
        if isinstance(field.default, bool | int | float):
            assert row[0] == f"`{str(field.default).lower()}`", key


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_page_names_a_setting_that_does_not_exist(page: Path) -> None:
    known = {f"{PREFIX}{field.upper()}" for field in SETTINGS}
    named = set(re.findall(rf"(?<![A-Z_]){PREFIX}[A-Z_]*[A-Z]", page.read_text(encoding="utf-8")))
    assert {name for name in named if not name.startswith(tuple(prefix.rstrip("_") for prefix in RESERVED))} <= known


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_link_is_broken(page: Path) -> None:
    broken = []
    for target in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        outside = page.parent != ROOT and not file.resolve().is_relative_to(ROOT / "docs")  # not a page of the site
        if outside or not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=page_name)
def test_the_index_of_the_docs_links_every_page(page: Path) -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in LINK.findall(prose_of(index))}
    assert page == index or page in linked


@pytest.mark.parametrize("text", list(examples()))
def test_an_example_in_yaml_can_be_taken_over(text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(text, encoding="utf-8")
    if text.startswith("display_information:"):  # a manifest of a Slack app, for Slack
        assert yaml.safe_load(text)["oauth_config"]["scopes"]["bot"]
    elif "context:" in text:
        assert load_assistant(file).context
    elif "answers:" in text:
        assert load_slack_rules(file).channels
    elif "groups:" in text:
        assert load_access(file).groups
    elif "database: " in text:
        assert load_gold_questions(file).questions
    elif "url_variable:" in text:
        assert load_database(file).policy.rows
    else:
        assert load_declaration(file).id == "example"


def test_commands_in_the_pages_exist_with_their_options() -> None:
    unknown = []
    for page, text in commands():
        command: object = typer.main.get_command(app)
        words = text.split()
        while isinstance(command, TyperGroup) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        named = {word.partition("=")[0] for word in words if re.match("-+[a-z]", word)}
        if (isinstance(command, TyperGroup) and words and not named) or not named <= options:
            unknown.append((page_name(page), text))
    assert unknown == []


def test_every_kind_has_an_example_and_a_line_in_the_readme() -> None:
    assert set(re.findall(r"^ *kind: (\w+)$", CONFIGURATION, re.MULTILINE)) == set(KINDS)
    assert set(re.findall(r"^\| \[`(\w+)`\]", README, re.MULTILINE)) == set(KINDS)


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    assert len(README.splitlines()) <= README_LINES
    assert re.search(r"^make demo\b", README, re.MULTILINE) and re.search(r"^make test\b", README, re.MULTILINE)


def test_every_command_and_option_is_documented() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for name, command in group.commands.items():
        row = next((line for line in COMMANDS.splitlines() if line.startswith(f"| `lore {name}")), "")
        assert row, f"the command {name} is not in docs/cli.md"
        options = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
        assert {option for option in options - {"--json", "--help"} if option not in row} == set(), name


def tree_paths() -> set[Path]:
    """The files and folders in the tree of ARCHITECTURE.md."""
    tree = ARCHITECTURE.partition("## The tree\n\n```\n")[2].partition("\n```")[0]
    found: set[Path] = set()
    parents = [ROOT]
    for line in tree.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        path = parents[depth] / name
        parents[depth + 1 :] = [path]
        found.add(path)
    return found


def test_files_and_folders_that_the_architecture_names_exist() -> None:
    paths = re.findall(r"`([\w./-]+(?:/|\.(?:py|md|yaml|toml)))`", prose_of(ROOT / "ARCHITECTURE.md"))
    named = {path for path in paths if not path.startswith(".lore")}
    missing = [path for path in named if not (ROOT / path).exists() and not (PACKAGE / path).exists()]
    assert (missing, [path for path in tree_paths() if not path.exists()]) == ([], [])


def test_the_tree_of_the_architecture_has_every_package() -> None:
    packages = {path.parent for path in PACKAGE.rglob("__init__.py")}
    shown = {path for path in packages if len(path.relative_to(PACKAGE).parts) <= 2} - {PACKAGE}
    assert shown - tree_paths() == set()


def test_the_glossary_has_every_noun_and_verb() -> None:
    files = [*(PACKAGE / "types").glob("*.py"), PACKAGE / "protocols.py"]
    names = [
        name for file in files for name in re.findall(r"^class ([A-Z]\w+)", file.read_text(encoding="utf-8"), re.M)
    ]
    assert [name for name in names if table_row(name, ARCHITECTURE) is None] == []


def test_the_example_of_an_environment_names_settings() -> None:
    named = re.findall(r"^# (\w+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= {f"{PREFIX}{name.upper()}" for name in SETTINGS} | set(VENDOR_NAMES.values())
