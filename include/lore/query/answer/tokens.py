"""Context windows of language models, and an estimate of the tokens of a text.

The estimate needs no vendor's tokenizer. Divided by MiniLM's number of tokens, on passages of 1,000 characters (in
brackets: nine passages of ten), it is

    documentation    .98 (.75 to 1.27)
    Stack Overflow  1.02 (.79 to 1.25)
    abstracts       1.30 (1.05 to 1.59)

It is too low by a quarter for much code, but not for a whole prompt. Tokenizers of large
models have larger vocabularies, and so count fewer tokens.
"""

from __future__ import annotations

import re
from itertools import accumulate, takewhile

from lore.markdown import code_blocks

__all__ = ["context_window", "estimate_tokens", "shorten"]

CHARACTERS_PER_TOKEN = 3.5
WIDE_CHARACTERS_PER_TOKEN = 1.5
DEFAULT_WINDOW = 8_192
"""The window of a model that isn't in the table."""
WINDOWS = (
    (r"gpt-4\.1", 1_000_000),
    (r"gemini", 1_000_000),
    (r"gpt-5", 400_000),
    (r"claude|(?:^|[:/.-])o[1-9](?:-|$)", 200_000),
    (r"gpt-4o|gpt-4-turbo|chatgpt|command-(?:r|a)|llama-?(?:3\.[1-9]|4)|mistral-(?:large|medium|small)", 128_000),
    (r"gpt-3\.5", 16_000),
)
"""Patterns in order, the first match counts; rounded down from the vendors' model pages of November 2026."""
OLLAMA_WINDOW = 16_384
"""The window that Lore requests of Ollama, whatever the model could read."""

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_SENTENCE_END = re.compile(r"[.!?:;][\"')\]*_`]*(?=\s)|[。！？]|\n")


def context_window(model: str, configured: int | None = None) -> int:
    """Return the tokens that a chat model ("provider:name") reads and writes: configured, by the table, or 8,192."""
    if configured:
        return configured
    if model.startswith("ollama:"):
        return OLLAMA_WINDOW
    return next((window for name, window in WINDOWS if re.search(name, model.lower())), DEFAULT_WINDOW)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rounded up."""
    wide = 0 if text.isascii() else sum(1 for _ in _WIDE.finditer(text))
    return -int(-((len(text) - wide) / CHARACTERS_PER_TOKEN + wide / WIDE_CHARACTERS_PER_TOKEN) // 1)


def shorten(text: str, tokens: int) -> str:
    """Return the beginning of a text, of about this many tokens, cut at a paragraph, else a sentence, line or word.

    "…" marks the cut; a code block that is cut gets its closing fence.
    """
    if estimate_tokens(text) <= tokens:
        return text
    limit = _characters(text, tokens)
    cut = text[:limit]
    ends = [match.start() for match in _PARAGRAPH_END.finditer(cut)]
    if not ends or ends[-1] < limit // 2:
        ends = [match.end() for match in _SENTENCE_END.finditer(cut)]
    if not ends or ends[-1] < limit // 2:
        ends = [cut.rfind(" ")] if " " in cut else [limit]
    cut = cut[: ends[-1]].rstrip()
    last = next(reversed(list(code_blocks(cut))), None)
    return f"{cut}\n…\n{last.fence}" if last and not last.closed and last.end == len(cut) else f"{cut} …"


def _characters(text: str, tokens: int) -> int:
    """Return the number of leading characters that are about this many tokens."""
    if text.isascii():
        return int(tokens * CHARACTERS_PER_TOKEN)
    weights = (1 / (WIDE_CHARACTERS_PER_TOKEN if _WIDE.match(sign) else CHARACTERS_PER_TOKEN) for sign in text)
    return sum(1 for _ in takewhile(lambda used: used <= tokens, accumulate(weights)))
