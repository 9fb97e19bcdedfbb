"""`lore ask` with a model whose statements don't all pass its verification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Lore
from tests.servers.model_apis.openai import OpenAIServer

WRITTEN = "Rotate an API key with `keys rotate` [1]. The old key works for one hour [1]."
PLAN = {"question": "", "wordings": ["rotate API key", "key rotation", "An API key is rotated with keys rotate"]}


def reply(body: dict[str, Any]) -> str:
    if body.get("stream"):
        return WRITTEN
    if "statement" in body["messages"][-1]["content"]:
        words = ("supported", "not")
        return json.dumps(
            {"verdicts": [{"statement": n, "words": "", "verdict": word} for n, word in enumerate(words, 1)]}
        )
    return json.dumps(PLAN)


@pytest.mark.parametrize(("verify", "corrected"), [("auto", True), ("off", False)])
def test_what_is_left_of_a_corrected_answer_is_printed_below_it(
    indexed: Lore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify: str, corrected: bool
) -> None:
    with OpenAIServer(reply) as server:
        settings = {
            "CHAT_MODEL": "openai:tiny",
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": server.base_url,
            "VERIFY": verify,
        }
        result = indexed(
            "ask", "How do I rotate an API key?", **{f"LORE_{name}": value for name, value in settings.items()}
        )
    assert result.exit_code == 0, result.output
    first, _, second = result.output.partition("don't bear out all of the text above")
    assert "one hour" in first
    assert bool(second) == corrected
    if corrected:
        assert "keys rotate" in second
        assert "1 statement left out" in second
        assert "one hour [1]" not in second.partition("Sources")[0]
