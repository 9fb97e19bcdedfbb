"""Bytes to text: byte order mark, then valid UTF-8, then the declared charset, then what the bytes look like."""

from __future__ import annotations

import codecs
import re

from lore.errors import ConversionError

__all__ = ["clean", "decode", "refuse_binary"]

SAMPLE = 64 * 1024
"""How many bytes are looked at where all of them would take too long."""

MAX_CONTROL_SHARE = 0.08
"""Control characters in a random or encrypted blob are 11 % of its bytes, in the worst of real pages 6 %."""

FEW = 4
"""As many control characters say nothing about a short text."""

BOMS = (  # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

MAGIC = {
    b"%PDF-": "a PDF file",
    b"PK\x03\x04": "a ZIP archive or Office file",
    b"\x1f\x8b": "a gzip archive",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x7fELF": "a program",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"SQLite format 3\x00": "an SQLite database",
}

SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "koi8-r": "koi8-u",
}
"""What browsers decode instead of a label, after the WHATWG Encoding Standard: pages use the larger set."""

# UTF-7 is never honoured, and UTF-16 in an ASCII-readable declaration cannot be true.
NEVER = frozenset({"utf-7", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"})

SEVEN_BIT = frozenset({"iso2022_jp", "iso2022_kr", "hz"})
"""Encodings in which any text is also valid ASCII: a declaration is the only sign of them."""

DECLARATIONS = (
    re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([\w.:-]+)""", re.IGNORECASE),
    re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE),
    re.compile(rb"""\A(?:[^\n]*\n)?[ \t\f]*#[^\n]{0,100}?coding[:=][ \t]*([\w.-]+)"""),  # PEP 263
)

SIGNS = "«»¿¡“”„‘’‚–—…•€§°©®™£´·±×½¼¾²³ªº\xa0"
ALPHABETS = {
    "cp1252": frozenset(SIGNS + "äöüÄÖÜßàâáãåæçèéêëìíîïñòóôõøùúûÀÁÂÃÅÆÇÈÉÊËÍÎÏÑÓÔÕØÚÛœŒ"),
    "cp1254": frozenset(SIGNS + "çğıöşüÇĞİÖŞÜâîûÂÎÛ"),
}
"""Languages that share most letters with ASCII leave a statistical guess too little to go by; their letters do not."""

CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
SURROGATES = re.compile(r"[\ud800-\udfff]")


def decode(data: bytes) -> str:
    """The text of a file, without byte order mark. Raises ConversionError when it is not text."""
    for mark, name in BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    for magic, what in MAGIC.items():
        if data.startswith(magic):
            raise _binary(what)
    if wide := _unmarked_wide(data[:SAMPLE]):
        return data.decode(wide, "replace")
    _refuse_controls(data)
    declared = _declared(data[:4096])
    if declared in SEVEN_BIT and (text := _try(data, declared)) is not None:
        return text
    if (text := _try(data, "utf-8")) is not None:
        return text
    if declared and (text := _try_loosely(data, declared)) is not None:
        return text
    if (text := _try_loosely(data, "utf-8")) is not None:
        return text
    return _guess(data)


def refuse_binary(text: str) -> None:
    """Raise ConversionError when a text is a blob that somebody decoded by force."""
    sample = text[:SAMPLE]
    if not sample:
        return
    for magic, what in MAGIC.items():
        if len(magic) > 3 and sample.encode("latin-1", "ignore").startswith(magic):
            raise _binary(what)
    strange = len(CONTROLS.findall(sample)) + sample.count("\ufffd") + len(SURROGATES.findall(sample))
    if strange > max(FEW, MAX_CONTROL_SHARE * len(sample)):
        raise _binary("an encrypted or binary file")


def clean(text: str) -> str:
    """The text with line feeds as its only line endings and without characters that no store or screen can hold."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return SURROGATES.sub("\ufffd", CONTROLS.sub("", text))


def _binary(what: str) -> ConversionError:
    return ConversionError(
        f"The document looks binary: {what}.", remedy="Leave it out of the source, or give it as text."
    )


def _refuse_controls(data: bytes) -> None:
    sample = data[:SAMPLE]
    controls = len(sample) - len(sample.translate(None, bytes([*range(9), 11, *range(14, 27), *range(28, 32), 127])))
    if controls > max(FEW, MAX_CONTROL_SHARE * len(sample)):
        raise _binary("an encrypted or binary file")


def _unmarked_wide(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: text that is mostly ASCII has its zero bytes in fixed places."""
    for width, name in ((4, "utf-32"), (2, "utf-16")):
        columns = [sample[offset::width] for offset in range(width)]
        rows = len(columns[-1])
        if rows < 4:
            continue
        zeros = [column.count(0) / len(column) for column in columns]
        if min(zeros[1:]) > 0.9 and zeros[0] < 0.1:
            return f"{name}-le"
        if min(zeros[:-1]) > 0.9 and zeros[-1] < 0.1:
            return f"{name}-be"
    return None


def _declared(head: bytes) -> str | None:
    for pattern in DECLARATIONS:
        if match := pattern.search(head):
            label = match.group(1).decode("ascii", "ignore").lower()
            try:
                name = codecs.lookup(label).name
            except LookupError:
                name = label
            name = SUPERSETS.get(name, SUPERSETS.get(label, name))
            if name not in NEVER and _is_text_codec(name):
                return name
    return None


def _is_text_codec(name: str) -> bool:
    try:
        return isinstance(b"a".decode(name), str)
    except (LookupError, ValueError, TypeError):
        return False


def _try(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _try_loosely(data: bytes, name: str) -> str | None:
    """The text when all but a few of the characters beyond ASCII decode: one bad byte must not lose a page."""
    text = data.decode(name, "replace")
    beyond = len(text) - sum(map(str.isascii, text)) if not text.isascii() else 0
    return text if text.count("\ufffd") <= 0.05 * beyond else None


def _guess(data: bytes) -> str:
    """Text in a Latin alphabet by its letters, any other by what charset-normalizer finds most like a language."""
    sample = _lines_beyond_ascii(data)
    if sum(byte > 127 for byte in sample) < 0.35 * len(sample):  # other scripts have half of their bytes up there
        for name, letters in ALPHABETS.items():
            if set(re.sub(r"[\x00-\x7f]", "", sample.decode(name, "replace"))) <= letters:
                return data.decode(name, "replace")
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    if best is None:
        return data.decode("cp1252", "replace")
    return data.decode(SUPERSETS.get(codecs.lookup(best.encoding).name, best.encoding), "replace")


def _lines_beyond_ascii(data: bytes) -> bytes:
    """A sample that tells: the lines that hold bytes beyond ASCII, without tags and entities."""
    text = re.sub(rb"<[^<>]{0,2000}>|&#?\w{1,10};", b" ", data[: 16 * SAMPLE])
    lines = [line for line in text.splitlines() if not line.isascii()]
    return b"\n".join(lines)[:SAMPLE] or data[:SAMPLE]
