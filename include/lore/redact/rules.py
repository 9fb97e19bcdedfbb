"""Rules that find secrets: a literal, a pattern matched at it, and a check of the match.

Texts are large and secrets rare. So each rule names literals, which `str.find` finds at the speed of memory, most of
them only among the long words of the text. A pattern is tried only at a literal. Patterns are bounded and start only at
the beginning of a word, so that the time is linear in any text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from lore.redact.placeholders import is_example_login, is_placeholder, is_strong_password, looks_random
from lore.redact.token_formats import TOKEN_FORMATS

__all__ = ["SecretRule", "SecretSpan", "find_secrets"]

LONGEST_KEY = 40_000
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
START = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9a-fA-F]{4}))"
"""Start of a token: the start of a word, or behind an escaped line end or an encoded character."""

END = r"(?![A-Za-z0-9])"

PASSWORDS = ("password", "passwd", "passphrase", "pwd")
NAMES = (*PASSWORDS, "secret", "token", "credential", "key")
"""Parts of the names of secrets, in lower case; "key" counts only behind one of `KEY_OF`."""

OF_KEYS = (
    "(?:api|access|private|auth|account|signing|encryption|fernet|master|secret|service|shared|storage|app|client)"
)
KEY_OF = re.compile(OF_KEYS + r"[_-]?\Z")
NAME = f"passw|passphrase|pwd[=:]|secret|token|credential|[_-]key|{OF_KEYS}key[=:]"
NAMED = re.compile(NAME, re.IGNORECASE)
"""A value with such a part is a name, or contains another assignment, which is checked by itself."""

NO_SECRET_BEFORE = re.compile(
    r"(?:page|next|continuation|csrf|xsrf|cursor|sync|resume|pagination|public|device|pad|eos|bos|mask)[\w-]{0,10}\Z"
)
NO_SECRET_AFTER = re.compile(r"_?(?:id|ur[il]|name|file|path|type|izer|count|hash|endpoint|version|arn|ref)s?(?![a-z])")
"""Text around a name that isn't the name of a secret: `next_page_token`, `secret_name`."""

AT_LOGIN = re.compile(r"://(?P<user>[^\s/?#:@\"'<>]{0,100}):(?P<secret>[^\s/?#@\"'<>]{1,300})@(?P<host>[\w.-]{0,200})")
CURL = re.compile(r" -(?:u|-user)[ =]{0,3}[\"']?(?P<user>[\w.@+-]{1,100}):(?P<secret>[^\s\"'\\]{4,200})")
BEARER = re.compile(r"(?:bearer|token)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,2000})", re.IGNORECASE)
BASIC = re.compile(r"basic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})", re.IGNORECASE)
SIGNED = re.compile(r"(?:sig|signature)=(?P<secret>[\w%+/=.~-]{16,600})", re.IGNORECASE)
JWT = re.compile(START + r"(?P<secret>(eyJ[\w-]{8,2000})\.([\w-]{2,12000})\.[\w-]{10,2000})")
DISCORD = re.compile(r"(?<![\w-])(?P<secret>([MNO][A-Za-z\d_-]{22,30})\.[\w-]{6}\.[\w-]{27,45})(?![\w-])")
TERRAFORM = r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,80}"
AZURE = r"[\w.~-]{3}\dQ~[\w.~-]{31,34}"
TELEGRAM = re.compile(r"(?<=\d{8}):(?P<secret>AA[\w-]{32,34})(?![\w-])")
PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
PUTTY = re.compile(r"Private-Lines: \d{1,3}\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{1,70}\s{1,2}){1,200})")
PEM_LETTERS = re.compile(r"[A-Za-z0-9+/=]")
PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=]|\\[nr]|\s){64,20000}")
LONG_RUN, BLOCK, OVERLAP = 20, 65_536, 64
BARE = r"[^\s\"'`\\<>&,;|)\]}]"
ASSIGNED = re.compile(
    r"(?P<suffix>\w{0,12})[\"'`]?(?P<sign>[ \t]{0,4}(?::=|=>|==?|:|%3D)[ \t]{0,4}|[ \t]{1,4})(?:(?:Bearer|Token)[ \t])?"
    r"(?:\"(?P<double>[^\"\\\n]{4,600})\"|'(?P<single>[^'\\\n]{4,600})'|`(?P<back>[^`\\\n]{4,600})`"
    rf"|(?!{BARE}{{0,30}}?(?:{NAME}))(?P<bare>{BARE}{{4,600}}))",  # a name is found earlier
    re.IGNORECASE,
)
TOKEN = re.compile(r"[\w+/=.~%:-]+")
CONNECTION = re.compile(r"(?:server|data source|host|uid|user id|database|user)\s{0,3}=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """A secret's place in a text, and its kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A rule for one kind of secret.

    The pattern is matched `back` characters before each of the `literals` (in any case, if `folded`). Its group
    "secret" is a secret if `accepts` returns True. Unless the rule is `spaced`, literal and secret are one run of at
    least 20 characters without white space.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[re.Match[str]], bool]
    folded: bool = False
    spaced: bool = False
    back: int = 0


def find_secrets(text: str) -> list[SecretSpan]:
    """Return the secrets in a text, in order, without overlaps; the more specific of two rules names a secret."""
    lowered = text.replace("\u0130", "i").lower()  # the only letter whose lower case has another length
    found: list[tuple[int, int, int, str]] = []
    for order, spans in enumerate((_private_keys(text), _by_rules(text, lowered), _assigned(text, lowered))):
        found.extend((span.start, span.end, order, span.kind) for span in spans)
    merged: list[tuple[int, int, int, str]] = []
    for start, end, order, kind in sorted(found):
        if merged and start < merged[-1][1]:
            before = merged[-1]
            best = min((before[2], before[3]), (order, kind), key=lambda pair: pair[0])
            merged[-1] = (before[0], max(before[1], end), *best)
        else:
            merged.append((start, end, order, kind))
    return [SecretSpan(start, end, kind) for start, end, _, kind in merged]


def _by_rules(text: str, lowered: str) -> Iterator[SecretSpan]:
    runs = "\n".join(_long_runs(text))
    folded_runs = runs.lower()
    for rule in _rules():
        where = lowered if rule.folded else text
        first = where if rule.spaced else folded_runs if rule.folded else runs
        for literal in rule.literals:
            place = where.find(literal) if literal in first else -1
            while place >= 0:
                after = place + len(literal)
                match = rule.pattern.match(text, max(0, place - rule.back))
                if match:
                    after = max(after, match.end())
                    if rule.accepts(match):
                        yield SecretSpan(*match.span("secret"), rule.kind)
                place = where.find(literal, after)
    if "discord" in lowered:  # these have no prefix, so the text must name their maker
        for match in DISCORD.finditer(text):
            if _decoded(match[2]).isdigit():
                yield SecretSpan(*match.span("secret"), "Discord bot token")


def _long_runs(text: str) -> Iterator[str]:
    """Yield the long words of overlapping blocks, so that a word cut at the end of one is whole in the next."""
    for start in range(0, len(text), BLOCK):
        yield from (word for word in text[start : start + BLOCK + OVERLAP].split() if len(word) >= LONG_RUN)


@cache
def _rules() -> tuple[SecretRule, ...]:
    rules = [
        SecretRule("password", ("://",), AT_LOGIN, _is_login, spaced=True),
        SecretRule(
            "access token",
            ("bearer ", "token "),
            BEARER,
            lambda match: looks_random(match["secret"]),
            folded=True,
            spaced=True,
        ),
        SecretRule("password", ("basic ",), BASIC, _is_basic, folded=True, spaced=True),
        SecretRule(
            "signature", ("sig=", "signature="), SIGNED, lambda match: looks_random(match["secret"]), folded=True
        ),
        SecretRule("JSON Web Token", ("eyJ",), JWT, _is_jwt),
        SecretRule("password", (" -u", " --user"), CURL, _is_curl, spaced=True),
        SecretRule("private key", ("Private-Lines: ",), PUTTY, _is_real, spaced=True),
        SecretRule("Telegram bot token", (":AA",), TELEGRAM, _is_real),
        SecretRule("Terraform token", (".atlasv1.",), _pattern("", TERRAFORM), _is_real, back=14),
        SecretRule("Azure client secret", ("Q~",), _pattern("", AZURE), _is_real, back=4),
    ]
    for kind, beginning, rest in TOKEN_FORMATS:
        rules.append(SecretRule(kind, (beginning,), _pattern(beginning, rest), _is_real))
    return tuple(rules)


def _pattern(beginning: str, rest: str) -> re.Pattern[str]:
    start = START if (beginning or "A")[0].isalnum() else ""
    body = re.escape(beginning) + rest
    return re.compile(f"{start}{body}{END}" if "?P<secret>" in body else f"{start}(?P<secret>{body}){END}")


def _is_real(match: re.Match[str]) -> bool:
    """Return True if a token is real: by its check digits, else by its look."""
    secret = match["secret"]
    return not is_placeholder(secret) or _has_check_digits(secret)


def _has_check_digits(token: str) -> bool:
    """Return True if the last six characters are the CRC-32 of the others in base 62, as in tokens of GitHub and npm.

    https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
    """
    random, check = token.partition("_")[2][:-6], token[-6:]
    number, digits = zlib.crc32(random.encode()), ""
    while number:
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return len(random) == 30 and digits.rjust(6, "0") == check


def _is_login(match: re.Match[str]) -> bool:
    return not is_example_login(match["user"], match["secret"], match.groupdict().get("host") or "")


def _is_curl(match: re.Match[str]) -> bool:
    """Return True for `-u NAME:PASSWORD` of an HTTP client: other programs take users and groups there."""
    before = match.string[max(0, match.start() - 400) : match.start()].rpartition("\n")[2]
    if not any(program in before for program in ("curl", "http", "wget")):  # fast, and mostly true
        return False
    return bool(re.search(r"\b(?:curl|https?|wget)\b", before)) and not match["secret"].isdigit() and _is_login(match)


def _is_basic(match: re.Match[str]) -> bool:
    user, colon, password = _decoded(match["secret"]).partition(":")
    return bool(colon) and user.isprintable() and password.isprintable() and not is_example_login(user, password)


def _is_jwt(match: re.Match[str]) -> bool:
    """Return True if the header is JSON with an algorithm, unless it is the example of every page on JWTs."""
    try:
        header = json.loads(_decoded(match[2]))
    except ValueError:
        return False
    return isinstance(header, dict) and "alg" in header and "1234567890" not in _decoded(match[3])


def _decoded(part: str) -> str:
    """Return the text in base64 of either alphabet, "" for anything else."""
    try:
        return base64.b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4), altchars=b"-_").decode()
    except (binascii.Error, ValueError):
        return ""


def _private_keys(text: str) -> Iterator[SecretSpan]:
    begin = text.find("-----BEGIN ")
    while begin >= 0:
        head = PEM.match(text, begin)
        after = begin + 1
        if head:
            stop = text.find("-----", head.end())
            after = stop if stop >= 0 else len(text)
            closing = text.find("-----", stop + 5) if stop >= 0 and text.startswith("-----END ", stop) else -1
            body = text[head.end() : after] if closing >= 0 and after - head.end() < LONGEST_KEY else ""
            cut = PEM_BODY.match(text, head.end())
            if len(PEM_LETTERS.findall(body)) >= 60 and "..." not in body:
                after = closing + 5
                yield SecretSpan(begin, after, "private key")
            elif cut:  # the end is missing
                yield SecretSpan(begin, cut.end(), "private key")
        begin = text.find("-----BEGIN ", after)


def _assigned(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield values that are named a secret and look like one."""
    for name in NAMES:
        place = lowered.find(name)
        while place >= 0:
            end = place + len(name)
            before = lowered[max(0, place - 40) : place]
            if name != "key" or KEY_OF.search(before[-12:]):
                match = ASSIGNED.match(text, end)
                if match and (span := _value(match, before, name)):
                    yield SecretSpan(
                        *span, "password" if name in PASSWORDS else "access token" if name == "token" else "secret"
                    )
                    end = span[1]
            place = lowered.find(name, end)


def _value(match: re.Match[str], before: str, name: str) -> tuple[int, int] | None:
    """Return the place of the value if its name and its look show that it is a secret."""
    group = next(name for name in ("double", "single", "back", "bare") if match[name] is not None)
    value = match[group]
    option = re.search(r"--[\w-]*\Z", before) is not None
    if (match["sign"].isspace() and not option) or NO_SECRET_BEFORE.search(before):
        return None
    if NO_SECRET_AFTER.match(match["suffix"].lower()) or NAMED.search(value):
        return None
    random = TOKEN.fullmatch(value) is not None and looks_random(value)
    if name in PASSWORDS:
        line = match.string[max(0, match.start() - 300) : match.start()].rpartition("\n")[2]
        lenient = match["sign"] == "=" and ";" in line and CONNECTION.search(line) is not None
        random = random or is_strong_password(value) or (lenient and not is_example_login("", value))
    return match.span(group) if random else None
