"""Greetings and thanks, recognized without a language model."""

from __future__ import annotations

import re

__all__ = ["is_small_talk"]

MAX_WORDS = 6
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PHRASE_LIST = """
hello hi hey hiya howdy greetings welcome yo morning afternoon evening night good goodbye bye cheers thanks thank thx
ty please sorry ok okay great nice cool perfect awesome super wonderful lol yes yep no nope there all everyone team
folks lore you very much so a lot for your help again have day one weekend hallo guten tag morgen abend danke bitte
tschüss moin servus bonjour merci salut hola gracias ciao grazie olá obrigado schönen dank vielen
"""
_ASIAN_PHRASES = """
こんにちは こんばんは おはよう おはようございます ありがとう ありがとうございます ありがとうございました どうも
お疲れ様です 你好 谢谢 안녕하세요 감사합니다
"""
_PHRASE_WORDS = frozenset((_PHRASE_LIST + _ASIAN_PHRASES).split())
_OPENING_LIST = """
hello hi hey hiya howdy greetings yo good morning thanks thank thx ty goodbye bye cheers ok okay great nice cool
perfect awesome super wonderful lol hallo guten danke tschüss moin servus bonjour merci salut hola gracias ciao grazie
olá obrigado vielen
"""
_OPENINGS = frozenset((_OPENING_LIST + _ASIAN_PHRASES).split())


def is_small_talk(text: str) -> bool:
    """Return True for a message of a few words that only greets, thanks or agrees."""
    words = [word.lower() for word in _WORD.findall(text)]
    return bool(words) and len(words) <= MAX_WORDS and words[0] in _OPENINGS and _PHRASE_WORDS.issuperset(words)
