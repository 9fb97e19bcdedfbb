"""Decoding of bytes: byte order mark, then valid UTF-8, then the declared charset, then a guess from the bytes."""

from __future__ import annotations

import codecs
import re

from lore.errors import ConversionError

__all__ = ["clean", "decode", "refuse_binary"]

SAMPLE = 64 * 1024
"""Bytes examined where examining all of them would take too long."""

MAX_CONTROL_SHARE = 0.08
"""A random or encrypted blob has 11 % control characters, the worst real page 6 %."""

MIN_CONTROLS = 4
"""Up to this many control characters are normal in a short text."""

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
"""Encodings that browsers use for a declared label (WHATWG Encoding Standard): pages use the larger set."""

# UTF-7 is unsafe, and a declaration of UTF-16 that is readable as ASCII is false.
NEVER_DECLARED = frozenset({"utf-7", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"})

SEVEN_BIT = frozenset({"hz", "iso2022_kr", "iso2022_jp", *(f"iso2022_jp_{n}" for n in ("1", "2", "2004", "3", "ext"))})
"""Encodings whose text is also valid ASCII. Only a declaration or their shift sequences reveal them."""
SHIFTS = re.compile(rb"\x1b\$[()@A-D]|\x1b\([IJ]|~\{[!-w]")
"""Sequences that begin text beyond ASCII in a 7-bit encoding (RFC 1468, 1557, 1843)."""

DECLARATIONS = (
    re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([\w.:-]+)""", re.IGNORECASE),
    re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE),
    re.compile(rb"""\A(?:[^\n]*\n)?[ \t\f]*#[^\n]{0,100}?coding[:=][ \t]*([\w.-]+)"""),  # PEP 263
)

PUNCTUATION = "«»¿¡“”„‘’‚–—…•€§°©®™£´·±×½¼¾²³ªº\xa0"
ALPHABETS = {
    "cp1252": frozenset(PUNCTUATION + "äöüÄÖÜßàâáãåæçèéêëìíîïñòóôõøùúûÀÁÂÃÅÆÇÈÉÊËÍÎÏÑÓÔÕØÚÛœŒ"),
    "cp1254": frozenset(PUNCTUATION + "çğıöşüÇĞİÖŞÜâîûÂÎÛ"),
}
"""Letters of languages so close to ASCII that a statistical guess has too little to go by."""

CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
SURROGATES = re.compile(r"[\ud800-\udfff]")


def decode(data: bytes) -> str:
    """Return the text of a file without its byte order mark. Raises ConversionError if it isn't text."""
    for mark, name in BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    for magic, kind in MAGIC.items():
        if data.startswith(magic):
            raise _binary(kind)
    if wide := _wide_without_mark(data[:SAMPLE]):
        return data.decode(wide, "replace")
    declared = _declared(data[:4096])
    if (seven_bit := _seven_bit(data, declared)) and (text := _decode_strictly(data, seven_bit)) is not None:
        return text
    _refuse_controls(data)
    if (text := _decode_strictly(data, "utf-8")) is not None:
        return text
    if declared and (text := _decode_nearly(data, declared)) is not None:
        return text
    if (text := _decode_nearly(data, "utf-8")) is not None:
        return text
    return _guess(data)


def refuse_binary(text: str) -> None:
    """Raise ConversionError if the text is a binary file that was decoded by force."""
    sample = text[:SAMPLE]
    if not sample:
        return
    for magic, kind in MAGIC.items():
        if len(magic) > 3 and sample.encode("latin-1", "ignore").startswith(magic):
            raise _binary(kind)
    strange = len(CONTROLS.findall(sample)) + sample.count("\ufffd") + len(SURROGATES.findall(sample))
    if strange > max(MIN_CONTROLS, MAX_CONTROL_SHARE * len(sample)):
        raise _binary("an encrypted or binary file")


def clean(text: str) -> str:
    """Return the text with line feeds as line endings and without characters that stores and screens can't hold."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return SURROGATES.sub("\ufffd", CONTROLS.sub("", text))


def _binary(kind: str) -> ConversionError:
    return ConversionError(
        f"The document looks binary: {kind}.", remedy="Leave it out of the source, or provide it as text."
    )


def _refuse_controls(data: bytes) -> None:
    sample = data[:SAMPLE]
    controls = len(sample) - len(sample.translate(None, bytes([*range(9), 11, *range(14, 27), *range(28, 32), 127])))
    if controls > max(MIN_CONTROLS, MAX_CONTROL_SHARE * len(sample)):
        raise _binary("an encrypted or binary file")


def _wide_without_mark(sample: bytes) -> str | None:
    """Name UTF-16 or UTF-32 text that has no mark: in mostly ASCII text, zero bytes sit in fixed columns."""
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
            if name not in NEVER_DECLARED and _is_text_codec(name):
                return name
    return None


def _seven_bit(data: bytes, declared: str | None) -> str | None:
    """Return the declared 7-bit encoding, or the one that Beautiful Soup detects in ASCII data with shifts."""
    if declared in SEVEN_BIT:
        return declared
    if not data.isascii() or not SHIFTS.search(data):
        return None
    from bs4 import UnicodeDammit

    text = re.sub(rb"<[^<>]{0,2000}>", b"\n", data[: 16 * SAMPLE])
    shifted = b"\n".join(line for line in text.splitlines() if SHIFTS.search(line))[:SAMPLE]
    detected = UnicodeDammit(shifted).original_encoding
    name = codecs.lookup(detected).name if detected else ""
    return name if name in SEVEN_BIT else None


def _is_text_codec(name: str) -> bool:
    try:
        return isinstance(b"a".decode(name), str)
    except (LookupError, ValueError, TypeError):
        return False


def _decode_strictly(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _decode_nearly(data: bytes, name: str) -> str | None:
    """Return the text if nearly all non-ASCII characters decode: one bad byte must not lose a page."""
    text = data.decode(name, "replace")
    beyond = len(text) - sum(map(str.isascii, text)) if not text.isascii() else 0
    return text if text.count("\ufffd") <= 0.05 * beyond else None


def _guess(data: bytes) -> str:
    """Decode Latin alphabets by their letters, and others by charset-normalizer's best guess."""
    sample = _lines_beyond_ascii(data)
    if sum(byte > 127 for byte in sample) < 0.35 * len(sample):  # other scripts have half of their bytes there
        for name, letters in ALPHABETS.items():
            if set(re.sub(r"[\x00-\x7f]", "", sample.decode(name, "replace"))) <= letters:
                return data.decode(name, "replace")
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    if best is None:
        return data.decode("cp1252", "replace")
    return data.decode(SUPERSETS.get(codecs.lookup(best.encoding).name, best.encoding), "replace")


def _lines_beyond_ascii(data: bytes) -> bytes:
    """Return a telling sample: the lines with bytes beyond ASCII, without tags and entities."""
    text = re.sub(rb"<[^<>]{0,2000}>|&#?\w{1,10};", b" ", data[: 16 * SAMPLE])
    lines = [line for line in text.splitlines() if not line.isascii()]
    return b"\n".join(lines)[:SAMPLE] or data[:SAMPLE]
