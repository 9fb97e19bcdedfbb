"""Keys of the API in the database: their hashes alone, and none that is revoked."""

from __future__ import annotations

import pytest
from lore.errors import ConfigurationError
from lore.records.api_keys import ApiKeys
from lore.records.records import Records
from lore.records.tables import keys
from sqlalchemy import select


@pytest.fixture
def api_keys(records: Records) -> ApiKeys:
    return records.api_keys()


def test_a_key_is_found_by_its_text_until_it_is_revoked(api_keys: ApiKeys) -> None:
    made, text = api_keys.create("Website", ["staff", "public", "staff"], 5)
    other, other_text = api_keys.create("Agent", [], 0)
    assert (made.audiences, other.audiences) == (("public", "staff"), ("public",))
    assert api_keys.find(text) == made and api_keys.find(other_text) == other
    assert api_keys.all() == [made, other]
    api_keys.revoke(made.id)
    assert api_keys.find(text) is None and api_keys.all() == [other]
    with pytest.raises(ConfigurationError, match="There is no key"):
        api_keys.revoke(made.id)


def test_the_text_is_not_kept(api_keys: ApiKeys, records: Records) -> None:
    made, text = api_keys.create("Website", [], 5)
    with records.engine.connect() as connection:
        [row] = connection.execute(select(keys)).all()
    secret = text.removeprefix(f"lore_{made.id}_")
    assert len(secret) == 43 and secret not in str(row)


@pytest.mark.parametrize("text", ["", "lore_", "lore_00000000_" + "A" * 43, "\x00", "lore_\ud800", "A" * 100_000])
def test_other_texts_find_nothing(api_keys: ApiKeys, text: str) -> None:
    api_keys.create("Website", [], 5)
    assert api_keys.find(text) is None
