"""Which model judges, and that a key goes to the server alone that it is set for."""

from __future__ import annotations

import pytest
from lore.evaluation.live.judge import Judge
from lore.settings import load_settings
from lore.wiring.models import make_judge_model

from tests.servers.model_apis.openai import OpenAIServer

VERDICT = '{"reason": "Equal.", "verdict": "correct"}'


@pytest.mark.parametrize(
    ("chat_model", "judge_model", "name"),
    [
        ("openai:a", "", "openai:a"),
        ("openai:a", "openai:b", "openai:b"),
        ("", "openai:b", "openai:b"),
        ("openai:a", "none", None),
        ("", "", None),
    ],
)
def test_the_judge_is_its_own_model_else_the_chat_model(chat_model: str, judge_model: str, name: str | None) -> None:
    settings = load_settings({}, chat_model=chat_model, judge_model=judge_model, openai_api_key="k")
    model = make_judge_model(settings)
    assert (model.name if model else None) == name


def test_the_key_and_address_of_another_provider_are_not_given_to_the_judge() -> None:
    with OpenAIServer(lambda body: VERDICT) as server, OpenAIServer(lambda body: VERDICT) as other:
        settings = load_settings(
            {},
            chat_model="anthropic:claude",
            chat_api_key="of-the-chat-model",
            chat_base_url=other.base_url,
            judge_model="openai:gpt-test",
            openai_api_key="of-openai",
            openai_base_url=server.base_url,
        )
        model = make_judge_model(settings)
        assert model is not None
        assert Judge(model).judge("What?", "That.", "That.").verdict == "correct"
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer of-openai"]
        assert other.requests == []
