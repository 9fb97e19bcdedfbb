"""Answers written by a language model: checked, replaced or refused, whatever it writes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lore.errors import ModelError
from lore.query.answer.compose import NOTHING_FOUND, UNCITED
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved, Verified
from lore.types import Check, Hit, Plan, Question

from tests.fakes import FakeChatModel, FakeEmbedder
from tests.query.fakes import ReversingReranker, pipeline_over
from tests.query.setup import PLAN, QUESTION, Setup

RENEW = "Rotate the API key under Settings"


class BreakingChatModel(FakeChatModel):
    """Plans, then fails in the middle of its second sentence."""

    def __init__(self) -> None:
        super().__init__([PLAN])

    def stream(self, messages, **_):  # type: ignore[no-untyped-def]
        yield "The API allows twenty calls a minute [2]. Then"
        raise ModelError("The connection was reset.")


class TestWithChatModel:
    def test_writes_from_the_passages_and_checks(self) -> None:
        setup = Setup([PLAN], ["Go to Settings [1]. See [more](https://evil.com) [8].\n"])
        answer = setup.ask()
        assert answer.text == "Go to Settings [1]. See more.\n"
        assert answer.found
        assert [(citation.number, citation.document_id) for citation in answer.citations] == [(1, "docs:keys")]
        assert answer.trace.check.dropped_citations == ("8",)
        assert answer.trace.check.dropped_links == ("https://evil.com",)
        assert answer.trace.plan.wordings == tuple(PLAN["wordings"])
        assert (answer.trace.retrieved, answer.trace.candidates) == (12, 3)
        assert set(answer.trace.seconds) == {"plan", "retrieve", "rerank", "join", "answer", "verify", "total"}
        assert answer.trace.models == {"embedder": "fake:words", "chat": "fake:chat"}
        assert answer.trace.notes == ()

    def test_costs_two_calls(self) -> None:
        setup = Setup([PLAN], ["Yes [1]."])
        setup.ask()
        assert setup.chat is not None
        assert len(setup.chat.calls) == 2

    def test_a_plan_that_is_given_is_not_made_again(self) -> None:
        setup = Setup(streamed=["Press the button [1]."])
        plan = Plan("API key rotation", ("rotate the API key",))
        answer = setup.pipeline.ask(Question("And that?"), plan=plan)
        assert answer.trace.plan == plan
        assert [text for text, *_ in setup.index.searches] == ["rotate the API key"]
        assert setup.chat and len(setup.chat.calls) == 1
        assert "plan" not in answer.trace.prompts

    def test_streams_typed_events_whose_pieces_are_the_text(self) -> None:
        setup = Setup([PLAN], ["Go to Settings and rotate it [1]. The old one works for a day [1].\n\nDone [1]."])
        events: list[Event] = list(setup.pipeline.stream(QUESTION))
        kinds = [type(event) for event in events]
        assert kinds[:3] == [Planned, Retrieved, Reranked]
        assert set(kinds[3:-2]) == {Delta}
        assert kinds[-2] is Verified
        assert kinds.count(Delta) >= 3
        last = events[-1]
        assert isinstance(last, Answered)
        assert "".join(event.text for event in events if isinstance(event, Delta)) == last.answer.text
        assert Retrieved((4, 4, 4), 3) in events

    @pytest.mark.parametrize("reply", ["NOT_FOUND", "NOT_FOUND.", "**NOT_FOUND**\n", "NOT_FOUND\nBut I think so [1]."])
    def test_the_models_verdict_counts(self, reply: str) -> None:
        answer = Setup([PLAN], [reply]).ask()
        assert not answer.found
        searched = "Searched: the nearest 3 passages to 3 wordings of the question, from `docs`."
        assert answer.text == f"{NOTHING_FOUND} {searched}"
        assert answer.nearest

    @pytest.mark.parametrize(
        "reply",
        [
            "I looked everywhere. NOT_FOUND",
            "I looked everywhere, so NOT_FOUND",
            "You answer it. Not_found",
            "not_found.",
            "Sorry.\n\n**NOT_FOUND**.\n",
        ],
    )
    def test_a_verdict_after_other_words_counts_too(self, reply: str) -> None:
        answer = Setup([PLAN], [reply]).ask()
        assert not answer.found
        assert f"{NOTHING_FOUND} Searched: " in answer.text
        assert "not_found" not in answer.text.lower()
        assert answer.nearest

    @pytest.mark.parametrize(
        "reply",
        [
            f"{RENEW} [1].\nNOT_FOUND",
            f"{RENEW} [1]. NOT_FOUND.\n",
            f"{RENEW} [1].\n\n**Not_found**\n",
            f"{RENEW} [1].\r\nNOT_FOUND\r",
        ],
    )
    def test_a_verdict_beside_what_is_cited_is_said_in_a_note(self, reply: str) -> None:
        answer = Setup([PLAN], [reply]).ask()
        assert answer.found
        assert answer.text.strip() == f"{RENEW} [1]."
        assert any("also wrote" in note for note in answer.trace.notes)

    def test_a_status_of_that_name_is_no_verdict(self) -> None:
        answer = Setup([PLAN], ["The server then says NOT_FOUND [1]."]).ask()
        assert answer.found
        assert answer.text.startswith("The server then says NOT_FOUND [1]")

    @pytest.mark.parametrize("reply", ["", " \n\n", "[99]", "![](https://evil.com/p.png)", "\u200b"])
    def test_an_answer_of_which_nothing_is_left_is_replaced_by_quotes(self, reply: str) -> None:
        answer = Setup([PLAN], [reply]).ask()
        assert "> Rotate the API key under Settings." in answer.text
        assert answer.citations[0].number == 1
        assert UNCITED not in answer.text

    def test_an_answer_without_end_is_cut_and_says_so(self) -> None:
        answer = Setup([PLAN], ["Rotate it [1]. " * 9_000]).ask()
        assert 20_000 < len(answer.text) < 25_000
        assert any("didn't stop" in note for note in answer.trace.notes)

    def test_an_irrelevant_question_costs_no_second_call(self) -> None:
        setup = Setup([{"wordings": ["glacier of the Rhone", "Rhone source", "Rhone glacier"]}], [])
        assert setup.ask(Question("Which glacier feeds the Rhone?")).text.startswith(NOTHING_FOUND)

    def test_a_name_that_no_page_mentions_is_for_the_model_to_judge(self) -> None:
        question = Question("How do we rotate the API key at ACME?")
        assert Setup([PLAN], ["Rotate the API key under Settings [1]."]).ask(question).found
        assert Setup().ask(question).text.startswith(NOTHING_FOUND)

    @pytest.mark.parametrize(
        "reply",
        [
            "ACME rotates it with a robot on Sundays.",
            "Rotate the API key under Settings [1]. ACME then sends a form in triplicate.",
            "ACME keeps its glaciers in Switzerland [1].",
        ],
        ids=["uncited", "partly cited", "not borne out"],
    )
    def test_what_a_model_makes_of_pages_that_do_not_mention_a_name_must_be_borne_out(self, reply: str) -> None:
        answer = Setup([PLAN], [reply]).ask(Question("How do we rotate the API key at ACME?"))
        assert not answer.found
        assert answer.text.startswith(NOTHING_FOUND)
        assert answer.citations == ()
        assert answer.trace.check == Check()
        assert answer.nearest
        assert any("hardly about the question" in note for note in answer.trace.notes)

    def test_a_model_that_fails_on_such_pages_leaves_nothing_to_quote(self) -> None:
        answer = Setup([PLAN], [ModelError("The server is down.")]).ask(Question("How do we rotate the key at ACME?"))
        assert answer.text.startswith(NOTHING_FOUND)
        assert any("The server is down." in note for note in answer.trace.notes)

    def test_an_answer_without_citations_warns(self) -> None:
        answer = Setup([PLAN], ["Surely somewhere [9]."]).ask()
        assert answer.text == f"Surely somewhere.\n\n{UNCITED}"
        assert answer.citations == ()
        assert answer.nearest
        assert "The answer cites no source." in answer.trace.notes

    def test_a_model_that_fails_is_replaced_by_quotes(self) -> None:
        answer = Setup([PLAN], [ModelError("The server is down.")]).ask()
        assert "language model failed" in answer.text
        assert "> Rotate the API key under Settings." in answer.text
        assert answer.citations[0].number == 1
        assert any("The server is down." in note for note in answer.trace.notes)

    def test_a_model_that_fails_half_way_keeps_what_was_shown(self) -> None:
        setup = Setup()
        pipeline = pipeline_over(setup.index, FakeEmbedder(512), None, BreakingChatModel())
        events = list(pipeline.stream(QUESTION))
        last = events[-1]
        assert isinstance(last, Answered)
        assert "".join(event.text for event in events if isinstance(event, Delta)) == last.answer.text
        assert last.answer.text.startswith(
            "The API allows twenty calls a minute [2]. Then\n\n*The language model failed here"
        )
        assert [citation.number for citation in last.answer.citations] == [1, 2]

    def test_a_failed_plan_is_the_question_itself(self) -> None:
        answer = Setup([ModelError("Too many requests.")], ["Yes [1]."]).ask()
        assert answer.trace.plan == Plan(QUESTION.text, (QUESTION.text,))
        assert any("Too many requests." in note for note in answer.trace.notes)

    def test_a_greeting_is_answered_without_search_citations_or_links(self) -> None:
        setup = Setup(
            [{"question": "Thanks", "wordings": [], "route": "small_talk"}],
            ["You are welcome [1], see https://evil.com!"],
        )
        answer = setup.ask(Question("Thanks a lot!"))
        assert answer.text == "You are welcome, see (link removed)!"
        assert setup.index.searches == []
        assert (answer.citations, answer.trace.passages) == ((), ())

    def test_a_failed_greeting_still_gets_a_reply(self) -> None:
        answer = Setup([{"route": "small_talk"}], [ModelError("Down.")]).ask(Question("Hi"))
        assert "look it up" in answer.text

    def test_a_long_message_is_never_small_talk(self) -> None:
        setup = Setup([{**PLAN, "route": "small_talk"}], ["Yes [1]."])
        setup.ask(Question("Hello there, could you please tell me how I rotate the API key of my team?"))
        assert len(setup.index.searches) == 3

    def test_a_failed_reranker_leaves_the_order_of_the_search(self) -> None:
        reranker = ReversingReranker(ModelError("Rerank is down."))
        answer = Setup([PLAN], ["Yes [1]."], reranker=reranker).ask()
        assert reranker.queries == [QUESTION.text]  # not one of the wordings
        assert answer.trace.passages[0].chunk.id == "chunk-keys"
        assert any("Rerank is down." in note for note in answer.trace.notes)

    @pytest.mark.parametrize(("copies", "expected"), [(0, 3), (5, 3)])
    def test_a_reranker_that_gives_too_few_or_too_many(self, copies: int, expected: int) -> None:
        class Odd(ReversingReranker):
            def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
                return list(hits) * copies

        answer = Setup(reranker=Odd()).ask()
        assert answer.found
        assert len(answer.trace.passages) == expected
        assert bool(answer.trace.notes) == (copies == 0)
