"""The hostile inputs and Airflow's own documentation, as the files source would hand them over."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lore.convert import convert, format_of, resolve_includes
from lore.convert.markdown.fences import iter_lines
from lore.types import Document

SECONDS = 10
"""Of the processor, for any of these files: what else runs on the machine does not count."""
RAW_RST = re.compile(r"^\s*\.\. [\w:+.-]+::|(?<!`):(?:ref|doc|class|func|mod|meth|py:\w+|envvar):`")


@pytest.fixture(scope="module")
def manifest(shared_data: Path) -> list[dict[str, Any]]:
    listed = json.loads((shared_data / "nasty" / "manifest.json").read_text(encoding="utf-8"))
    return [item for item in listed if item["kind"] != "slack-json"]  # those belong to the Slack source


def load(path: Path) -> Document:
    format_name = format_of(path.name)
    assert format_name, path.name
    return Document(
        id=f"nasty:{path.name}",
        source_id="nasty",
        url="",
        title="",
        text="",
        format=format_name,
        data=path.read_bytes(),
    )


def squeezed(text: str) -> str:
    """The manifest's strings were picked with their line breaks and alignment collapsed to one space."""
    return re.sub(r"\s+", " ", text)


def as_read(expected: str, kind: str) -> str:
    """Strings picked from the source of feeds have that source's tags and entities, which conversion resolves."""
    if kind == "html/feed":
        expected = html.unescape(re.sub(r"<br\s*/?>", " ", expected))
    return squeezed(expected)


def test_hostile_files(shared_data: Path, manifest: list[dict[str, Any]]) -> None:
    assert len(manifest) > 30
    missing: list[tuple[str, str]] = []
    for item in manifest:
        document = load(shared_data / "nasty" / item["file"])
        start = time.process_time()
        page = convert(document)
        assert time.process_time() - start <= SECONDS, item["file"]
        text = squeezed(page.text)
        missing += [
            (item["file"], expected) for expected in item["must_contain"] if as_read(expected, item["kind"]) not in text
        ]
        assert not [bad for bad in item["must_not_contain"] if squeezed(bad) in text], item["file"]
    assert missing == []


def rst_documents(folder: Path) -> Iterator[tuple[str, Document]]:
    def read(place: str) -> str | None:
        file = folder / place
        return file.read_text(encoding="utf-8") if file.is_file() else None

    for file in sorted(folder.rglob("*.rst")):
        place = file.relative_to(folder).as_posix()
        text = resolve_includes(file.read_text(encoding="utf-8"), place, read)
        yield place, Document(id=f"airflow:{place}", source_id="airflow", url="", title="", text=text, format="rst")


@pytest.mark.slow
def test_airflows_documentation(shared_data: Path) -> None:
    count = 0
    for place, document in rst_documents(shared_data / "sources" / "airflow_docs"):
        page = convert(document)
        raw = [line.text for line in iter_lines(page.text) if not line.code and RAW_RST.search(line.text)]
        assert not raw, (place, raw)
        assert page.title, place
        assert "or more contributor license agreements" not in page.text, place
        count += 1
    assert count == 138
