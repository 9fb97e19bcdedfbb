"""The wish behind the words of a message: an answer, or nothing.

Among people the bot stays silent in doubt, so a question needs a question mark, or words that begin one in English.
Thanks and short agreement are recognized in the languages that most teams write.
"""

from __future__ import annotations

import re

__all__ = ["is_acknowledgement", "is_question", "is_thanks"]

MAX_THANKS_WORDS = 16
MAX_AGREEING_WORDS = 6
"""A longer message says more than thanks, or than that somebody agrees."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_EMOJI = re.compile(r":[\w+'-]+:")
_QUESTION_MARK = re.compile("[?\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}]")
_OPENING = r"(?:(?:and|but|so|ok|okay|hi|hey|hello|also|then|now|well|yes|no|thanks|please|or)[\s,.!–-]+)*"
_ASKS = re.compile(
    rf"^{_OPENING}(?:"
    r"(?:what|how|why|where|when|who|which)(?:'s|\s+(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have"
    r"|about|if|to|come|many|much|long|often|not)\b)"
    r"|(?:can|could|should|shall|would|may|do|does|did|is|are|was|were|will|has|have)\s+"
    r"(?:i|we|you|it|there|this|that|they|someone|anyone|anybody|somebody)\b"
    r"|does\s+\w+|(?:show|tell|give|help)\s+(?:me|us)\b|explain\b|summari[sz]e\b"
    r")",
    re.IGNORECASE,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_THANKS = _set(
    "thanks thank thx tnx ty tysm cheers danke merci gracias obrigado obrigada grazie bedankt dank tack takk kiitos "
    "dzięki děkuji спасибо ありがとう 谢谢 감사합니다"
)
_PRAISES = _set("great awesome perfect excellent brilliant lovely wonderful amazing super")
_AGREES = _set("ok okay k kk yes yep yeah no nope sure right understood noted done cool nice got")
_BEGIN = _set("ok okay cool nice got noted understood great")
_FILLERS = _set(
    "a again all and answer as beaucoup bot cool dir do done euch everyone everything fixed for good got guys help "
    "helped helpful helps i i'll i've in is it job lore lot lots makes many me mille much muchas muito my nice now ok "
    "okay on quick reply response schön see sehr sense so that the then this to tons try very vielen was we we'll well "
    "will work worked works ya yep yes you your"
)
_TURNS = re.compile(
    r"\b(?:but|however|still|although|except|unfortunately|error|fails?|failed|instead)\b", re.IGNORECASE
)


def is_question(text: str) -> bool:
    """Return True if a message, as Markdown, asks something outside its code and addresses."""
    plain = _EMOJI.sub(" ", _CODE.sub(" ", text)).strip()
    return bool(_QUESTION_MARK.search(plain) or _ASKS.match(plain))


def is_thanks(text: str) -> bool:
    """Return True if a message only says thanks, or praises."""
    return not is_question(text) and _only(_words(text), _THANKS | _PRAISES)


def is_acknowledgement(text: str) -> bool:
    """Return True if a message only says thanks, or agrees: "thanks, that solved my trouble with the scheduler"."""
    words = _words(text)
    if is_question(text) or _TURNS.search(text):
        return False
    first, count = next(iter(words), ""), len(words)
    begins = (first in _THANKS and count <= MAX_THANKS_WORDS) or (first in _BEGIN and count <= MAX_AGREEING_WORDS)
    return begins or _only(words, _THANKS | _PRAISES | _AGREES)


def _only(words: list[str], wanted: frozenset[str]) -> bool:
    return any(word in wanted for word in words) and all(word in wanted or word in _FILLERS for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", _EMOJI.sub(" ", text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")).casefold())
