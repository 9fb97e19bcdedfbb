"""Drafts of questions from the documents of a source, for a person to accept.

With a language model, each draft is one structured call over one document. Without one, the drafts are the questions
that documents themselves ask. Either way a draft must pass `suggest_check`, and question sets leave it out until
somebody has read it and removed its `draft: true`.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import BaseModel

from lore.errors import ModelError
from lore.evaluation.compare.index import total
from lore.evaluation.questions.suggest_check import LONGEST_QUOTE, DraftCheck
from lore.ingest.finish.visibility import is_hidden
from lore.prompts import read_prompt
from lore.protocols import ChatModel, Store
from lore.query.content_words import content_words
from lore.types import PUBLIC, Document, Message, Usage

__all__ = ["Draft", "QuestionDrafts", "drafts_yaml", "suggest"]

GOLDEN = (math.sqrt(5) - 1) / 2
FEWEST_CHARACTERS = 80
"""Shortest document that is likely to answer a question."""
LONGEST_TEXT = 12_000
CALLS_FOR_A_DRAFT = 2
FAILURES_IN_A_ROW = 3
READ_AT_ONCE = 50
FEWEST_ASKED_WORDS = 3
FEWEST_PROSE_WORDS = 6
TOKENS = ("input_tokens", "output_tokens")

_FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[^\n]*$", re.MULTILINE | re.DOTALL)
_MARKERS = re.compile(r"^[\s>]*(?:[-*+]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)?")
_ASKED = re.compile(r"[^.!?:\n]{8,300}\?(?=\s|$|[*_\"'”)])")


class DraftReply(BaseModel):
    """The model's reply on one document."""

    question: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, the id of the page that answers it, and the verbatim line of that page that does."""

    question: str
    page: str
    quote: str
    audiences: tuple[str, ...] = (PUBLIC,)

    def item(self) -> dict[str, Any]:
        """Return the draft as an item of a question file, asked by somebody who may see its page."""
        audiences = {} if PUBLIC in self.audiences else {"audiences": list(self.audiences)}
        return {"question": self.question, "pages": [self.page], **audiences, "reference": self.quote, "draft": True}


@dataclass(frozen=True, slots=True)
class QuestionDrafts:
    """Drafts; `dropped` counts the others by reason, `model` is "" without one; `usage` is the cost of the calls."""

    source: str
    model: str
    drafts: tuple[Draft, ...]
    documents: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    usage: tuple[Usage, ...] = ()

    def cost_sentence(self) -> str:
        """Return the cost of the calls in a sentence."""
        cost = total([usage.cost for usage in self.usage])
        read, written = (total([getattr(usage, name) for usage in self.usage]) for name in TOKENS)
        tokens = "an unknown number of" if read is None or written is None else f"{read + written:,}"
        return f"{len(self.usage):,} calls, {tokens} tokens, {'an unknown cost' if cost is None else f'${cost:.4f}'}."

    def to_json(self) -> dict[str, Any]:
        """Return the drafts as JSON values."""
        return asdict(self)


def suggest(
    store: Store,
    source: str,
    chat_model: ChatModel | None,
    *,
    count: int,
    seed: int = 0,
    known: Sequence[str] = (),
    listener: Callable[[int, int], None] = lambda done, total: None,
) -> QuestionDrafts:
    """Return up to `count` drafts, none nearly equal to a question in `known`.

    Documents are taken spread over the source, the same for the same seed. Three failed calls in a row end it. Raises
    StoreError, and ModelError if it ends so without a draft.
    """
    ids = sorted(id_ for id_, mark in store.fingerprints(source).items() if not is_hidden(mark))
    most = count * CALLS_FOR_A_DRAFT if chat_model else len(ids)
    check = DraftCheck(known)
    drafts: list[Draft] = []
    dropped: Counter[str] = Counter()
    usage: list[Usage] = []
    looked_at = failures = 0
    for document in _documents(store, source, [ids[place] for place in _spread(len(ids), seed)]):
        if len(drafts) == count or looked_at == most:
            break
        if len(document.text) < FEWEST_CHARACTERS:
            continue
        looked_at += 1
        try:
            found = [_ask(chat_model, document, usage)] if chat_model else list(_asked_in(document))
            failures = 0
        except ModelError as error:
            failures += 1
            dropped[f"the language model failed: {error.message}"] += 1
            if failures < FAILURES_IN_A_ROW:
                continue
            if not drafts:
                raise
            break  # those that are there are paid for
        reasons = []
        for draft in found:
            reasons.append(check.refusal(draft.question, draft.quote, document))
            if not reasons[-1]:
                drafts.append(draft)
                break
        else:
            dropped.update(reasons[:1])
        listener(len(drafts), count)
    name = chat_model.name if chat_model else ""
    return QuestionDrafts(source, name, tuple(drafts), looked_at, dict(dropped), tuple(usage))


def drafts_yaml(found: QuestionDrafts) -> str:
    """Return the drafts as a question file, with instructions at its head."""
    import yaml

    how = f"drafted by {found.model}" if found.model else "that its documents themselves ask, taken out without a model"
    head = (
        f"# Questions on {found.source}, {how}. Not one of them counts yet.\n"
        "# Read each one and the page it names; correct the question, name all pages that answer, say the reference\n"
        "# in your own words; then delete `draft: true`. Delete the drafts that nobody would ask.\n"
    )
    items = [yaml.safe_dump([draft.item()], allow_unicode=True, sort_keys=False, width=100) for draft in found.drafts]
    return "\n".join([head, *items])


def _spread(size: int, seed: int) -> list[int]:
    """Return all places from 0, in an order whose beginnings of any length are spread evenly over the whole.

    Multiples of the golden ratio, modulo 1, have that property (Weyl's sequence; Knuth, "The Art of Computer
    Programming", volume 3, section 6.4, theorem S). The seed sets the start.
    """
    start = random.Random(seed).random()  # noqa: S311  no secret depends on it
    places = (int(size * ((start + number * GOLDEN) % 1.0)) for number in range(2 * size))
    return list(dict.fromkeys([*places, *range(size)]))


def _documents(store: Store, source: str, ids: Sequence[str]) -> Iterator[Document]:
    """Yield the documents in the order of their ids, read in batches."""
    for start in range(0, len(ids), READ_AT_ONCE):
        wanted = ids[start : start + READ_AT_ONCE]
        read = {document.id: document for document in store.documents(source, ids=wanted)}
        yield from (read[id_] for id_ in wanted if id_ in read)


def _ask(chat_model: ChatModel, document: Document, usage: list[Usage]) -> Draft:
    prompt = read_prompt("lore.evaluation.prompts", "suggest")
    page = json.dumps({"title": document.title, "text": document.text[:LONGEST_TEXT]}, ensure_ascii=False)
    reply = chat_model.structured([Message("system", prompt), Message("user", page)], DraftReply, on_usage=usage.append)
    return _draft(reply.question, reply.quote, document)


def _draft(question: str, quote: str, document: Document) -> Draft:
    return Draft(" ".join(question.split()), document.id, " ".join(quote.split()), document.audiences)


def _asked_in(document: Document) -> Iterator[Draft]:
    """Yield the questions that the document asks, each with the next paragraph of prose.

    Questions of few words, such as "What did we miss?", depend on their context and are skipped.
    """
    text = _FENCE.sub("", document.text)
    paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
    for place, paragraph in enumerate(paragraphs):
        asked = _ASKED.search(_MARKERS.sub("", paragraph.splitlines()[0]))
        if asked is None or len(set(content_words(asked[0]))) < FEWEST_ASKED_WORDS:
            continue
        question = asked[0].strip(" *_\"'“”")
        following = next(filter(_is_prose, paragraphs[place + 1 :]), "")
        if following:
            yield _draft(question[:1].upper() + question[1:], " ".join(following.split())[:LONGEST_QUOTE], document)


def _is_prose(paragraph: str) -> bool:
    """True unless it is a heading, a table, an image, or a line that names the writer of what follows."""
    return paragraph[0] not in "#|!<" and len(paragraph.split()) >= FEWEST_PROSE_WORDS
