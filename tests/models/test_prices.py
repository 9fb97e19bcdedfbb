"""The price list: sums, names, a team's own file, and models that are not on it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.models.prices import load_prices

OWN = """
models:
  openai:gpt-4.1-mini: {input: 4, output: 16, date: 2026-11-30, source: "our contract"}
  openai:ours: {input: 1, cached_input: 0.5, output: 2, date: 2026-11-30, source: "our contract"}
"""


def test_a_call_costs_its_tokens_by_the_million() -> None:
    prices = load_prices()
    assert prices.cost("openai:gpt-4.1-mini", 1_000_000, 1_000_000) == pytest.approx(2.00)
    assert prices.cost("openai:gpt-4.1-mini", 3_000, 500) == pytest.approx(0.002)
    assert prices.cost("openai:text-embedding-3-small", 1_000_000, 0) == pytest.approx(0.02)


def test_what_the_provider_had_in_its_cache_costs_less() -> None:
    cost = load_prices().cost("openai:gpt-4.1-mini", 1_000_000, 0, cached_tokens=400_000)
    assert cost == pytest.approx(0.6 * 0.40 + 0.4 * 0.10)


def test_a_reranker_costs_by_the_search() -> None:
    prices = load_prices()
    assert prices.search_cost("cohere:rerank-v4.0-pro", 3) == pytest.approx(0.0075)
    assert prices.cost("cohere:rerank-v4.0-pro", 1_000, 0) is None
    assert prices.search_cost("openai:gpt-4.1-mini", 1) is None


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("openai:gpt-4.1-mini-2025-04-14", "openai:gpt-4.1-mini"),
        ("anthropic:claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5"),
        ("azure_openai:gpt-4.1-mini", "openai:gpt-4.1-mini"),
    ],
)
def test_snapshots_and_other_hosts_cost_what_the_model_costs(name: str, same: str) -> None:
    prices = load_prices()
    assert prices.cost(name, 1_000, 1_000) == prices.cost(same, 1_000, 1_000) is not None


def test_a_model_of_ones_own_machine_costs_nothing() -> None:
    assert load_prices().cost("ollama:llama3.2", 1_000, 1_000) == 0.0


def test_an_unknown_model_costs_nobody_knows_what_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    prices = load_prices()
    with caplog.at_level(logging.WARNING):
        assert prices.cost("openai:gpt-99", 1_000, 1_000) is None
        assert prices.cost("openai:gpt-99", 1_000, 1_000) is None
    assert [record.getMessage().split()[0] for record in caplog.records] == ["openai:gpt-99"]


def test_entries_of_ones_own_go_first(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(OWN, encoding="utf-8")
    prices = load_prices(file)
    assert prices.cost("openai:gpt-4.1-mini", 1_000_000, 0) == 4.0
    assert prices.cost("openai:ours", 1_000_000, 1_000_000, cached_tokens=1_000_000) == 2.5
    assert prices.cost("openai:gpt-4.1", 1_000_000, 0) == 2.0
    assert prices.cost("azure_openai:ours", 1_000_000, 0) == 1.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models: {a: {input: -1, output: 1, date: 2026-01-01, source: x}}", "models.a.input"),
        ("models: {a: {inputs: 1, output: 1, date: 2026-01-01, source: x}}", "models.a.inputs"),
        ("models: {a: {input: 1, output: 1, source: x}}", "models.a.date"),
        ("models: {a: {input: 1, output: 1, date: 2026-01-01}}", "models.a.source"),
        ("models: {a: {output: 1, date: 2026-01-01, source: x}}", "input and search"),
        ("[1, 2]", "file"),
        ("models: {", "not YAML"),
    ],
)
def test_a_list_that_is_wrong_names_the_entry(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=says):
        load_prices(file)


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Couldn't read"):
        load_prices(tmp_path / "absent.yaml")
