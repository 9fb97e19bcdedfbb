"""`lore keys`: a key is printed once, listed without its text, and gone once revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lore.records.records import Records

from tests.cli.conftest import Lore

pytestmark = pytest.mark.xdist_group("cli")


def test_a_key_is_made_listed_and_revoked(lore: Lore, knowledge: Path) -> None:
    made = lore("keys", "create", "Support desk", "--audience", "staff", "--rate", "5")
    [text] = made.stdout.split()
    with Records.open(f"sqlite:///{knowledge}/records.db", str) as records:
        key = records.api_keys().find(text)
        assert key and (key.name, key.audiences, key.rate) == ("Support desk", ("public", "staff"), 5)
        listed = lore("keys", "list")
        assert "Support desk" in listed.stdout and text not in listed.stdout + listed.stderr
        [row] = json.loads(lore("keys", "list", "--json").stdout)["keys"]
        assert (row["id"], row["audiences"]) == (key.id, ["public", "staff"])
        lore("keys", "revoke", key.id)
        assert records.api_keys().find(text) is None
    assert lore("keys", "revoke", key.id).exit_code == 2
    assert json.loads(lore("keys", "create", "Agent", "--json").stdout)["key"].startswith("lore_")


def test_serving_with_keys_needs_records(lore: Lore) -> None:
    refused = lore("serve", "--keys", LORE_RECORDS_URL="none")
    assert (refused.exit_code, "LORE_RECORDS_URL is none" in refused.stderr) == (2, True)
