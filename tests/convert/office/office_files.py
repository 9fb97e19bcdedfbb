"""Word, PowerPoint and Excel files, made part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape

import openpyxl

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SHOW = "http://schemas.openxmlformats.org/presentationml/2006/main"


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return buffer.getvalue()


def parts_of(data: bytes) -> dict[str, str | bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        return {name: source.read(name) for name in source.namelist()}


def mode(target: str) -> str:
    return "External" if "://" in target else "Internal"


def relationships(*entries: tuple[str, str, str]) -> str:
    rows = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{escape(target)}" TargetMode="{mode(target)}"/>'
        for key, kind, target in entries
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{rows}</Relationships>'


def paragraph(text: str, style: str = "", extra: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f'<w:p><w:pPr>{named}{extra}</w:pPr><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def item(text: str, list_id: int, level: int = 0) -> str:
    return paragraph(text, extra=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>')


def word_table(*rows: list[str]) -> str:
    cells = "".join(f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows)
    return f"<w:tbl>{cells}</w:tbl>"


def docx(body: str, **more: str) -> bytes:
    styles = {"Title": "Title", "H1": "heading 1", "H2": "heading 2", "Code": "Source Code"}
    style_rows = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in styles.items()
    )
    levels = "".join(
        f'<w:abstractNum w:abstractNumId="{number}">'
        + "".join(f'<w:lvl w:ilvl="{level}"><w:numFmt w:val="{kind}"/></w:lvl>' for level in range(3))
        + "</w:abstractNum>"
        for number, kind in ((1, "bullet"), (2, "decimal"))
    )
    lists = "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{n}"/></w:num>' for n in (1, 2))
    parts = {
        "_rels/.rels": relationships(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{WORD}">{style_rows}</w:styles>',
        "word/numbering.xml": f'<w:numbering xmlns:w="{WORD}">{levels}{lists}</w:numbering>',
        "word/_rels/document.xml.rels": relationships(("link", "hyperlink", "https://example.com/runbook")),
    }
    return archive(parts | more)


def run(text: str, link: bool = False) -> str:
    click = '<a:hlinkClick r:id="link"/>' if link else ""
    return f"<a:r><a:rPr>{click}</a:rPr><a:t>{escape(text)}</a:t></a:r>"


def shape(*paragraphs: tuple[int, str], kind: str | None = None) -> str:
    rows = "".join(
        f'<a:p><a:pPr lvl="{level}"/>{text if text.startswith("<") else run(text)}</a:p>' for level, text in paragraphs
    )
    role = f'type="{kind}"' if kind else 'idx="1"'
    placeholder = "" if kind is None else f"<p:ph {role}/>"
    return f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{rows}</p:txBody></p:sp>"


def slide_table(*rows: list[str]) -> str:
    cells = "".join(
        f"<a:tr>{''.join(f'<a:tc><a:txBody><a:p>{run(cell)}</a:p></a:txBody></a:tc>' for cell in row)}</a:tr>"
        for row in rows
    )
    return (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{cells}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )


def pptx(*slides: str, notes: Mapping[int, str] | None = None, hidden: tuple[int, ...] = ()) -> bytes:
    """Slides whose files are numbered against the order of the show, as in decks that people rearranged."""
    names = f'xmlns:a="{DRAWING}" xmlns:p="{SHOW}" xmlns:r="{OFFICE}"'
    count = len(slides)
    order = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(count))
    parts = {
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relationships(
            *((f"s{n}", "slide", f"slides/slide{count - n}.xml") for n in range(count))
        ),
    }
    for number, content in enumerate(slides):
        name = f"slide{count - number}.xml"
        shown = ' show="0"' if number in hidden else ""
        parts[f"ppt/slides/{name}"] = f"<p:sld {names}{shown}><p:cSld><p:spTree>{content}</p:spTree></p:cSld></p:sld>"
        entries = [("link", "hyperlink", "https://example.com/plan")]
        if notes and number in notes:
            entries.append(("n", "notesSlide", f"../notesSlides/{name}"))
            page = f"<p:notes {names}><p:cSld><p:spTree>{notes[number]}</p:spTree></p:cSld></p:notes>"
            parts[f"ppt/notesSlides/{name}"] = page
        parts[f"ppt/slides/_rels/{name}.rels"] = relationships(*entries)
    return archive(parts)


def xlsx(**sheets: list[list[object]]) -> bytes:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()
