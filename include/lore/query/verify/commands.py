"""Commands and names in the code of an answer, compared with those of the sources.

The sources (or the question) must have every shell command: the program with its subcommand as written, and each flag,
path and other word somewhere. Other commands are removed, because readers paste them. Other code may be an adapted
example, so it stays, and names in it that no source has are marked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

__all__ = ["REMOVED_COMMAND", "AllowedCode", "defined_names", "is_shell"]

REMOVED_COMMAND = "(command removed)"
_SHELL_LIST = "sh bash zsh shell console shell-session fish powershell ps1 pwsh cmd bat batch terminal"
_SHELLS = frozenset(_SHELL_LIST.split())
_HARMLESS_LIST = "cd ls cat echo export set true false pwd mkdir then fi do done if else for in"
_HARMLESS_WORDS = frozenset(_HARMLESS_LIST.split())
"""Shell words that need no source."""
_RISKY_MODULE_LIST = "os subprocess shutil socket ctypes pty importlib builtins code runpy"
_COMMON_LIST = """
print len range str int float bool list dict set tuple open enumerate zip map filter sorted sum min max any all type
super isinstance getattr setattr hasattr repr input format iter next abs round self cls args kwargs init main name None
True False null nil undefined true false this console log function const let var return import from class def lambda
async await raise except Exception ValueError TypeError KeyError RuntimeError append items keys values join split strip
get pop update read write close data key value string integer number object array boolean json yaml yml http https html
text txt md csv utf utf8 localhost example foo bar baz
"""
_COMMON_NAMES = sys.stdlib_module_names - frozenset(_RISKY_MODULE_LIST.split()) | frozenset(_COMMON_LIST.split())
"""Names of common languages, which no documentation explains."""
_RISKY = re.compile(
    r"\b(?:os\.(?:system|popen|remove|unlink|exec\w*|spawn\w*)|subprocess\.\w+|shutil\.(?:rmtree|move)|"
    r"eval\s*\(|exec\s*\(|__import__|child_process|execSync|Runtime\.getRuntime|Invoke-\w+|IEX\b|"
    r"(?:DROP|TRUNCATE|ALTER)\s+(?:TABLE|DATABASE|SCHEMA|USER)|DELETE\s+FROM|rm\s+-\w*[rf]|base64\s+(?:-d|--decode)|"
    r"mkfs|dd\s+if=|chmod\s+[0-7+]|curl\b|wget\b)",
    re.IGNORECASE,
)
_RISKY_PROSE = re.compile(
    r"\b(?:sudo\s+)?(?:rm\s+-\w*[rf]\w*\s+\S+|(?:curl|wget|iwr)\b[^|\n]{0,200}\|\s*(?:sudo\s+)?\w*sh\b|mkfs\S*\s+\S+|"
    r"dd\s+if=\S+|chmod\s+-?\w*\s?777\s+\S+|(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA)\s+\w+|DELETE\s+FROM\s+\w+|"
    r"os\.(?:system|popen)\s*\([^)]*\)|:\(\)\s*\{)"
)
"""Commands that nobody should paste, even from prose."""
_COMMAND = re.compile(
    r"\s*(?:[$>%#]\s+|(?:sudo|time|nohup|env)\s+|[A-Z_][A-Z0-9_]*=\S*\s+)*(?:\./|~?/)?[a-z][\w./+-]*(?:\s+\S.*)?$"
)
_SHELL_SIGNS = re.compile(r"(?:^|\s)--?[A-Za-z]|\s\|\s|&&|\|\||;\s*\w|\$\(|>>|\s>\s|<<|^\s*(?:sudo|\./|~/|\$\s)")
_PATH = re.compile(r"~?\.{0,2}/?[\w.@+-]+(?:/[\w.@+*-]+)+/?|\.{0,2}/[\w.@+-]+")
_SPLIT = re.compile(r"[\s\"'`(){}\[\]<>|;&,=]+")
_PLACEHOLDER = re.compile(r"<[^<>\s]+>|\$\{?\w+\}?|\{\{?[^{}]*\}?\}|\[[A-Za-z_-]+\]|\b(?:your|my|YOUR|MY)[-_]\w[\w-]*")
_NUMBER = re.compile(r"[\d.,:x%]+[A-Za-z]{0,2}")
_SHELL_COMMENT = re.compile(r"(?:^|\s)#.*$")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|--\s).*$")
_STRING = re.compile(r"(?:[rbfu]{0,2})(\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')", re.IGNORECASE)
_NAMES = re.compile(r"[A-Za-z_]\w*(?:[.-]\w+)*")
_USED = re.compile(
    r"(?<![\w.])(?P<called>[A-Za-z_][\w.]*)(?=\s{0,4}\()|^\s*(?:from|import)\s+(?P<imported>[\w.]+)"
    r"|^\s*(?:-\s+)?(?P<key>[A-Za-z_][\w.-]*)\s{0,4}:(?=\s|$)|(?<![\w.])(?P<dotted>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)"
)
_DEFINED = re.compile(
    r"^\s*(?:async\s+)?(?:def|class|function|const|let|var|func|fn|type|struct)\s+(\w+)"
    r"|^\s*(\w+(?:\s*,\s*\w+)*)\s*(?::\s*[\w\[\]., |]+)?\s*=(?!=)|\b(?:for|as|with)\s+(\w+(?:\s*,\s*\w+)*)"
)
_PARAMETERS = re.compile(r"\b(?:def|function|fn|func)\s+\w+\s*\(([^)]*)|\blambda\s+([^:]*):|\(([\w\s,]*)\)\s*=>")


def is_shell(language: str, line: str) -> bool:
    """Return True if a shell would run this line of a code block in that language ("" for none)."""
    if _RISKY.search(line):
        return True
    if language.lower() in _SHELLS:
        return bool(line.strip()) and not line.lstrip().startswith("# ")
    return not language and bool(_SHELL_SIGNS.search(line)) and bool(_COMMAND.match(line))


class AllowedCode:
    """The code and words of the sources and the question, which an answer may repeat."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = " ".join(" ".join(texts).split())
        self._words = {word.strip(".,:!?*") for word in _SPLIT.split(self._text)}
        self._words.update(name for word in tuple(self._words) for name in _parts(word))

    def has(self, code: str) -> bool:
        """Return True if the texts have the code as it is, except for white space."""
        code = " ".join(code.split())
        start = self._text.find(code)
        while code and start >= 0:
            end = start + len(code)
            if not (
                _continues_word(self._text[start - 1 : start], code[0])
                or _continues_word(self._text[end : end + 1], code[-1])
            ):
                return True
            start = self._text.find(code, start + 1)
        return False

    def allows_command(self, line: str) -> bool:
        """Return True if the texts have everything that a shell would run in this line."""
        line = _SHELL_COMMENT.sub("", line).strip().lstrip("$>% ").strip()
        if not line or self.has(line):
            return True
        if _RISKY.search(line) and not all(self.has(match[0].strip()) for match in _RISKY.finditer(line)):
            return False
        return all(self._allows_simple_command(part) for part in re.split(r"\|\|?|&&?|;|\$\(|`", line) if part.strip())

    def remove_risky_commands(self, prose: str) -> str:
        """Return prose without risky commands that the texts lack."""
        return _RISKY_PROSE.sub(lambda match: match[0] if self.has(match[0]) else REMOVED_COMMAND, prose)

    def _allows_simple_command(self, command: str) -> bool:
        words = command.split()
        while words and (
            words[0] in ("sudo", "time", "env", "nohup") or re.fullmatch(r"[A-Z_][A-Z0-9_]*=\S*", words[0])
        ):
            if words[0] == "sudo" and not self.has("sudo"):
                return False
            words = words[1:]
        plain = [word for word in words[:2] if re.fullmatch(r"[A-Za-z][\w.+-]*", word)]
        if len(plain) == 2 and words[0] not in _HARMLESS_WORDS and not self.has(" ".join(plain)):
            return False
        return all(self._allows_word(word) for word in _SPLIT.split(_PLACEHOLDER.sub(" ", " ".join(words))))

    def _allows_word(self, word: str) -> bool:
        word = word.strip(".,:!?*\\")
        if not word or word in self._words or word in _HARMLESS_WORDS or _NUMBER.fullmatch(word):
            return True
        if _PATH.fullmatch(word) or word.startswith("-"):
            return self.has(word)
        return not re.search(r"\w", word)

    def unknown_names(self, code: str, defined: frozenset[str] | set[str] = frozenset()) -> list[str]:
        """Return unknown names that the code calls, imports or sets: not in the texts, not defined, not common."""
        code = _PLACEHOLDER.sub(" ", _COMMENT.sub("", _STRING.sub('""', code)))
        if not code.strip() or self.has(code):
            return []
        names = (next(filter(None, match.groups())) for match in _USED.finditer(code))
        return [name for name in dict.fromkeys(names) if not self._allows_name(name, defined)]

    def _allows_name(self, name: str, defined: frozenset[str] | set[str]) -> bool:
        if name in self._words:
            return True
        parts = name.split(".")
        return all(
            len(part) < 3 or part in self._words or part in defined or part in _COMMON_NAMES for part in parts if part
        )

    def allows_inline(self, code: str) -> bool | None:
        """Return False for a code span with a command, flag or path that no text has, None for other unknown names."""
        code = code.strip()
        if self.has(code):
            return True
        if _PATH.fullmatch(code) or re.fullmatch(r"--?[A-Za-z][\w-]*(?:[ =]\S+)?", code):
            return self._allows_word(re.split(r"[ =]", code)[0])
        if (
            _SHELL_SIGNS.search(code)
            or _RISKY.search(code)
            or (_COMMAND.match(code) and len(code.split()) > 1 and "(" not in code)
        ):
            return self.allows_command(code)
        if re.fullmatch(r"[\w.-]+", code) and re.search(r"[A-Za-z]{3}", code):
            return True if self._allows_name(code.replace("-", "."), set()) else None
        return None if self.unknown_names(code) else True


def defined_names(line: str) -> set[str]:
    """Return the names that a line of code assigns, defines, imports, or takes as parameters."""
    groups = [group for match in _DEFINED.finditer(line) for group in match.groups() if group]
    groups += [group for match in _PARAMETERS.finditer(line) for group in match.groups() if group]
    return {name for group in groups for name in re.findall(r"[A-Za-z_]\w*", group)}


def _parts(word: str) -> Iterable[str]:
    return (part for name in _NAMES.findall(word) for part in (name, *re.split(r"[.-]", name)))


def _continues_word(neighbour: str, edge: str) -> bool:
    """Return True if a neighbouring character makes a piece of text part of another word."""
    return bool(neighbour) and (neighbour.isalnum() or neighbour == "_") and (edge.isalnum() or edge == "_")
