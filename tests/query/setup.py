"""A pipeline over a few passages, and the parts that it is made of."""

from __future__ import annotations

from collections.abc import Sequence

from lore.errors import StoreError
from lore.protocols import Recorder
from lore.types import Answer, Chunk, Question

from tests.fakes import FakeChatModel, FakeEmbedder
from tests.query.fakes import MemoryIndex, ReversingReranker, make_chunk, pipeline_over

KEY = "Rotate the API key under Settings. The old key works for a day.\n\n```sh\nlore key rotate\n```"
CHUNKS = (
    make_chunk("keys", KEY, headings=("Security", "API keys")),
    make_chunk("copy", KEY, source_id="wiki"),
    make_chunk("limits", "The API allows twenty calls a minute for each key."),
    make_chunk("fruit", "Bananas ripen faster beside apples."),
    make_chunk("secret", "The API key of the board is in the safe.", audiences=("board",)),
)
QUESTION = Question("How do I rotate the API key?")
PLAN = {"question": "", "wordings": ["rotate API key", "change the key", "The key is rotated under Settings"]}


class Setup:
    """A pipeline and its parts."""

    def __init__(
        self,
        structured: Sequence[object] = (),
        streamed: Sequence[object] | None = None,
        *,
        chunks: Sequence[Chunk] = CHUNKS,
        reranker: ReversingReranker | None = None,
        failing: StoreError | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        embedder = FakeEmbedder(dimensions=512)
        self.index = MemoryIndex(chunks, embedder, failing)
        self.chat = None if streamed is None else FakeChatModel(structured, streamed)
        self.pipeline = pipeline_over(self.index, embedder, reranker, self.chat, recorder=recorder)

    def ask(self, question: Question = QUESTION) -> Answer:
        return self.pipeline.ask(question)
