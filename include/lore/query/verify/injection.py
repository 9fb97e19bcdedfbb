"""Detection of prompt injections: passages that instruct a language model instead of informing a reader.

No rule in a prompt keeps a model from obeying what it reads. So the check of an answer trusts no link, command or
statement that only a detected passage has. The model still gets the passage and may cite it, because a page about
prompt injection reads the same.

The patterns cover the kinds of instruction that the literature lists, in the languages with most speakers (Greshake et
al., "Not what you've signed up for", 2023; OWASP LLM01). The rest of the check catches an undetected one if it makes a
model write something that no passage has.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["contains_injection"]

MAX_CHARACTERS = 20_000

_WHAT = (
    r"(?:instructions?|rules?|prompts?|directions?|guidelines?|directives?|commands?|messages?|context|text|training"
    r"|system prompt|constraints?|policies)"
)
_WHOM = r"(?:ai|a\.i\.|llms?|assistants?|language models?|chat ?bots?|gpt|chatgpt|claude|copilot|models? reading)"
_DISOBEY = "ignore disregard forget override bypass discard follow"
_SAY = "reply respond answer output print say write return repeat"
_MODELS = "ai llm assistant model bot gpt claude copilot"
_INJECTIONS = tuple(
    (words.split(), re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for words, pattern in (
        (
            _DISOBEY,
            r"\b(?:ignore|disregard|forget|override|bypass|discard|do not follow|don't follow|stop following)\b"
            r"[^.\n]{0,40}\b(?:all|any|every|previous|prior|above|earlier|preceding|other|these|your|the)\b"
            rf"[^.\n]{{0,20}}\b{_WHAT}\b",
        ),
        (
            "instruction rule directive task orders",
            r"\b(?:new|updated|real|actual|hidden|secret|additional) "
            r"(?:instructions?|rules|directives?|task|orders)\s*:",
        ),
        (
            "you",
            r"\byou are (?:now|no longer|actually) (?:(?:an?|my|the|bound|root|dan|free)\b|in (?:\w+ )?mode\b|lore\b)",
        ),
        ("pretend act roleplay", r"\b(?:pretend|act as if|roleplay) (?:to be|you are|you're|that you|as)\b"),
        (
            "system assistant developer",
            r"(?:^|[.!?] )[\s#*>_\[(]*(?:system|assistant|developer)"
            r"(?: (?:message|prompt|note|override|instructions?))?[\])*_\s]*:",
        ),
        (
            "system",
            r"\bsystem (?:prompt|message|override)\b[^.\n]{0,40}(?::|\b(?:says|is now|requires|changed)\b)",
        ),
        (
            _MODELS,
            r"\b(?:note|attention|message|instructions?|important|warning|reminder|dear|hello|hey|hi)\b[\s,:!-]{1,4}"
            rf"(?:(?:to|for) )?(?:the |any |all |every |an? )?{_WHOM}\b",
        ),
        (
            _MODELS,
            rf"\b{_WHOM}\b[^.\n]{{0,30}}\b(?:must|should|shall|has to|have to|will now) (?:\w+ )?"
            r"(?:reply|respond|answer|say|ignore|write|include|cite|tell|obey|follow (?:this|these))\b",
        ),
        (
            _SAY,
            r"\b(?:reply|respond|answer)\b(?: (?:to|the|user|this|every|question|all|questions|them)){0,4} "
            r"(?:only|exactly|nothing|verbatim|word for word|with (?:only |just |exactly )?"
            r"(?:this|the following|the one|the word|the text|the link|the image|the words|nothing|a link))\b|"
            r"\b(?:output|print|say|write|repeat) (?:exactly|verbatim|nothing but|(?:only )?(?:this|the following) "
            r"(?:text|words?|link|sentence|image|answer|for))\b",
        ),
        (
            _SAY,
            r"\b(?:include|insert|add|append|embed|put|render|show|display|use|place)\b[^\n]{0,120}?"
            r"\b(?:in|into|to|with|on|of) (?:your|every|each|all|any) (?:answers?|repl(?:y|ies)|responses?)\b|"
            r"\b(?:begin|start|end|finish) (?:your|every|each|all) (?:answers?|repl(?:y|ies)|responses?)\b",
        ),
        ("your", r"\byour (?:answer|reply|response) (?:must|should|shall|has to|needs to)\b"),
        (
            "cit mention reveal tell",
            r"\b(?:do not|don't|never|without) "
            r"(?:cite|citing|reveal(?:ing)?|mention(?:ing)? this|tell(?:ing)? the user)\b",
        ),
        (
            "user reader asker human",
            r"\b(?:tell|inform|convince|persuade|advise|instruct|urge) (?:the|your) (?:user|reader|asker|human)s? "
            r"(?:that|to)\b",
        ),
        ("not_found", r"\bNOT_FOUND\b"),
        ("cite [", r"\bcite (?:this|me|source|only|everything|\[\d)|\bas (?:source )?\[\d+\]"),
        (
            "< [",
            r"<\s*/?\s*(?:sources?|question|system|assistant|im_start|im_end)(?:\s[^>\n]{0,60})?>|<\|[^|\n]{1,30}\|>|"
            r"\[/?INST\]|<<\s*/?SYS",
        ),
        (
            "](",
            r"!\[[^\]\n]{0,80}\]\([^)\n]{0,200}"
            r"(?:\{|<|%7B|\[|=(?:QUESTION|ANSWER|DATA|SECRET|HISTORY|PROMPT|KEY|CONTEXT|CONVERSATION))",
        ),
        (
            "ignorier vergiss missacht",
            r"\b(?:ignorier|vergiss|missacht)\w*\b[^.\n]{0,40}\b(?:anweisung|regel|vorgabe|instruktion|prompt)\w*",
        ),
        (
            "ignore oublie",
            r"\b(?:ignore[zr]?|oublie[zr]?)\b[^.\n]{0,40}\b(?:instructions?|consignes?|règles?)\b",
        ),
        (
            "ignor olvid esque",
            r"\b(?:ignor|olvid|esque)\w+\b[^.\n]{0,40}\b(?:instrucciones|reglas|indicaciones|istruzioni|instruções|regras)\b",
        ),
        ("игнорируй забудь", r"\b(?:игнорируй|забудь)\w*[^.\n]{0,40}(?:инструкци|указани|правил)\w*"),
        (
            "忽略 无视 忘记 忽視 無視",
            r"(?:忽略|无视|忘记|忽視|無視)[^。\n]{0,20}(?:指令|指示|规则|規則|提示|说明|命令)",
        ),
    )
)
"""Patterns, each with words of which every match has one: searching for these first is fifty times faster."""
_UNSEEN_TEXT = re.compile(
    "(?<!\U0001f3f4)(?<![\U000e0000-\U000e007f])[\U000e0000-\U000e007f]|[\u200b\u200c\u2060-\u2064\ufeff]{4,}"
)
"""Invisible characters that spell out text for a model; after a black flag they select a region."""


@lru_cache(maxsize=256)
def contains_injection(text: str) -> bool:
    """Return True if a passage addresses a language model or hides text."""
    text = text[:MAX_CHARACTERS]
    if _UNSEEN_TEXT.search(text):
        return True
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    text = re.sub(r"[^\S\n]+", " ", text)
    lower = text.lower()
    return any(any(word in lower for word in words) and pattern.search(text) for words, pattern in _INJECTIONS)
