"""Headings of Word by their outline levels, formulas, raised text and text boxes."""

from __future__ import annotations

import pytest
from lore.convert import convert

from tests.convert.office.office_files import WORD, docx, paragraph
from tests.fakes import make_document

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
STYLES = f"""
<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl
w:val="0"/></w:pPr></w:style><w:style w:type="paragraph" w:styleId="Chapter"><w:name w:val="Chapter"/><w:basedOn
w:val="H1"/></w:style><w:style w:type="paragraph" w:styleId="Rubrik2"><w:name w:val="Rubrik 2"/><w:pPr><w:outlineLvl
w:val="1"/></w:pPr></w:style><w:style w:type="paragraph" w:styleId="Own"><w:name w:val="My part"/><w:basedOn
w:val="Rubrik2"/><w:pPr><w:outlineLvl w:val="3"/></w:pPr></w:style><w:style w:type="paragraph" w:styleId="TOCHeading">
<w:name w:val="TOC Heading"/><w:basedOn w:val="H1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style><w:style
w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style></w:styles>
"""


def text_of(body: str, styles: str = STYLES) -> str:
    data = docx(body, **{"word/styles.xml": styles})
    return convert(make_document(text="", title="", format="docx", data=data)).text


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        (paragraph("Limits", "H1"), "# Limits"),
        (paragraph("Limits", "Chapter"), "# Limits"),
        (paragraph("Limits", "Rubrik2"), "## Limits"),
        (paragraph("Limits", "Own"), "#### Limits"),
        (paragraph("Limits", extra='<w:outlineLvl w:val="2"/>'), "### Limits"),
        (paragraph("Limits", "Chapter", '<w:outlineLvl w:val="1"/>'), "## Limits"),
        (paragraph("Limits", extra='<w:outlineLvl w:val="8"/>'), "###### Limits"),
        (paragraph("Limits", "TOCHeading"), "Limits"),
        (paragraph("Limits", "Chapter", '<w:outlineLvl w:val="9"/>'), "Limits"),
        (paragraph("Limits", "Loop"), "Limits"),
        (paragraph("Limits", "Missing"), "Limits"),
    ],
)
def test_a_heading_is_one_by_its_outline_level(body: str, heading: str) -> None:
    assert text_of(body + paragraph("Text.")) == f"{heading}\n\nText.\n"


def run(text: str, place: str = "") -> str:
    raised = f'<w:rPr><w:vertAlign w:val="{place}"/></w:rPr>' if place else ""
    return f'<w:r>{raised}<w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ((run("At most 10"), run("6", "superscript"), run(" rows")), "At most 10^6 rows"),
        ((run("CO"), run("2", "subscript")), "CO_2"),
        ((run("2"), run("n+1", "superscript")), "2^(n+1)"),
        ((run("on the 3"), run("rd", "superscript")), "on the 3rd"),
    ],
)
def test_raised_and_lowered_text(runs: tuple[str, ...], text: str) -> None:
    assert text_of(f"<w:p>{''.join(runs)}</w:p>") == f"{text}\n"


def letter(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (letter("A=π") + f"<m:sSup><m:e>{letter('r')}</m:e><m:sup>{letter('2')}</m:sup></m:sSup>", "A=πr^2"),
        (f"<m:f><m:num>{letter('a+b')}</m:num><m:den>{letter('2')}</m:den></m:f>", "(a+b)/2"),
        (f"<m:sSub><m:e>{letter('x')}</m:e><m:sub>{letter('i+1')}</m:sub></m:sSub>", "x_(i+1)"),
        (f"<m:d><m:dPr/><m:e>{letter('a')}</m:e><m:e>{letter('b')}</m:e></m:d>", "(a, b)"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{letter("i")}</m:sub><m:sup>{letter("n")}</m:sup>'
            f"<m:e>{letter('x')}</m:e></m:nary>",
            "∑_i^n x",
        ),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "<m:oMathPara>{}</m:oMathPara>"])
def test_formulas_are_written_in_one_line(formula: str, text: str, frame: str) -> None:
    math = frame.format(f"<m:oMath>{formula}</m:oMath>").replace("<m:", "<m:", 1)
    body = f'<w:p xmlns:m="{MATH}">{run("It is ")}{math}{run(" here.")}</w:p>'
    assert text_of(body) == f"It is `{text}` here.\n"


def test_a_text_box_without_an_older_copy_is_read() -> None:
    names = (
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    )
    box = f"<wps:txbx><w:txbxContent>{paragraph('Never restart two nodes.')}</w:txbxContent></wps:txbx>"
    shape = f'<w:p {names}><w:r><w:t>Before.</w:t><mc:AlternateContent><mc:Choice Requires="wps">{box}</mc:Choice>'
    assert text_of(f"{shape}</mc:AlternateContent></w:r></w:p>") == "Before.\n\nNever restart two nodes.\n"
