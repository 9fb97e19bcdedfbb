"""One Airflow for the whole folder: it is imported once in a process, with the environment that is set then."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lore.orchestration.localrun import LocalAirflow

NOTES = {
    "keys.md": "# Keys\n\nRotate the signing key every ninety days with `lorectl keys rotate`.\n",
    "backups.md": "# Backups\n\nA backup of the database is taken each night at three and kept for a month.\n",
}
DECLARATIONS = {
    "notes.yaml": (
        "kind: files\ntitle: Team notes\ndescription: What we | wrote down\npath: ../notes\n"
        'base_url: https://notes.example.com\nschedule: "30 4 * * *"\nowner: platform\ntags: [handbook]\n'
    ),
    "oversize.yaml": "kind: files\npath: ../notes\nschedule: null\nmax_bytes: 1\nmax_failed_share: 1\n",
    "partly.yaml": "kind: files\npath: ../partly\nmax_failed_share: 0.9\n",
    "misspelt.yaml": "kind: files\npath: ../notes\nshedule: null\n",
    "long_tag.yaml": f"kind: files\npath: ../notes\ntags: [{'x' * 101}]\n",
}


@dataclass(frozen=True)
class Project:
    airflow: LocalAirflow
    folder: Path


@pytest.fixture(scope="package")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The project's own DAG files over a small folder of declarations, two of them broken."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("sources", "notes", "partly", "databases"):
        (folder / name).mkdir()
    (folder / "databases" / "shop.yaml").write_text("title: The shop\nurl_variable: SHOP_URL\napprovers: [Ada]\n")
    (folder / "databases" / "misspelt.yaml").write_text("url_varible: SHOP_URL\n")
    for name, text in DECLARATIONS.items():
        (folder / "sources" / name).write_text(text)
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text)
    (folder / "partly" / "good.md").write_text("# Good\n\nThis one can be read.\n")
    (folder / "partly" / "bad.ipynb").write_text("{ this is no notebook")
    environ = dict(os.environ)
    root = logging.getLogger()
    logging_before = root.level, list(root.handlers)
    try:
        yield Project(
            LocalAirflow.start(
                folder / "airflow",
                {
                    "LORE_SOURCES_DIR": str(folder / "sources"),
                    "LORE_DATABASES_DIR": str(folder / "databases"),
                    "LORE_INDEX_URI": str(folder / "index"),
                    "LORE_RECORDS_URL": f"sqlite:///{folder}/records.db",
                    "LORE_STAGING_URI": str(folder / "staging"),
                },
            ),
            folder,
        )
    finally:
        os.environ.clear()
        os.environ.update(environ)
        root.setLevel(logging_before[0])
        root.handlers[:] = logging_before[1]
