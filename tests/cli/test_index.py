"""`lore index`: from one version to the next and back, and what the commands say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lore.stores.lancedb.versions import LanceVersions
from lore.types import EmbeddedDocument

from tests.cli.conftest import Lore

pytestmark = pytest.mark.xdist_group("cli")  # the local model is built once

QUESTIONS = """
- question: How do I rotate an API key?
  pages: [handbook:keys.md]
- question: How long does the old key work?
  pages: [handbook:keys.md]
- question: How long are nightly backups kept?
  pages: [handbook:backup.md]
- question: Who can restore a backup?
  pages: [handbook:backup.md]
- question: Which animal escapes red?
  pages: [handbook:hostile.md]
"""


def versions(lore: Lore) -> dict[int, dict[str, Any]]:
    listed = lore("index", "list", "--json")
    assert listed.exit_code == 0
    return {version["number"]: version for version in json.loads(listed.stdout)["versions"]}


def roles(lore: Lore) -> dict[int, str]:
    return {number: version["role"] for number, version in versions(lore).items()}


@pytest.fixture
def questions(knowledge: Path) -> str:
    (knowledge / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    return str(knowledge / "questions.yaml")


@pytest.fixture
def synced(lore: Lore) -> Lore:
    assert lore("sync", "--all").exit_code == 0
    return lore


def test_without_an_index_there_is_nothing_to_version(lore: Lore, knowledge: Path) -> None:
    listed = lore("index", "list")
    assert listed.exit_code == 0 and "lore sync --all" in listed.stderr
    for arguments in (("build",), ("show", "1"), ("promote", "1"), ("rollback",)):
        refused = lore("index", *arguments)
        assert refused.exit_code in (1, 2), arguments
        assert "lore" in refused.stderr
    assert lore("index", "prune").exit_code == 0
    assert not (knowledge / "index" / "manifest.json").exists()


def test_a_version_goes_from_build_to_live_and_back(synced: Lore, questions: str) -> None:
    built = synced("index", "build", "--chunk-characters", "300")
    assert built.exit_code == 0 and "lore index promote 2 --questions FILE" in built.stderr
    assert "3 documents written" in built.stderr
    assert roles(synced) == {1: "live", 2: "candidate"}
    assert versions(synced)[2]["now"]["behind"] == 0

    refused = synced("index", "promote", "2")
    assert refused.exit_code == 2 and "--questions" in refused.stderr
    promoted = synced("index", "promote", "2", "--questions", questions)
    assert promoted.exit_code == 0, promoted.stdout + promoted.stderr
    assert "Accepted" in promoted.stdout and "Version 2 is live" in promoted.stderr
    assert "set LORE_CHUNK_CHARACTERS=300." in promoted.stderr, "the settings are still those of version 1"
    assert "LORE_EMBEDDER" not in promoted.stderr, "what is right already is not named"
    assert roles(synced) == {1: "previous", 2: "live"}
    assert versions(synced)[2]["scores"]["decision"] == "accepted"
    again = synced("index", "promote", "2", "--force")
    assert again.exit_code == 2 and "already live" in again.stderr

    judged = synced("index", "judge", "2", "--questions", questions)
    assert judged.exit_code == 2 and "already live" in judged.stderr and "lore index list" in judged.stderr

    back = synced("index", "rollback", LORE_CHUNK_CHARACTERS="300")
    assert back.exit_code == 0 and "Version 1 is live again" in back.stderr
    assert "unset LORE_CHUNK_CHARACTERS." in back.stderr
    assert roles(synced) == {1: "live", 2: "previous"}
    shown = synced("index", "show", "2")
    for part in ("2 (previous)", "markdown", "300", "all-MiniLM", "accepted", "3 documents"):
        assert part in shown.stdout
    lines = dict(re.split(r"  +", line, maxsplit=1) for line in shown.stdout.splitlines())
    assert lines["nDCG@10"] == lines["nDCG@10, live"] == "1.0000"
    assert lines["bounds"] == "0.0000 to 0.0000" and lines["judged against"] == "1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", lines["judged at"])
    assert synced("index", "show", "9").exit_code == 2


def test_syncs_keep_both_versions_up_to_date(synced: Lore, knowledge: Path) -> None:
    assert synced("index", "build", "--chunk-characters", "300").exit_code == 0
    (knowledge / "pages" / "keys.md").write_text("# API keys\n\nAsk the yak to rotate it.\n")
    (knowledge / "pages" / "backup.md").unlink()
    assert synced("sync", "--all").exit_code == 0
    held = versions(synced)
    assert {number: version["now"] for number, version in held.items()} == {
        number: {"documents": 2, "chunks": 2, "behind": 0} for number in (1, 2)
    }
    assert synced("index", "promote", "2", "--force").exit_code == 0
    for settings in ({}, {"LORE_CHUNK_CHARACTERS": "300"}):
        hits = json.loads(synced("search", "yak", "--json", **settings).stdout)["hits"]
        assert hits[0]["text"].endswith("Ask the yak to rotate it.")
        assert synced("sync", "--all", **settings).exit_code == 0


def test_settings_that_fit_no_version_name_the_command(synced: Lore, knowledge: Path) -> None:
    refused = synced("sync", "--all", LORE_CHUNK_CHARACTERS="300")
    assert refused.exit_code == 2
    for part in ("markdown", "300", "Nothing was written", "lore index build"):
        assert part in refused.stderr
    assert synced("index", "build", LORE_CHUNK_CHARACTERS="300").exit_code == 0
    refused = synced("sync", "--all", LORE_CHUNK_CHARACTERS="300")
    assert refused.exit_code == 2 and "lore index promote 2" in refused.stderr
    same = synced("index", "build")
    assert same.exit_code == 2 and "--new" in same.stderr
    again = synced("index", "build", LORE_CHUNK_CHARACTERS="300")
    assert again.exit_code == 0 and "0 documents written" in again.stderr, "the candidate is brought up to date"
    asked = synced("index", "build", LORE_CHUNK_CHARACTERS="300", LORE_QUESTIONS=str(knowledge / "questions.yaml"))
    assert asked.exit_code == 0 and "lore index promote 2\n" in asked.stderr, "the questions are named already"
    assert synced("index", "build", "--new").exit_code == 0
    assert roles(synced) == {1: "live", 2: "candidate", 3: "candidate"}


def test_the_gate_stops_what_it_cannot_vouch_for(synced: Lore, questions: str, knowledge: Path) -> None:
    assert synced("index", "build", "--chunk-characters", "300").exit_code == 0
    few = knowledge / "few.yaml"
    few.write_text("- question: How do I rotate an API key?\n  pages: [handbook:keys.md]\n")
    refused = synced("index", "promote", "2", "--questions", str(few))
    assert refused.exit_code == 2 and "questions" in refused.stderr
    lame = synced("index", "judge", "2", "--questions", questions, "--json")
    assert lame.exit_code == 0
    verdict = json.loads(lame.stdout)
    assert (verdict["decision"], len(verdict["outcomes"])) == ("accepted", 5)
    assert roles(synced) == {1: "live", 2: "candidate"}


def spoil(index: Path, number: int) -> None:
    """Take the passages out of a version, as a splitter with a bug would."""
    store = LanceVersions(str(index)).open(number)
    for document in list(store.documents()):
        empty = EmbeddedDocument(
            document, store.document_fingerprints()[document.id], (), np.zeros((0, 384), np.float32)
        )
        assert store.replace_chunks([empty]) == 1


def test_a_worse_version_is_refused_unless_it_is_forced(synced: Lore, questions: str, knowledge: Path) -> None:
    assert synced("index", "build", "--chunk-characters", "300").exit_code == 0
    spoil(knowledge / "index", 2)
    judged = synced("index", "judge", "2", "--questions", questions)
    assert judged.exit_code == 1 and "Refused" in judged.stdout
    assert "Worse: 5 of 5 questions" in judged.stdout and "Which animal escapes red?" in judged.stdout
    refused = synced("index", "promote", "2", LORE_QUESTIONS=questions)
    assert refused.exit_code == 1 and "Refused" in refused.stdout and "nothing was changed" in refused.stderr
    assert roles(synced) == {1: "live", 2: "candidate"}
    assert synced("index", "promote", "2", "--questions", questions, "--force").exit_code == 0
    assert roles(synced) == {1: "previous", 2: "live"}
    assert synced("index", "rollback").exit_code == 0
    assert versions(synced)[2]["scores"]["decision"] == "refused"


def test_pruning_keeps_the_live_version_and_the_last(synced: Lore) -> None:
    for budget in ("300", "400", "500"):
        assert synced("index", "build", "--chunk-characters", budget).exit_code == 0
    for number in ("2", "3"):
        assert synced("index", "promote", number, "--force").exit_code == 0
    assert roles(synced) == {1: "old", 2: "previous", 3: "live", 4: "candidate"}
    pruned = synced("index", "prune", "--json")
    assert json.loads(pruned.stdout) == {"removed": [1]}
    assert "4 (candidate)" in pruned.stderr
    assert "Kept for a rollback: 2." in pruned.stderr and "lore index prune 2" in pruned.stderr
    refused = synced("index", "prune", "3", "4")
    assert refused.exit_code == 2 and roles(synced) == {2: "previous", 3: "live", 4: "candidate"}
    assert synced("index", "prune", "4", "2").exit_code == 0
    assert roles(synced) == {3: "live"}
    nowhere = synced("index", "rollback")
    assert nowhere.exit_code == 2 and "nothing to roll back to" in nowhere.stderr
