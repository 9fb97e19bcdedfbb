"""The records through their public methods, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import zlib
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lore.errors import ConfigurationError
from lore.records.clean import MAX_CHARACTERS, MAX_ITEMS
from lore.records.records import Records
from lore.records.rows import PACKED, rows_of
from lore.types import Answer, CandidateRank, Citation, Hit, Message, Plan, Question, Trace, Usage
from sqlalchemy import text

from tests.conftest import ROOT
from tests.records.answers import MARCH, chunk, full_answer, small_answer
from tests.records.conftest import unredacted

HOUR = timedelta(hours=1)


class TestAnswers:
    def test_what_is_read_is_what_was_written(self, records: Records) -> None:
        answer = full_answer()
        records.add(answer, MARCH)
        record = records.get(answer.id)
        assert record.answer == answer
        assert record.asked_at == MARCH
        assert record.feedback == ()

    @pytest.mark.parametrize("kind", [Answer, Question, Plan, Trace, Citation, Usage])
    def test_the_answer_of_these_tests_has_something_in_every_field(self, kind: type[Any]) -> None:
        """A field that is new is not stored unseen: give it a value in `full_answer`."""
        answer = full_answer()
        parts = {
            Answer: answer,
            Question: answer.question,
            Plan: answer.trace.plan,
            Trace: answer.trace,
            Citation: answer.citations[0],
            Usage: answer.trace.usage[0],
        }
        for field in fields(kind):
            if kind is Plan and field.name in ("search", "from_context"):
                continue  # a plan that is all but this
            default = field.default_factory() if field.default_factory is not MISSING else field.default
            assert getattr(parts[kind], field.name) != default, field.name

    def test_an_answer_without_a_search(self, records: Records) -> None:
        answer = small_answer("hello")
        records.add(answer)
        assert records.get("hello").answer == answer

    def test_it_was_asked_as_long_ago_as_it_took(self, records: Records) -> None:
        before = datetime.now(UTC)
        records.add(full_answer())
        assert before - timedelta(seconds=2.2) < records.get("a" * 32).asked_at < before - timedelta(seconds=2.0)

    def test_an_answer_without_an_id_gets_one(self, records: Records) -> None:
        first, second = (records.add(small_answer("")) for _ in range(2))
        assert first != second
        assert records.get(first).answer.id == first

    def test_adding_twice_changes_nothing(self, records: Records) -> None:
        records.add(full_answer(), MARCH)
        records.judge("a" * 32, True, asker="U2")
        records.add(full_answer(text="Another."), MARCH + HOUR)
        record = records.get("a" * 32)
        assert record.answer == full_answer()
        assert len(record.feedback) == 1

    def test_numbers_of_numpy(self, records: Records) -> None:
        hit = Hit(chunk("a", 0), np.float32(0.5), np.float32(0.25), np.float64(2.0))  # type: ignore[arg-type]
        records.add(small_answer("numpy", trace=Trace(Plan("q", ("q",)), passages=(hit,))))
        [found] = records.get("numpy").answer.trace.passages
        assert (found.score, found.vector_score, found.keyword_score) == (0.5, 0.25, 2.0)

    def test_an_id_may_be_shortened(self, records: Records) -> None:
        for name in ("abcdef01", "abcdef02", "abc%ef03", "abcdef"):
            records.add(small_answer(name))
        assert records.get("abcdef02").answer.id == "abcdef02"
        assert records.get("abc%").answer.id == "abc%ef03"  # is no pattern
        assert records.get("abcdef").answer.id == "abcdef"  # the whole id goes before the beginning of another
        with pytest.raises(ConfigurationError, match="Several answers begin with 'abcde'") as several:
            records.get("abcde")
        assert "abcdef01" in several.value.message
        with pytest.raises(ConfigurationError, match="too short"):
            records.get("abc")
        for unknown in ("zzzz", "abc\x00", "\ud800bcd", "x" * 5000):
            with pytest.raises(ConfigurationError, match="no answer"):
                records.get(unknown)


class TestHostileText:
    @pytest.mark.parametrize("text", ["NUL \x00 in it", "a lone \ud800 surrogate", "\udfff\ud800"])
    def test_what_no_database_takes_is_marked(self, records: Records, text: str) -> None:
        answer = full_answer(text=text, question=Question(text, history=(Message("user", text),), surface=text))
        answer = replace(answer, trace=replace(answer.trace, notes=(text,), models={text: text}))
        records.add(answer)
        stored = records.get(answer.id).answer
        clean = text.translate({0: "\ufffd", 0xD800: "\ufffd", 0xDFFF: "\ufffd"})
        assert (stored.text, stored.question.text, stored.question.history[0].content) == (clean, clean, clean)
        assert stored.trace.notes == (clean,)
        assert stored.trace.models == {clean: clean}

    @pytest.mark.parametrize(
        "text", ["'; DROP TABLE lore_answers; --", "%s %(x)s :name ?", "😀\u202e‮\x1b[31m", "\\u0000"]
    )
    def test_other_text_stays_as_it_is(self, records: Records, text: str) -> None:
        answer = full_answer(text=text, question=Question(text, asker=text))
        records.add(answer)
        assert records.get(answer.id).answer == answer
        assert [summary.id for summary in records.latest(5, asker=text)] == [answer.id]

    def test_ten_megabytes_are_cut_and_say_so(self, records: Records) -> None:
        records.add(full_answer(text="x" * 10_000_000))
        text = records.get("a" * 32).answer.text
        assert len(text) < MAX_CHARACTERS + 100
        assert text.endswith(" … [cut: it had 10,000,000 characters]")

    def test_of_too_many_parts_the_first_are_kept_and_it_is_said(self, records: Records) -> None:
        trace = replace(full_answer().trace, ranking=full_answer().trace.ranking[:1] * 5000)
        history = tuple(Message("user", str(number)) for number in range(5000))
        records.add(full_answer(trace=trace, question=Question("Why?", history=history)))
        stored = records.get("a" * 32).answer
        assert len(stored.trace.ranking) == MAX_ITEMS
        assert "Of 5,000 candidates the first 1,000 were recorded." in stored.trace.notes
        assert stored.question.history[-1].content == "4999"
        assert len(stored.question.history) == MAX_ITEMS

    def test_long_names_stay_different(self, records: Records) -> None:
        long = "U" * 10_000
        for number, asker in enumerate((f"{long}1", f"{long}2")):
            records.add(small_answer(f"id-{number}", asker=asker))
        assert [summary.id for summary in records.latest(5, asker=f"{long}1")] == ["id-0"]
        assert records.forget(f"{long}1") == 1
        assert records.get("id-1")


class TestRedaction:
    def test_what_people_and_models_wrote_is_redacted(self, url: str) -> None:
        secret = "hunter2"

        def redact(text: str) -> str:
            return text.replace(secret, "[redacted]")

        answer = full_answer(
            question=Question(f"Is {secret} right?", history=(Message("user", secret),)), text=f"No: {secret}"
        )
        plan = Plan(f"Is {secret}?", (secret, "b"))
        answer = replace(answer, trace=replace(answer.trace, plan=plan, notes=(f"Not read: {secret}",)))
        with Records.open(url, redact) as records:
            records.add(answer)
            records.judge(answer.id, False, asker="U2", reason=f"My password is {secret}")
            record = records.get(answer.id)
        assert secret not in repr(record)
        assert record.answer.question.text == "Is [redacted] right?"
        assert record.feedback[0].reason == "My password is [redacted]"

    def test_a_secret_across_the_cut_is_seen_whole(self, url: str) -> None:
        secret = "S" * 2000
        text = "x" * (MAX_CHARACTERS - 1000) + secret + "y" * 500_000
        with Records.open(url, lambda text: text.replace(secret, "[redacted]")) as records:
            records.add(full_answer(text=text))
            assert "SS" not in records.get("a" * 32).answer.text


class TestFeedback:
    def test_a_changed_mind_counts_once(self, records: Records) -> None:
        records.add(full_answer())
        records.judge("aaaa", True, asker="U1")
        records.judge("aaaa", False, asker="U1", reason="It is outdated.")
        records.judge("aaaa", True, asker="U2")
        given = {one.asker: (one.helpful, one.reason) for one in records.get("aaaa").feedback}
        assert given == {"U1": (False, "It is outdated."), "U2": (True, "")}
        [summary] = records.latest(5)
        assert (summary.helpful, summary.unhelpful) == (1, 1)

    def test_it_may_be_taken_back(self, records: Records) -> None:
        records.add(full_answer())
        records.judge("aaaa", True, asker="U1")
        assert records.withdraw("aaaa", asker="U1")
        assert not records.withdraw("aaaa", asker="U1")
        assert records.get("aaaa").feedback == ()

    def test_of_an_answer_that_is_not_there(self, records: Records) -> None:
        with pytest.raises(ConfigurationError, match="no answer"):
            records.judge("unknown", True)


class TestLists:
    def test_newest_first_with_figures(self, records: Records) -> None:
        records.add(full_answer("old-" + "a" * 8), MARCH)
        records.add(small_answer("new-hello", found=False), MARCH + HOUR)
        new, old = records.latest(10)
        assert (new.id, new.found, new.calls, new.cost, new.seconds) == ("new-hello", False, 0, 0.0, None)
        assert (old.asked_at, old.surface, old.asker, old.calls, old.seconds) == (MARCH, "slack", "U1", 2, 2.12)
        assert old.cost is None  # the price of a call is not known
        assert [one.id for one in records.latest(1)] == ["new-hello"]
        assert [one.id for one in records.latest(9, since=MARCH + HOUR / 2)] == ["new-hello"]
        assert [one.id for one in records.latest(9, found=True)] == [old.id]

    def test_a_cost_that_is_known(self, records: Records) -> None:
        usage = (Usage("m", "plan", 1, 1, 0.25), Usage("m", "answer", 1, 1, 0.5))
        records.add(small_answer("priced", trace=Trace(Plan("q", ("q",)), usage=usage)))
        assert records.latest(1)[0].cost == 0.75


class TestRemoval:
    def test_forgetting_a_person(self, records: Records) -> None:
        records.add(full_answer("theirs-1", asker="U1"))
        records.add(full_answer("theirs-2", asker="U1"))
        records.add(full_answer("others-1", asker="U2"))
        records.judge("others-1", False, asker="U1", reason="Told by U1")
        records.judge("theirs-1", True, asker="U2")
        assert records.forget("U1") == 2
        assert [one.id for one in records.latest(9)] == ["others-1"]
        assert records.get("others-1").feedback == ()
        assert _count_rows(records) == _count_rows_of_one(records)
        assert records.forget("U1") == 0

    def test_nothing_forgotten_is_left_in_the_files(self, tmp_path: Path) -> None:
        with Records.open(f"sqlite:///{tmp_path}/records.db", unredacted) as records:
            for number in range(20):
                records.add(full_answer(f"id-{number}", text=f"The zebra-{number} secret."))
            assert any(b"zebra" in file.read_bytes() for file in tmp_path.iterdir())
            records.forget("U1")
            assert not any(b"zebra" in file.read_bytes() for file in tmp_path.iterdir())

    def test_what_is_too_old_goes_in_batches(self, records: Records) -> None:
        for number in (4, 0, 3, 2, 1):
            records.add(full_answer(f"id-{number}"), MARCH + number * HOUR)
        assert records.expire(MARCH + 3 * HOUR, limit=2) == 2
        assert sorted(one.id for one in records.latest(9)) == ["id-2", "id-3", "id-4"]
        assert records.expire(MARCH + 3 * HOUR, limit=2) == 1
        assert records.expire(MARCH + 3 * HOUR, limit=2) == 0
        assert sorted(one.id for one in records.latest(9)) == ["id-3", "id-4"]


def _count_rows(records: Records) -> dict[str, int]:
    from lore.records.tables import metadata
    from sqlalchemy import func, select

    with records.engine.connect() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }


def _count_rows_of_one(records: Records) -> dict[str, int]:
    return {
        "lore_answers": 1,
        "lore_claims": 0,
        "lore_calls": 2,
        "lore_candidates": 0,
        "lore_passages": 0,
        "lore_citations": 3,
        "lore_feedback": 0,
        "lore_keys": 0,
        "lore_opinions": 0,
        "lore_places": 0,
    }


def test_an_answer_takes_at_most_8_kb(records: Records) -> None:
    words = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")
    passages = tuple(
        Hit(replace(chunk("size", number), text=words[number * 1_000 : number * 1_000 + 1_000]), 0.5, 0.5, 3.0)
        for number in range(8)
    )
    ranking = tuple(
        CandidateRank(f"chunk-{at}-{'x' * 30}", f"docs:{at}", f"Page {at}", at, at if at < 9 else None, 0.5)
        for at in range(1, 151)
    )
    answer = full_answer("size")
    records.add(replace(answer, trace=replace(answer.trace, passages=passages, ranking=ranking)))
    with records.engine.connect() as connection:
        row = connection.execute(text("SELECT * FROM lore_answers")).one()
        citations = connection.execute(text("SELECT * FROM lore_citations")).all()
    assert sum(len(value) if isinstance(value, bytes) else len(str(value)) for value in (*row, *citations)) <= 8_192
    read = records.get("size").answer.trace
    assert read.passages == passages
    assert [one.found_at for one in read.ranking] == list(range(1, 11))


def test_an_answer_of_an_older_version_is_read(records: Records) -> None:
    answer = full_answer("older")
    records.add(answer)
    rows = rows_of(answer, MARCH).answer["packed"]
    parts = json.loads(zlib.decompress(rows))
    with records.engine.begin() as connection:
        connection.execute(text("UPDATE lore_answers SET packed = NULL"))
        for table in PACKED:
            numbered = [{"answer_id": "older", "ordinal": at, **row} for at, row in enumerate(parts[table.name])]
            connection.execute(table.insert(), numbered)
    assert records.get("older").answer == answer


def test_citations_from_before_they_had_a_time_are_read(records: Records) -> None:
    answer = full_answer("older")
    records.add(answer)
    with records.engine.begin() as connection:
        connection.execute(text("""UPDATE lore_citations SET more = '{"headings": ["Keys"]}'"""))
    assert records.get("older").answer.citations == tuple(replace(one, updated_at=None) for one in answer.citations)
