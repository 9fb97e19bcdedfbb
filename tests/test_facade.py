"""`from lore import …`, as a program uses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore import ask, open_pipeline
from lore.errors import ConfigurationError


@pytest.mark.parametrize("use", [open_pipeline, lambda: ask("How do I rotate a key?")])
def test_where_nothing_was_synced_the_error_says_where_it_looked_and_nothing_is_created(
    use: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="Run: lore sync --all") as caught:
        use()  # type: ignore[operator]
    assert str(tmp_path / ".lore" / "index") in caught.value.message
    assert list(tmp_path.iterdir()) == []
