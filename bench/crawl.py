"""How fast a documentation site is crawled: Airflow's pages, made by Sphinx, from a server on this machine, no pauses.

    python -m bench.crawl [--theme classic]

Prints JSON: pages a minute of a first read and of one where nothing changed, and the ten lines that passages have most
often, among which nothing may be that stands around the text of each page. Needs `sphinx-build` (`make sphinx`) and
Airflow's documentation, in a folder that LORE_TEST_SHARED_DATA names or beside the project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lore.convert import convert
from lore.declarations import SiteDeclaration
from lore.ingest.split.splitter import MarkdownSplitter
from lore.sources.site.source import SiteSource
from lore.types import Batch

from bench.stopwatch import seconds
from tests.servers.site import SiteServer
from tests.servers.sphinx import DOCS, build, find_sphinx, served

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Print the figures; ends the process with a message where what it needs is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theme", default="classic", help="one of those that Sphinx has")
    arguments = parser.parse_args()
    program = find_sphinx()
    docs = Path(os.environ.get("LORE_TEST_SHARED_DATA") or DEFAULT) / DOCS
    if program is None or not docs.is_dir():
        sys.exit("This bench needs sphinx-build (`make sphinx`) and Airflow's documentation (LORE_TEST_SHARED_DATA).")
    with tempfile.TemporaryDirectory() as folder:
        site = build(program, docs, Path(folder), arguments.theme)
        with served(site) as server:
            json.dump({"theme": arguments.theme, **measure(server)}, sys.stdout, indent=2)
    print()


def measure(server: SiteServer) -> dict[str, Any]:
    """The figures of a first read and of a second one."""
    declared = {"id": "docs", "url": server.url, "allow_hosts": ["127.0.0.1"], "delay_seconds": 0}
    source = SiteSource(SiteDeclaration.model_validate(declared))
    batches: list[Batch] = []
    first = seconds(lambda: batches.extend(source.read(None)))
    pages, asked = sum(len(batch.documents) for batch in batches), len(server.requests)
    cursor = batches[-1].cursor
    again: list[Batch] = []
    second = seconds(lambda: again.extend(source.read(cursor)))
    return {
        "pages": pages,
        "calls": asked,
        "seconds": round(first, 2),
        "pages_per_minute": round(60 * pages / first),
        "unchanged_seconds": round(second, 2),
        "unchanged_bodies": sum(request.status == 200 for request in server.requests[asked:]),
        "repeated_lines": repeated_lines(batches),
    }


def repeated_lines(batches: Sequence[Batch]) -> dict[str, int]:
    """The ten lines that the passages of these documents have most often, and how often."""
    splitter, lines = MarkdownSplitter(800), Counter[str]()
    for document in (document for batch in batches for document in batch.documents):
        for chunk in splitter.split(convert(document)):
            lines.update({line.strip(" *#-|") for line in chunk.text.splitlines()} - {""})
    return dict(lines.most_common(10))


if __name__ == "__main__":
    main()
