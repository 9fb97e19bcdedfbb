"""The tokens of a line of prose: words, spaces, and the signs that may begin a construct."""

from __future__ import annotations

import re

__all__ = ["STOPS", "TOKEN", "certain"]

STOPS = "。！？，、；："
TOKEN = re.compile(
    rf"""
    (?P<space> \s+ )
  | (?P<escape> \\[!-/:-@\[-`{{-~] )
  | (?P<ticks> `+ )
  | (?P<autolink> <(?:https?://|mailto:)[^\s<>|]*> )
  | (?P<reference> &(?:\#\d{{1,7}}|\#x[0-9a-f]{{1,6}}|[a-z][a-z0-9]{{1,31}}); )
  | (?P<bracket> !?\[ )
  | (?P<close> \] )
  | (?P<address> https?://[^\s<>"`|\\^{{}}\[\]{STOPS}]+ )
  | (?P<at> [@＠﹫] )
  | (?P<less> < )
  | (?P<emphasis> \*+ | _+ | ~+ )
  | (?P<stop> [{STOPS}] )
  | (?P<word> (?:(?!https?://)[^\s\\`<&!\[\]@＠﹫*_~{STOPS}])+ | . )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WHERE_WORDS_END = re.compile(rf"[{STOPS}]|\s(?=\S)|\s+$")


def certain(text: str) -> int:
    """Up to where the words are whole: the last space that a word ends at, or a stop of a script without spaces."""
    end = 0
    for match in _WHERE_WORDS_END.finditer(text):
        end = match.end() if match[0] in STOPS else match.start()
    return end
