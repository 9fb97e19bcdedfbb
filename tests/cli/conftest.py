"""A knowledge base of two pages, indexed once with the local model, and `lore` run inside this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lore.cli.app import app
from typer.testing import CliRunner, Result

Lore = Callable[..., Result]

PAGES = {
    "keys.md": "# API keys\n\n## Rotation\n\nRotate an API key with `keys rotate`; the old key works for one hour.\n",
    "backup.md": "# Backups\n\nNightly backups are kept for thirty days and can be restored by an operator.\n",
    "hostile.md": (
        "# [bold]Evil[/bold] \u202etxt\n\n"
        "A zebra escapes \x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link, [red]x[/].\n"
    ),
}


def environment(folder: Path, cache: Path) -> dict[str, str]:
    """Settings of a knowledge base in `folder`; keys of the machine are taken away."""
    inherited = {name: "" for name in os.environ if name.startswith("LORE_") and not name.startswith("LORE_TEST_")}
    return inherited | {
        "OPENAI_API_KEY": "",
        "COHERE_API_KEY": "",
        "GITHUB_TOKEN": "",
        "NO_COLOR": "1",
        "LORE_SOURCES_DIR": str(folder / "sources"),
        "LORE_INDEX_URI": str(folder / "index"),
        "LORE_STAGING_URI": str(folder / "staging"),
        "LORE_CACHE_DIR": str(cache),
        "LORE_RECORDS_URL": f"sqlite:///{folder}/records.db",
    }


def write_knowledge(folder: Path) -> None:
    for name, text in PAGES.items():
        (folder / "pages").mkdir(parents=True, exist_ok=True)
        (folder / "pages" / name).write_text(text, encoding="utf-8")
    declare(folder, "handbook", "kind: files\ntitle: Handbook\npath: ../pages\nbase_url: https://docs.example.com\n")


def declare(folder: Path, name: str, text: str) -> None:
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    (folder / "sources" / f"{name}.yaml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def cache(model_cache: Path) -> Path:
    """The cache folder of all tests here, with the local model's graph."""
    return model_cache


@pytest.fixture
def knowledge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A declared knowledge base that is not indexed yet; the working directory holds no .env."""
    monkeypatch.chdir(tmp_path)
    write_knowledge(tmp_path)
    return tmp_path


@pytest.fixture
def lore(knowledge: Path, cache: Path) -> Lore:
    """`lore(*arguments, **settings)` over the knowledge base."""

    def run(*arguments: str, **settings: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), env=environment(knowledge, cache) | settings)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Lore:
    """`lore(*arguments)` over a knowledge base that is indexed already, for commands that only read."""
    folder = tmp_path_factory.mktemp("indexed")
    write_knowledge(folder)

    def run(*arguments: str, stdin: str | None = None, **settings: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), input=stdin, env=environment(folder, cache) | settings)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    synced = run("sync", "--all")
    assert synced.exit_code == 0, synced.output
    return run
