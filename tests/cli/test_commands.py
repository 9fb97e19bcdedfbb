"""The commands over a small knowledge base: what they print, where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lore.convert import FORMATS

from tests.cli.conftest import Lore, declare

pytestmark = pytest.mark.xdist_group("cli")  # the local model is built once


def parsed(text: str) -> Any:
    return json.loads(text)


class TestSources:
    def test_before_the_first_sync(self, lore: Lore, knowledge: Path) -> None:
        result = lore("sources", "--json")
        assert result.exit_code == 0
        [row] = parsed(result.stdout)["sources"]
        assert (row["id"], row["kind"], row["title"]) == ("handbook", "files", "Handbook")
        assert (row["documents"], row["last_sync"], row["state"]) == (0, None, "never synced")
        assert not (knowledge / "index").exists()  # looking makes nothing

    def test_after_a_sync(self, indexed: Lore) -> None:
        [row] = parsed(indexed("sources", "--json").stdout)["sources"]
        assert (row["documents"], row["state"]) == (3, "ok")
        assert row["last_sync"]
        table = indexed("sources").stdout
        assert "handbook" in table
        assert "Handbook" in table

    def test_pages_that_are_hidden_are_named(self, lore: Lore, knowledge: Path) -> None:
        for language in ("de", "en"):
            (knowledge / "pages" / language).mkdir()
            (knowledge / "pages" / language / "lamp.md").write_text(f"# Lamp ({language})\n")
        rule = "duplicates: {variants: /(en|de)/, prefer: /en/}\n"
        declare(knowledge, "handbook", f"kind: files\npath: ../pages\n{rule}")
        result = lore("sync", "handbook")
        assert "0 failed, 1 hidden as duplicates; " in result.stderr
        assert "  handbook:de/lamp.md is hidden as a duplicate of handbook:en/lamp.md" in result.stderr
        [row] = parsed(lore("sources", "--json").stdout)["sources"]
        named = [{"document_id": "handbook:de/lamp.md", "duplicate_of": "handbook:en/lamp.md"}]
        assert (row["documents"], row["duplicates"]) == (5, {"hidden": 1, "named": named})
        assert "ok, 1 hidden" in lore("sources").stdout
        found = parsed(lore("search", "lamp", "--json").stdout)
        assert "de/lamp" not in json.dumps(found)
        assert "is not shown" not in lore("sync", "handbook").stderr

    def test_a_broken_declaration_is_shown_beside_the_others(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "broken", "kind: files\npaht: ../pages\n")
        result = lore("sources", "--json")
        assert result.exit_code == 2
        listing = parsed(result.stdout)
        assert [row["id"] for row in listing["sources"]] == ["handbook"]
        assert "broken.yaml" in listing["broken"][0]["error"]
        assert "path" in listing["broken"][0]["remedy"]
        assert "broken.yaml" in result.stderr

    def test_a_source_that_is_no_longer_declared(self, lore: Lore, knowledge: Path) -> None:
        assert lore("sync", "--all").exit_code == 0
        (knowledge / "sources" / "handbook.yaml").unlink()
        result = lore("sources", "--json")
        [row] = parsed(result.stdout)["sources"]
        assert (row["id"], row["declared"], row["documents"]) == ("handbook", False, 3)

    def test_no_folder_of_declarations(self, lore: Lore, knowledge: Path) -> None:
        result = lore("sources", LORE_SOURCES_DIR=str(knowledge / "nowhere"))
        assert result.exit_code == 2
        assert "LORE_SOURCES_DIR" in result.stderr


class TestSync:
    def test_twice(self, lore: Lore) -> None:
        first = lore("sync", "handbook", "--json")
        assert first.exit_code == 0
        [report] = parsed(first.stdout)["sources"]
        assert (report["source_id"], report["status"], report["new"]) == ("handbook", "ok", 3)
        [report] = parsed(lore("sync", "--all", "--json").stdout)["sources"]
        assert (report["new"], report["unchanged"], report["embedding_calls"]) == (0, 3, 0)

    def test_an_error_that_all_sources_meet_is_said_once_and_names_each(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "runbook", "kind: files\npath: ../pages\n")
        nobody = {"LORE_EMBEDDER": "openai:text-embedding-3-small", "LORE_OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        result = lore("sync", "--all", LORE_OPENAI_API_KEY="k", LORE_MAX_RETRIES="0", **nobody)
        assert result.exit_code == 1
        told = [line for line in result.stderr.splitlines() if "handbook" in line or "runbook" in line]
        assert told[0] == "handbook: failed."
        assert told[1].startswith("Error: handbook: openai:text-embedding-3-small could not be reached")
        assert told[2:] == ["runbook: failed for the same reason as handbook."]
        assert result.stderr.count("could not be reached") == 1

    def test_errors_of_their_own_are_said_of_each_source(self, lore: Lore, knowledge: Path) -> None:
        for name in ("absent", "gone"):
            declare(knowledge, name, f"kind: files\npath: ../{name}\n")
        result = lore("sync", "--all", "--json")
        assert result.exit_code == 1
        told = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert [("absent" in line, "gone" in line) for line in told] == [(True, False), (False, True)], told
        assert [bool(report.get("error")) for report in parsed(result.stdout)["sources"]] == [True, True, False]

    def test_without_json_the_summary_goes_to_stderr(self, lore: Lore) -> None:
        result = lore("sync", "--all")
        assert result.exit_code == 0
        assert result.stdout == ""
        assert "handbook" in result.stderr
        assert "\x1b" not in result.stderr

    def test_an_unknown_id_names_the_nearest(self, lore: Lore, knowledge: Path) -> None:
        result = lore("sync", "handbok")
        assert result.exit_code == 2
        assert "handbook" in result.stderr
        assert not (knowledge / "index").exists()

    def test_a_source_whose_declaration_is_broken(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "wiki", "kind: files\npaht: ../pages\n")
        result = lore("sync", "wiki")
        assert result.exit_code == 2
        assert "unknown key `paht`" in result.stderr
        assert "correct that file" in result.stderr

    @pytest.mark.parametrize("arguments", [(), ("handbook", "--all")])
    def test_either_ids_or_all(self, lore: Lore, arguments: tuple[str, ...]) -> None:
        result = lore("sync", *arguments)
        assert result.exit_code == 2
        assert "--all" in result.stderr

    def test_a_failing_source_does_not_stop_the_others(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "absent", "kind: files\npath: ../nowhere\n")
        result = lore("sync", "--all", "--json")
        assert result.exit_code == 1
        status = {report["source_id"]: report for report in parsed(result.stdout)["sources"]}
        assert status["absent"]["status"] == "failed"
        assert "nowhere" in status["absent"]["error"]
        assert status["handbook"]["status"] == "ok"
        assert "Traceback" not in result.stderr

    def test_a_broken_declaration_does_not_stop_the_others(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "broken", "kind: filse\n")
        result = lore("sync", "--all", "--json")
        assert result.exit_code == 2
        assert [report["status"] for report in parsed(result.stdout)["sources"]] == ["ok"]
        assert "broken.yaml" in result.stderr

    def test_a_warning_is_visible_and_not_a_failure(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "handbook", "kind: files\npath: ../pages\nmax_failed_share: 0.5\n")
        (knowledge / "pages" / "bad.ipynb").write_text("{ not a notebook", encoding="utf-8")
        result = lore("sync", "--all", "--json")
        assert result.exit_code == 0
        [report] = parsed(result.stdout)["sources"]
        assert report["status"] == "warning"
        assert result.stderr.count("handbook:bad.ipynb") == 1
        assert "1 failed" in lore("sources").stdout

    def test_too_many_failures_are_named(self, lore: Lore, knowledge: Path) -> None:
        for number in range(3):
            (knowledge / "pages" / f"bad{number}.ipynb").write_text("{ not a notebook", encoding="utf-8")
        result = lore("sync", "handbook", "--json")
        assert result.exit_code == 1
        [report] = parsed(result.stdout)["sources"]
        assert (report["status"], report["new"], len(report["failures"])) == ("failed", 3, 3)
        assert [result.stderr.count(f"handbook:bad{number}.ipynb") for number in range(3)] == [1, 1, 1]
        assert "handbook: failed. Documents: 3 new, 0 changed, 0 unchanged, 0 removed, 3 failed; " in result.stderr
        assert "bad0.ipynb" in report["error"]
        assert "failed, more than the allowed share" in lore("sources").stderr

    def test_the_floor_and_how_to_pass_it(self, lore: Lore, knowledge: Path) -> None:
        assert lore("sync", "--all").exit_code == 0
        for name in ("keys.md", "hostile.md"):
            (knowledge / "pages" / name).unlink()
        refused = lore("sync", "--all", "--json")
        assert refused.exit_code == 1
        assert parsed(refused.stdout)["sources"][0]["status"] == "failed"
        forced = lore("sync", "--all", "--force-removals", "--json")
        assert forced.exit_code == 0
        assert parsed(forced.stdout)["sources"][0]["removed"] == 2


class TestConvert:
    def test_prints_markdown(self, lore: Lore, knowledge: Path) -> None:
        page = knowledge / "page.html"
        page.write_text("<html><body><main><h1>Title</h1><p>Some <b>bold</b> text.</p></main></body></html>")
        result = lore("convert", str(page))
        assert result.exit_code == 0
        assert "**bold**" in result.stdout

    def test_a_report_counts_what_is_left_out(self, lore: Lore, knowledge: Path) -> None:
        page = knowledge / "page.html"
        page.write_text("<body><nav>Home Docs</nav><main><h1>Title</h1><p>Some <b>bold</b> text.</p></main></body>")
        lines = lore("convert", str(page), "--report").stdout.split("\n")
        assert [line.split() for line in lines if "navigation" in line or "kept" in line] == [
            ["kept", "29"],
            ["navigation", "9"],
        ]

    def test_files_beside_it_are_put_in_place(self, lore: Lore, knowledge: Path) -> None:
        (knowledge / "limits.csv").write_text("Plan,Jobs\nTeam,5000\n")
        page = knowledge / "limits.rst"
        page.write_text("Limits\n======\n\n.. csv-table::\n   :file: limits.csv\n   :header-rows: 1\n")
        assert "| Team | 5000 |" in lore("convert", str(page)).stdout

    def test_the_format_can_be_said(self, lore: Lore, knowledge: Path) -> None:
        page = knowledge / "page.unknown"
        page.write_text("<p>Some <b>bold</b> text.</p>")
        refused = lore("convert", str(page))
        assert refused.exit_code == 1
        assert "--format" in refused.stderr
        assert "html" in FORMATS
        assert "**bold**" in lore("convert", str(page), "--format", "html").stdout

    def test_what_cannot_be_read(self, lore: Lore, knowledge: Path) -> None:
        assert lore("convert", str(knowledge / "nowhere.md")).exit_code == 2
        result = lore("convert", str(knowledge / "pages" / "keys.md"), "--format", "klingon")
        assert result.exit_code == 2
        assert "markdown" in result.stderr
        folder = lore("convert", str(knowledge / "pages"))
        assert (folder.exit_code, "is not a file" in folder.stderr) == (2, True)
        assert lore("convert", "/dev/zero", "--format", "text").exit_code == 2
        assert "code:python" in lore("convert", str(knowledge / "pages" / "keys.md"), "--format", "pyton").stderr

    def test_a_broken_file_is_a_message(self, lore: Lore, knowledge: Path) -> None:
        (knowledge / "bad.ipynb").write_text("{ not a notebook")
        result = lore("convert", str(knowledge / "bad.ipynb"))
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")


class TestDoctor:
    def test_all_is_well(self, indexed: Lore) -> None:
        result = indexed("doctor", "--json")
        report = parsed(result.stdout)
        status = {check["name"]: check["status"] for check in report["checks"]}
        assert result.exit_code == 0, report
        assert report["ok"] is True
        assert status["embedder"] == status["reranker"] == status["index"] == status["declarations"] == "ok"
        assert status["chat model"] == "skipped"

    def test_problems_say_what_to_do(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "broken", "kind: filse\n")
        result = lore("doctor")
        assert result.exit_code == 1
        assert "PROBLEM  declarations" in result.stdout
        assert "Did you mean 'files'?" in result.stdout
        assert "lore sync --all" in result.stdout  # there is no index yet
        declare(knowledge, "second", "kind: files\n")
        lines = lore("doctor").stdout.splitlines()
        [first] = [number for number, line in enumerate(lines) if line.startswith("PROBLEM  declarations")]
        assert "broken.yaml" in lines[first] and "Did you mean 'files'?" in lines[first]
        assert "second.yaml" in lines[first + 1] and "`path` is missing" in lines[first + 1]
        assert not (knowledge / "index").exists()

    def test_settings_that_no_version_fits_are_told_as_a_sync_tells_them(self, indexed: Lore) -> None:
        told = indexed("sync", "--all", LORE_CHUNK_CHARACTERS="300")
        assert told.exit_code == 2
        result = indexed("doctor", "--json", LORE_CHUNK_CHARACTERS="300")
        assert result.exit_code == 1
        [index] = [check for check in parsed(result.stdout)["checks"] if check["name"] == "index"]
        assert index["status"] == "problem"
        assert index["detail"] in told.stderr
        assert index["remedy"] in told.stderr
        assert "splitter" in index["detail"]
        assert "embedder" not in index["detail"], "that part is the same"

    def test_an_unknown_setting(self, lore: Lore) -> None:
        result = lore("doctor", LORE_EMBEDER="local")
        assert result.exit_code == 1
        assert "LORE_EMBEDDER" in result.stdout


class TestEvaluate:
    def test_a_small_benchmark(self, lore: Lore, tmp_path: Path) -> None:
        folder = tmp_path / "beir"
        (folder / "qrels").mkdir(parents=True)
        pages = {"keys": "Rotate an API key with the command line.", "backup": "Backups are kept for thirty days."}
        rows = [json.dumps({"_id": name, "title": name, "text": text}) for name, text in pages.items()]
        (folder / "corpus.jsonl").write_text("\n".join(rows))
        (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "rotate api key"}))
        (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tkeys\t1\n")
        result = lore("evaluate", "--beir", str(folder), "--json", "--index", str(tmp_path / "kept"))
        assert result.exit_code == 0
        figures = parsed(result.stdout)
        assert list(figures["stages"]) == ["keyword", "vector", "hybrid", "rerank"]
        assert all(stage["ndcg_at_10"] == 1.0 for stage in figures["stages"].values())
        assert figures["index"]["embedded_texts"] == 2
        again = lore("evaluate", "--beir", str(folder), "--stage", "keyword", "--index", str(tmp_path / "kept"))
        assert "0 texts embedded" in again.stdout
        assert "1.000" in again.stdout

    def test_a_wrong_folder(self, lore: Lore, tmp_path: Path) -> None:
        result = lore("evaluate", "--beir", str(tmp_path))
        assert result.exit_code == 2
        assert "corpus.jsonl" in result.stderr
