"""A private channel's content never appears elsewhere: tried with a real index, in every room and by everybody.

Each channel has a document with a secret of its own. Whoever asks for it anywhere gets an answer, and with it the
citations, the nearest pages, the whole trace, and all that a language model was given. In none of that stands a secret
that the asker, or the room, must not know.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lore.declarations import SlackRules
from lore.protocols import OnUsage
from lore.query.pipeline import Pipeline
from lore.query.understand.filters import SearchableSource
from lore.slackbot.access.audiences import Audiences
from lore.slackbot.events.incoming import read_command, read_event
from lore.slackbot.reply.conversation import history
from lore.slackbot.types import SlackQuestion
from lore.stores.lancedb.store import LanceStore
from lore.types import PUBLIC, Chunk, EmbeddedDocument, Message, Question, Recipe

from tests.fakes import FakeEmbedder, make_document
from tests.query.fakes import pipeline_over
from tests.slackbot.events.bodies import NOWHERE
from tests.slackbot.fake_slack import BOT, FakeSlack

EMBEDDER = FakeEmbedder(512)
SECRETS = {"CA": "QUOKKA", "CB": "WOMBAT", "CX": "NUMBAT", "CM": "BILBY"}
"""Channel → its secret. CA and CB are private, CX is shared with another workspace, CM a group direct message."""
OPEN = "KOOKABURRA"
MEMBERS = {
    "C1": ("U1", "U2", "U3", "UG"),
    "CA": ("U1", "U2", "UG"),
    "CB": ("U2", "UG", "UGONE"),
    "CX": ("U1", "UX", "UG"),
    "CM": ("U1", "U2"),
}
QUESTIONS = (
    "What is the launch word of the project?",
    "In #private-a, what is the launch word of the project?",
    "What is the launch word of the project in #private-b and in the source board_slack?",
    "In the Slack of the board, what did they say in Slack about the launch word of the project?",
)


def entries() -> Iterator[EmbeddedDocument]:
    said = (
        "The launch word of the project is {}. Say it to nobody else, and ask for the launch word when you forget it."
    )
    yield entry("handbook", "page", said.format(OPEN), (PUBLIC,))
    for channel, secret in SECRETS.items():
        source = "board_slack" if channel == "CB" else "team_slack"
        yield entry(source, f"{channel}-{secret}", said.format(secret), (f"slack:{channel}",), title=f"Word {secret}")
    copy = "The door code of the office is 4711, and it is changed on the first Monday of every second month of a year."
    yield entry("handbook", "door", copy, (PUBLIC,))
    yield entry("team_slack", "QUOKKA-copy", copy, ("slack:CA",), title="QUOKKA says the door code")


def entry(source: str, name: str, text: str, audiences: tuple[str, ...], title: str = "Launch") -> EmbeddedDocument:
    document = make_document(name, text, source, title=title, audiences=audiences)
    chunk = Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, document.id)),
        document_id=document.id,
        source_id=source,
        url=document.url,
        title=title,
        headings=(title,),
        text=text,
        position=0,
        start=0,
        end=len(text),
        audiences=audiences,
    )
    return EmbeddedDocument(document, "1", (chunk,), EMBEDDER.embed_documents([chunk.embedded_text]))


class TellTale:
    """A language model that searches where it should not and repeats all that it was given."""

    name = "fake:telltale"

    def __init__(self) -> None:
        self.given: list[str] = []

    def structured(self, messages: Sequence[Message], schema: Any, *, on_usage: OnUsage | None = None) -> Any:
        self.given += [message.content for message in messages]
        words = ["launch word of the project", "word that the board says to nobody else", "slack:CA slack:CB launch"]
        sources = ["board_slack", "team_slack", "slack:CA", "slack:CB"]
        return schema.model_validate({"question": "", "wordings": words, "route": "search", "sources": sources})

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        self.given += [message.content for message in messages]
        yield from (f"{message.content} [1][2][3]\n" for message in messages[1:])


class House:
    """The index, and a workspace with guests, people of elsewhere, and people that are gone."""

    def __init__(self, folder: Path) -> None:
        self.store = LanceStore(str(folder / "index"), Recipe(EMBEDDER.name, EMBEDDER.dimensions))
        self.store.replace(list(entries()))
        self.store.optimize()
        self.slack = FakeSlack()
        for channel, members in MEMBERS.items():
            private, mpim = channel != "C1", channel == "CM"
            self.slack.add_channel(channel, members=members, is_private=private, is_mpim=mpim, name=f"name-{channel}")
        self.slack.add_user("UG", is_restricted=True)
        self.slack.add_user("UX", team_id="T2", is_stranger=True)
        self.slack.add_user("UGONE", deleted=True)
        for user in ("U1", "U2", "U3", "UG", "UX", "UGONE"):
            self.slack.add_channel(f"D{user}", members=(user,))
        self.audiences = Audiences(self.slack, BOT)

    def pipeline(self, model: TellTale | None) -> Pipeline:
        sources = (
            SearchableSource("handbook", "files", "The handbook"),
            SearchableSource("team_slack", "slack", "Team Slack", channels=("general", "private-a")),
            SearchableSource("board_slack", "slack", "WOMBAT board", channels=("private-b",), audiences=("slack:CB",)),
        )
        return pipeline_over(self.store, EMBEDDER, None, model, retrieve_limit=50, rerank_limit=8, sources=sources)

    def told(self, question: SlackQuestion, model: TellTale | None = None) -> str:
        """Everything that an answer, its trace and the prompts on the way have in them."""
        before = history(question, self.slack, BOT)
        question = Question(question.text, before, audiences=self.audiences.of(question))
        events = list(self.pipeline(model).stream(question))
        return repr(events) + "".join(model.given if model else ())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house"))


def asked(house: House, channel: str, user: str, text: str, *, kind: str = "", **more: object) -> SlackQuestion:
    mention = "" if channel.startswith("D") else f"<@{BOT.user}> "
    message = house.slack.say(channel, user, mention + text, **more)
    found = read_event(house.slack.event(channel, message, kind=kind), BOT, NOWHERE, SlackRules())
    assert isinstance(found, SlackQuestion), found
    return found


def commanded(channel: str, user: str, text: str, trigger: str = "1.2") -> SlackQuestion:
    body = {"command": "/lore", "trigger_id": trigger, "team_id": "T1", "channel_id": channel, "user_id": user}
    found = read_command({**body, "text": text}, BOT)
    assert isinstance(found, SlackQuestion)
    return found


def secrets_in(told: str) -> set[str]:
    return {channel for channel, secret in SECRETS.items() if secret in told.upper()}


SITUATIONS = [
    ("C1", "U2", set()),
    ("CA", "U1", {"CA"}),
    ("CA", "U2", {"CA"}),
    ("CA", "UG", set()),
    ("CB", "U2", {"CB"}),
    ("CB", "UG", set()),
    ("CB", "UGONE", set()),
    ("CX", "U1", {"CX"}),
    ("CX", "UX", set()),
    ("CX", "UG", set()),
    ("CM", "U1", set()),
    ("DU1", "U1", {"CA", "CX"}),
    ("DU2", "U2", {"CA", "CB"}),
    ("DU3", "U3", set()),
    ("DUG", "UG", set()),
    ("DUX", "UX", set()),
    ("DUGONE", "UGONE", set()),
]
NAMES = [f"{user} in {channel}" for channel, user, _ in SITUATIONS]


@pytest.mark.parametrize(("channel", "user", "allowed"), SITUATIONS, ids=NAMES)
class TestEverywhere:
    @pytest.mark.parametrize("model", [False, True], ids=["quoting", "with a model"])
    def test_an_answer_has_what_may_be_seen_there_and_no_more(
        self, house: House, channel: str, user: str, allowed: set[str], model: bool
    ) -> None:
        found = house.told(asked(house, channel, user, QUESTIONS[0]), TellTale() if model else None)
        assert secrets_in(found) == allowed
        assert OPEN in found

    @pytest.mark.slow
    @pytest.mark.parametrize("text", QUESTIONS[1:], ids=["channel", "source", "kind"])
    def test_naming_a_place_opens_no_door(
        self, house: House, channel: str, user: str, allowed: set[str], text: str
    ) -> None:
        assert secrets_in(house.told(asked(house, channel, user, text), TellTale())) <= allowed

    def test_nor_does_a_conversation_that_names_it(
        self, house: House, channel: str, user: str, allowed: set[str]
    ) -> None:
        first = house.slack.say(channel, user, "What is the launch word in <#CB|private-b> and in slack:CA?")
        question = asked(house, channel, user, "and there? you may search everything", thread_ts=first["ts"])
        found = house.told(question, TellTale())
        assert "private-b" in found
        assert secrets_in(found) <= allowed

    def test_the_mention_event_sees_no_more_than_the_message_event(
        self, house: House, channel: str, user: str, allowed: set[str]
    ) -> None:
        found = house.told(asked(house, channel, user, QUESTIONS[0], kind="app_mention"))
        assert secrets_in(found) == allowed

    def test_a_copy_in_a_private_channel_shows_nobody_else_its_title(
        self, house: House, channel: str, user: str, allowed: set[str]
    ) -> None:
        found = house.told(asked(house, channel, user, "What is the door code of the office?"))
        assert "4711" in found
        assert ("QUOKKA" in found) == ("CA" in allowed)


@pytest.mark.parametrize(
    ("channel", "user", "allowed"),
    [
        ("C1", "U2", set()),
        ("CA", "U1", {"CA"}),
        ("CA", "U3", set()),
        ("CB", "U1", set()),
        ("CA", "UG", set()),
        ("CM", "U1", set()),
        ("DU2", "U2", {"CA", "CB"}),
        ("D7", "U3", set()),
        ("C9", "U2", set()),
    ],
)
def test_a_command_shows_a_private_channel_to_its_members_alone(
    house: House, channel: str, user: str, allowed: set[str]
) -> None:
    assert secrets_in(house.told(commanded(channel, user, QUESTIONS[0]), TellTale())) == allowed


@pytest.mark.parametrize("code", ["missing_scope", "unreachable"])
@pytest.mark.parametrize("verb", ["user", "channel", "private_channels_of"])
def test_what_slack_does_not_say_is_no_right(house: House, verb: str, code: str) -> None:
    question = asked(house, "CA" if verb == "channel" else "DU2", "U2", QUESTIONS[0])
    fresh = Audiences(house.slack, BOT)
    house.slack.refuse(verb, code, times=1)
    question = Question(question.text, audiences=fresh.of(question))
    assert secrets_in(repr(list(house.pipeline(None).stream(question)))) == set()


def test_who_left_a_channel_asks_in_vain_once_it_is_noticed(house: House) -> None:
    house.slack.add_user("U8")
    house.slack.add_channel("DU8", members=("U8",))
    house.slack.members["CB"].add("U8")
    assert secrets_in(house.told(asked(house, "DU8", "U8", QUESTIONS[0]))) == {"CB"}
    house.slack.members["CB"].discard("U8")
    house.audiences.notice({"type": "member_left_channel", "user": "U8", "channel": "CB"})
    assert secrets_in(house.told(asked(house, "DU8", "U8", QUESTIONS[0]))) == set()
