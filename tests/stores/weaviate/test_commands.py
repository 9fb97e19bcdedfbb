"""Commands over an index on a real server: sync, ask, build, promote, roll back, export and import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lore.cli.app import app
from typer.testing import CliRunner

from tests.cli.conftest import environment, write_knowledge
from tests.servers.weaviate import Address, remove

pytestmark = pytest.mark.xdist_group("weaviate")


class Lore:
    """`lore` over a knowledge base of three pages with its index on the server."""

    def __init__(self, folder: Path, cache: Path, address: Address) -> None:
        self.settings = environment(folder, cache) | {
            "LORE_STORE": "weaviate",
            "LORE_WEAVIATE_URL": address.url,
            "LORE_WEAVIATE_GRPC_PORT": str(address.grpc_port),
            "LORE_WEAVIATE_API_KEY": address.api_key,
            "LORE_WEAVIATE_PREFIX": address.prefix,
        }

    def __call__(self, *arguments: str, **settings: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, [*arguments, "--json"], env=self.settings | settings)
        assert result.exit_code == 0, result.output
        answer: dict[str, Any] = json.loads(result.stdout)
        return answer

    def found(self, question: str, **settings: str) -> str:
        return self("search", question, **settings)["hits"][0]["text"]


@pytest.mark.slow
def test_a_day_with_an_index_on_a_server(
    tmp_path: Path, model_cache: Path, weaviate_index: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_knowledge(tmp_path)
    lore = Lore(tmp_path, model_cache, weaviate_index)
    [first] = lore("sync", "--all")["sources"]
    assert (first["new"], first["status"]) == (3, "ok")
    assert lore("ask", "How do I rotate an API key?")["found"]
    other_layout = lore.settings | {"LORE_WEAVIATE_VECTOR_INDEX": "flat"}
    examined = CliRunner().invoke(app, ["doctor"], env=other_layout)
    assert (examined.exit_code, "vector index is hnsw, not flat" in examined.stdout) == (1, True), examined.output
    assert CliRunner().invoke(app, ["sync", "--all"], env=other_layout).exit_code != 0

    built = lore("index", "build", "--chunk-characters", "300")
    assert built["version"]["role"] == "candidate"
    (tmp_path / "pages" / "keys.md").write_text("# API keys\n\nAsk the yak to rotate it.\n", encoding="utf-8")
    [second] = lore("sync", "--all")["sources"]
    assert (second["changed"], second["reason"]) == (1, "")
    CliRunner().invoke(app, ["index", "promote", "2", "--force"], env=lore.settings)
    listed = lore("index", "list")["versions"]
    assert [(version["role"], version["now"]["behind"]) for version in listed] == [("previous", 0), ("live", 0)]
    assert "yak" in lore.found("yak")
    assert lore("index", "rollback")["role"] == "live"

    file = tmp_path / "baseline.parquet"
    assert lore("export", str(file))["documents"] == 3
    elsewhere = weaviate_index.but(prefix=f"{weaviate_index.prefix}Elsewhere_")
    try:
        other = {"LORE_WEAVIATE_PREFIX": elsewhere.prefix}
        report = lore("import", str(file), **other)
        assert (report["written"], report["embedded_texts"]) == (3, 0)
        assert lore.found("yak", **other) == lore.found("yak")
        [again] = lore("sync", "--all", **other)["sources"]
        assert (again["unchanged"], again["embedded_texts"]) == (3, 0)
    finally:
        remove(elsewhere)
    assert lore("index", "prune", "2")["removed"] == [2]
