"""Globs against paths that were made for them: what is chosen is told by the tests of the kinds that use them."""

from __future__ import annotations

import pytest
from lore.errors import SourceError
from lore.sources.globs import PathFilter


@pytest.mark.parametrize("excluded", [False, True])
def test_a_glob_that_would_take_for_ever_is_an_error_that_names_it(excluded: bool) -> None:
    glob, path = "**/a/**/a/**/a/**/b", "a/" * 900
    chosen = PathFilter([] if excluded else [glob], [glob] if excluded else [], seconds=0.05)
    with pytest.raises(SourceError, match="takes too long") as caught:
        chosen(path)
    assert glob in caught.value.message and not caught.value.retryable


def test_many_folders_are_no_trouble_for_a_glob_as_people_write_it() -> None:
    assert PathFilter(["docs/**/*.md"], ["**/drafts/**"])("docs/" * 800 + "x.md")
