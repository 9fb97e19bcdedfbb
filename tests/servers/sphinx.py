"""A site that Sphinx made of Airflow's documentation, served from disk.

Sphinx and Lore want different docutils, so `sphinx-build` is a program from an environment of its own: that of `make`
beside this Python, the one on PATH, or the one that LORE_TEST_SPHINX_BUILD names.
"""

from __future__ import annotations

import mimetypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from tests.servers.site import Resource, SiteServer

__all__ = ["build", "find_sphinx", "served"]

DOCS = Path("sources/airflow_docs/airflow-core/docs")
"""Within the shared data."""
CONFIGURATION = """
project = "Airflow"
html_theme = {theme!r}
include_patterns = {include!r}
"""


def find_sphinx() -> str | None:
    """The program that builds, or None."""
    own = Path(sys.prefix) / "sphinx" / "bin" / "sphinx-build"
    given = os.environ.get("LORE_TEST_SPHINX_BUILD") or (str(own) if own.is_file() else None)
    return given or shutil.which("sphinx-build")


def build(program: str, docs: Path, folder: Path, theme: str, include: Sequence[str] = ("**",)) -> Path:
    """Build the pages of `docs` that match `include` in a theme; returns where they are.

    The warnings (links to pages that are left out, directives of extensions that are not there) are not told. What was
    read of the pages is kept in `folder` for another theme.
    """
    configuration = folder / theme
    configuration.mkdir(parents=True)
    (configuration / "conf.py").write_text(CONFIGURATION.format(theme=theme, include=list(include)), encoding="utf-8")
    site = folder / f"{theme}-site"
    command = [program, "-q", "-b", "html", "-c", str(configuration), "-d", str(folder / "read"), str(docs), str(site)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return site


def served(site: Path) -> SiteServer:
    """A server of the pages; a folder's address gives its index.html."""

    def resource(target: str) -> Resource:
        path = site / unquote(target.partition("?")[0]).lstrip("/")
        file = path / "index.html" if path.is_dir() else path
        if not file.is_file() or not file.resolve().is_relative_to(site.resolve()):
            return Resource(b"Not found.", "text/plain", 404, etag=False)
        return Resource(file.read_bytes(), mimetypes.guess_type(file.name)[0] or "text/plain")

    return SiteServer(otherwise=resource)
