"""Safety checks of Office Open XML packages, which are ZIP archives of XML.

Both can be made to grow without bound when they are read. So a package is measured, and searched for document type
declarations (which the standard forbids), before any library opens it.
"""

from __future__ import annotations

import io
import zipfile

from lore.errors import ConversionError

__all__ = ["open_package", "xml_parts"]

MAX_PARTS = 10_000
MAX_XML = {"docx": 12 * 1024 * 1024, "pptx": 32 * 1024 * 1024, "xlsx": 32 * 1024 * 1024}
"""Bytes of all XML in a package, unpacked. The tree of a Word file takes some 50 times as much memory."""
CHUNK = 1 << 20
BEGINNING = 256
"""Bytes of a part that show whether it is XML. A part that begins with this much white space counts as XML."""
DECLARATION = b"<!DOCTYPE"


def open_package(data: bytes, name: str) -> zipfile.ZipFile:
    """Open a docx, pptx or xlsx file, as `name` says. Raises ConversionError for an invalid or oversized one."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ConversionError(
            "The file has the Office format of before 2007, or a password protects it.",
            remedy=f"Save it as .{name} without a password, or leave it out of the source.",
        )
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ConversionError(
            f"The file is not a valid .{name} file: {error}.", remedy="Save it again, or leave it out of the source."
        ) from error
    _measure(package, MAX_XML[name])
    return package


def xml_parts(package: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the parts that are XML, judged by their first bytes: names and references may claim anything."""
    found: list[zipfile.ZipInfo] = []
    for part in package.infolist():
        with package.open(part) as stream:
            if stream.read(BEGINNING).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1] in (b"<", b""):
                found.append(part)
    return found


def _measure(package: zipfile.ZipFile, limit: int) -> None:
    """Refuse oversized packages and entity declarations. zipfile unpacks no byte beyond the sizes listed."""
    count = len(package.infolist())
    parts = xml_parts(package) if count <= MAX_PARTS else []
    size = sum(part.file_size for part in parts)
    if count > MAX_PARTS or size > limit:
        raise ConversionError(
            f"It unpacks to {count:,} parts with {size / 1e6:,.0f} MB of XML, above the limit.",
            remedy="Split it, or leave it out of the source.",
        )
    for part in parts:
        if part.filename.lower().endswith(".svg"):  # pictures of other programs have such declarations
            continue
        tail = b""
        with package.open(part) as stream:
            while piece := stream.read(CHUNK):
                seen = tail + piece.replace(b"\0", b"")  # the zeros of UTF-16
                if DECLARATION in seen.upper():
                    raise ConversionError(
                        f"Its part {part.filename[:100]!r} declares XML entities, which no Office file does.",
                        remedy="Leave it out of the source.",
                    )
                tail = seen[-len(DECLARATION) :]
