"""`lore answers` and `lore costs`: what was asked through `lore ask`, and what others recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lore.cli.output import clean
from lore.records.records import Records
from lore.types import Message, Question

from tests.cli.conftest import Lore, environment
from tests.conftest import ROOT
from tests.records.answers import full_answer, small_answer

pytestmark = pytest.mark.xdist_group("cli")  # the local model is built once

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202etxt\nsecond line"


def parsed(text: str) -> Any:
    return json.loads(text)


@pytest.fixture
def records(knowledge: Path) -> Records:
    """The records that `lore` reads, to put something in."""
    with Records.open(f"sqlite:///{knowledge}/records.db", str) as opened:
        yield opened


class TestAsking:
    def test_an_answer_is_recorded_and_can_be_shown_judged_and_replayed(self, lore: Lore) -> None:
        lore("sync", "--all")
        asked = parsed(lore("ask", "How do I rotate an API key?", "--json").stdout)
        lore("ask", "Which glacier feeds the Rhone?")
        unanswered, answered = parsed(lore("answers", "list", "--json").stdout)["answers"]
        assert answered["question"] == "How do I rotate an API key?"
        assert answered["id"] == asked["id"]
        assert (answered["surface"], answered["found"], unanswered["found"]) == ("cli", True, False)
        assert [one["id"] for one in parsed(lore("answers", "list", "--not-found", "--json").stdout)["answers"]] == [
            unanswered["id"]
        ]

        short = answered["id"][:8]
        shown = parsed(lore("answers", "show", short, "--json").stdout)
        assert shown["answer"]["text"] == asked["text"]
        assert shown["answer"]["trace"]["passages"][0]["chunk"]["title"] == "API keys"
        text = lore("answers", "show", short).stdout
        for expected in ("How do I rotate an API key?", "keys rotate", "version 1", "Seconds", "kept citations: 1"):
            assert expected in text

        assert lore("answers", "feedback", short, "down", "--reason", "Too long").exit_code == 0
        assert lore("answers", "feedback", short, "up").exit_code == 0
        assert "helpful" in lore("answers", "show", short).stdout
        assert "1 up" in lore("answers", "list").stdout

        replayed = parsed(lore("answers", "replay", short, "--json").stdout)
        assert (replayed["version"], replayed["notes"], replayed["answer_diff"]) == (1, [], [])
        assert all(move["before"] == move["now"] for move in replayed["passages"])
        assert len(parsed(lore("answers", "list", "--json").stdout)["answers"]) == 2  # a replay is not recorded

    def test_a_replay_says_what_changed(self, lore: Lore, knowledge: Path) -> None:
        lore("sync", "--all")
        lore("ask", "How do I rotate an API key?")
        [one] = parsed(lore("answers", "list", "--json").stdout)["answers"]
        page = knowledge / "pages" / "keys.md"
        page.write_text(page.read_text(encoding="utf-8").replace("one hour", "two hours"), encoding="utf-8")
        lore("sync", "--all")
        text = lore("answers", "replay", one["id"]).stdout
        assert "1 gained, 1 lost" in text
        assert "the old key works for one hour" in text
        assert "+> Rotate an API key with `keys rotate`; the old key works for two hours." in text

    def test_a_replay_says_that_the_version_is_gone(self, lore: Lore, records: Records) -> None:
        lore("sync", "--all")
        answer = full_answer(question=Question("How do I rotate an API key?"))
        records.add(answer)  # of version 4
        text = lore("answers", "replay", answer.id).stdout
        assert "over version 1 of the index" in text
        assert "Version 4 of the index is gone; another version is searched." in text
        assert "Another model for embedder: local:minilm then, local:all-MiniLM-L6-v2 now." in text

    def test_the_process_that_asks_ends_after_it_recorded(self, lore: Lore, knowledge: Path, cache: Path) -> None:
        lore("sync", "--all")
        environ = os.environ | environment(knowledge, cache)
        command = [sys.executable, "-m", "lore.cli", "ask", "How do I rotate an API key?"]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert len(parsed(lore("answers", "list", "--json").stdout)["answers"]) == 1

    def test_records_can_be_switched_off(self, indexed: Lore, tmp_path: Path) -> None:
        assert indexed("ask", "How do I rotate an API key?", LORE_RECORDS_URL="none").exit_code == 0
        refused = indexed("answers", "list", LORE_RECORDS_URL="none")
        assert refused.exit_code == 2
        assert "LORE_RECORDS_URL is none" in refused.stderr

    def test_an_address_that_is_none_ends_the_command(self, indexed: Lore) -> None:
        refused = indexed("ask", "Why?", LORE_RECORDS_URL="mysql://root:hunter2@host/db")
        assert refused.exit_code == 2
        assert "LORE_RECORDS_URL" in refused.stderr
        assert "hunter2" not in refused.output

    def test_a_database_that_cannot_be_written_breaks_no_answer(self, indexed: Lore, tmp_path: Path) -> None:
        (tmp_path / "records.db").mkdir()
        answered = indexed("ask", "How do I rotate an API key?", LORE_RECORDS_URL=f"sqlite:///{tmp_path}/records.db")
        assert answered.exit_code == 0
        assert "keys rotate" in answered.stdout

    def test_a_damaged_database_is_begun_anew(
        self, indexed: Lore, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "records.db").write_text("no database " * 100)
        url = f"sqlite:///{tmp_path}/records.db"
        assert "keys rotate" in indexed("ask", "How do I rotate an API key?", LORE_RECORDS_URL=url).stdout
        assert len(parsed(indexed("answers", "list", "--json", LORE_RECORDS_URL=url).stdout)["answers"]) == 1
        assert len([message for message in caplog.messages if f"{tmp_path}/records.db.damaged-" in message]) == 1


class TestReading:
    def test_before_anything_was_asked(self, lore: Lore, knowledge: Path) -> None:
        for arguments in (("answers", "list"), ("answers", "show", "abcd"), ("costs",)):
            refused = lore(*arguments)
            assert refused.exit_code == 2
            assert "lore ask" in refused.stderr
        assert not (knowledge / "records.db").exists()

    def test_hostile_text_is_shown_harmlessly(self, lore: Lore, records: Records) -> None:
        answer = full_answer(
            question=Question(HOSTILE, history=(Message("user", HOSTILE),), surface=HOSTILE, asker=HOSTILE),
            text=HOSTILE,
        )
        trace = replace(answer.trace, notes=(HOSTILE,), models={"chat": HOSTILE})
        records.add(replace(answer, trace=trace))
        records.judge(answer.id, False, asker=HOSTILE, reason=HOSTILE)
        for arguments in (("list",), ("show", "aaaa")):
            shown = lore("answers", *arguments).stdout
            assert "[bold]x[/bold]" in shown
            assert not set("\x1b\x07\u202e") & set(shown)
        assert "who" in lore("answers", "list").stdout
        lines = lore("answers", "list").stdout.splitlines()
        assert sum("[bold]" in line for line in lines) == 1
        assert parsed(lore("answers", "show", "aaaa", "--json").stdout)["answer"]["question"]["text"] == HOSTILE

    def test_everything_that_is_recorded_is_shown(self, lore: Lore, records: Records) -> None:
        records.add(full_answer())
        shown = lore("answers", "show", "aaaa").stdout
        for expected in (
            "slack, by U1",
            "Before " + "a" * 32,
            "change the key",
            "updated_after",
            "version 4",
            "plan 0f3a",
            "300 found, 5 distinct, 3 given",
            "dropped links: https://evil.example",
            "500 in, 60 out, $0.2500",
            "?",
            "The reranker failed.",
            "Nearest pages",
            "Passage 2 of",
        ):
            assert expected in shown, expected

    def test_since(self, lore: Lore, records: Records) -> None:
        now = datetime.now(UTC)
        for name, days in (("today", 0), ("week", 6), ("month", 30)):
            records.add(small_answer(name), now - timedelta(days=days, minutes=1))

        def ids(since: str) -> list[str]:
            return [one["id"] for one in parsed(lore("answers", "list", "--since", since, "--json").stdout)["answers"]]

        assert ids("1h") == ["today"]
        assert ids("7d") == ids(f"{now - timedelta(days=7):%Y-%m-%d}") == ["today", "week"]
        assert ids("6w") == ["today", "week", "month"]
        refused = lore("answers", "list", "--since", "yesterday")
        assert refused.exit_code == 2
        assert "7d" in refused.stderr

    def test_old_records_are_removed_before_they_are_shown(self, lore: Lore, records: Records) -> None:
        records.add(small_answer("recent"))
        records.add(small_answer("ancient"), datetime.now(UTC) - timedelta(days=40))
        shown = lore("answers", "list", "--json", LORE_RECORDS_RETENTION_DAYS="30")
        assert [one["id"] for one in parsed(shown.stdout)["answers"]] == ["recent"]
        assert len(records.latest(9)) == 1

    def test_an_id_that_is_unknown_short_or_shared(self, lore: Lore, records: Records) -> None:
        for name in ("abcdef01", "abcdef02"):
            records.add(small_answer(name))
        for wrong, said in (("abcd", "Several answers"), ("abc", "too short"), ("zzzz", "no answer")):
            refused = lore("answers", "show", wrong)
            assert refused.exit_code == 2
            assert said in refused.stderr

    def test_forgetting(self, lore: Lore, records: Records) -> None:
        records.add(small_answer("one", asker="U1"))
        records.add(small_answer("two", asker="U2"))
        assert parsed(lore("answers", "forget", "U1", "--json").stdout) == {"removed": 1}
        assert [one.id for one in records.latest(9)] == ["two"]
        refused = lore("answers", "forget", "")
        assert refused.exit_code == 2
        assert len(records.latest(9)) == 1


class TestCosts:
    def test_by_day_model_and_stage(self, lore: Lore, records: Records) -> None:
        day = datetime(2026, 11, 1, 23, 59, tzinfo=UTC)
        records.add(full_answer("first"), day)
        records.add(full_answer("second"), day + timedelta(minutes=2))
        records.add(small_answer("third"), day + timedelta(minutes=3))
        by_day = parsed(lore("costs", "--json").stdout)["costs"]
        assert [(one["key"], one["questions"], one["calls"], one["cost"]) for one in by_day] == [
            ("2026-11-01", 1, 2, 0.25),
            ("2026-11-02", 2, 2, 0.25),
        ]
        assert by_day[0]["unpriced"] == 1
        [model] = parsed(lore("costs", "--by", "model", "--json").stdout)["costs"]
        assert (model["key"], model["calls"], model["input_tokens"]) == ("openai:gpt", 4, 8_000_001_000)
        stages = parsed(lore("costs", "--by", "stage", "--json").stdout)["costs"]
        assert [(one["key"], one["cost"], one["unpriced"]) for one in stages] == [("plan", 0.5, 0), ("answer", 0.0, 2)]
        since = parsed(lore("costs", "--since", "2026-11-02", "--json").stdout)["costs"]
        assert [one["key"] for one in since] == ["2026-11-02"]

    def test_as_a_table(self, lore: Lore, records: Records) -> None:
        records.add(full_answer())
        shown = lore("costs", "--by", "stage")
        assert "$0.2500" in shown.stdout
        assert "4,000,000,500" in shown.stdout
        assert "calls of unknown price: 1" in shown.stderr


@pytest.mark.parametrize("columns", [80, 120])
def test_the_list_is_readable_on_a_terminal(lore: Lore, records: Records, columns: int) -> None:
    records.add(small_answer("b" * 32, asker="U1"), datetime(2026, 11, 30, 8, 5, tzinfo=UTC))
    shown = clean(lore("answers", "list", TTY_COMPATIBLE="1", COLUMNS=str(columns)).stdout)
    assert "2026-11-30 08:05" in shown
    assert f"{'b' * 32}?" in shown
    assert all(len(line) <= columns for line in shown.splitlines())
