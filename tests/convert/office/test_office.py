"""Word, PowerPoint and Excel files, and those that would do harm."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime

import openpyxl
import pytest
from lore.convert import convert, format_of
from lore.errors import ConversionError
from lore.types import Document

from tests.convert.office.office_files import (
    archive,
    docx,
    item,
    paragraph,
    parts_of,
    pptx,
    run,
    shape,
    slide_table,
    word_table,
    xlsx,
)
from tests.fakes import make_document


def converted(data: bytes, name: str) -> Document:
    return convert(make_document(text="", data=data, format=name, title="", metadata={}))


@pytest.mark.parametrize("name", ["Plan.docx", "deck.PPTX", "costs.xlsx", "macro.docm"])
def test_their_names_tell_them(name):
    assert format_of(name) in {"docx", "pptx", "xlsx"}


def test_a_word_file_keeps_headings_lists_tables_links_and_code():
    body = (
        paragraph("On-call handbook", "Title")
        + paragraph("Paging", "H1")
        + '<w:p><w:r><w:t>Read the </w:t></w:r><w:hyperlink r:id="link">'
        + "<w:r><w:t>runbook</w:t></w:r></w:hyperlink></w:p>"
        + item("Acknowledge", 2)
        + item("Within five minutes", 1, 1)
        + item("Write it down", 2)
        + paragraph("Levels", "H2")
        + word_table(["Level", "Who"], ["1", "On call | backup"])
        + paragraph("def page():", "Code")
        + paragraph("    return None", "Code")
    )
    page = converted(docx(body), "docx")
    assert page.title == "On-call handbook"
    assert page.format == "markdown"
    assert page.text.startswith("# On-call handbook\n\n# Paging\n\nRead the [runbook](https://example.com/runbook)\n")
    assert "1. Acknowledge\n" in page.text
    assert "- Within five minutes" in page.text
    assert "2. Write it down" in page.text
    assert "## Levels" in page.text
    assert "| Level | Who |\n" in page.text
    assert "| 1 | On call \\| backup |" in page.text
    assert "```\ndef page():\n    return None\n```" in page.text


def test_what_was_deleted_in_a_word_file_stays_deleted():
    body = (
        "<w:p><w:r><w:t>Ring </w:t></w:r>"
        '<w:del w:id="1" w:author="a"><w:r><w:delText>the old number</w:delText></w:r></w:del>'
        '<w:ins w:id="2" w:author="a"><w:r><w:t>the new number</w:t></w:r></w:ins></w:p>'
    )
    assert converted(docx(body), "docx").text == "Ring the new number\n"


def test_a_style_map_in_the_file_has_no_say():
    data = docx(paragraph("Visible"), **{"mammoth/style-map": "p => !"})
    assert converted(data, "docx").text == "Visible\n"


def test_slides_come_in_the_order_of_the_show_with_title_items_table_and_notes():
    data = pptx(
        shape((0, "Rollout"), kind="ctrTitle") + shape((0, "Team Platform"), kind="subTitle"),
        shape((0, "Steps"), kind="title")
        + shape((0, "Build"), (1, "twice"), (0, run("the plan", link=True)), kind="")
        + shape((0, "A box of text"))
        + shape((0, "12"), kind="sldNum")
        + slide_table(["Stage", "Day"], ["Canary", "1"]),
        shape((0, "Secret"), kind="title"),
        shape((0, "No title here")),
        notes={1: shape((0, "Say it slowly."), kind="body") + shape((0, "2"), kind="sldNum")},
        hidden=(2,),
    )
    page = converted(data, "pptx")
    assert page.title == "Rollout"
    assert page.text == (
        "## Rollout\n\nTeam Platform\n\n"
        "## Steps\n\n- Build\n  - twice\n- [the plan](<https://example.com/plan>)\n\nA box of text\n\n"
        "| Stage | Day |\n| --- | --- |\n| Canary | 1 |\n\nNotes: Say it slowly.\n\n"
        "## Slide 4\n\nNo title here\n"
    )


def test_what_a_slide_says_again_for_older_programs_is_read_once():
    names = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    both = f"<mc:Choice Requires='x'>{shape((0, 'Once'))}</mc:Choice><mc:Fallback>{shape((0, 'Once'))}</mc:Fallback>"
    page = converted(pptx(f"<mc:AlternateContent {names}>{both}</mc:AlternateContent>"), "pptx")
    assert page.text.count("Once") == 1


def test_a_workbook_is_a_table_for_each_sheet_that_is_shown():
    data = xlsx(
        Costs=[
            [None, None, None],
            ["Service", None, "Cost", "Since", "Paid"],
            ["DB | main", None, 12.5, datetime(2026, 3, 1), True],
            ["Cache\nhot", None, 3, datetime(2026, 3, 1, 9, 30), False],
        ],
        Empty=[],
        Notes=[["Only one cell"]],
    )
    page = converted(data, "xlsx")
    assert page.title == "a"  # the file's name says more than that of a sheet
    assert page.text == (
        "## Costs\n\n| Service | Cost | Since | Paid |\n| --- | --- | --- | --- |\n"
        "| DB \\| main | 12.5 | 2026-03-01 | TRUE |\n| Cache hot | 3 | 2026-03-01 09:30 | FALSE |\n\n"
        "## Notes\n\nOnly one cell\n"
    )


def test_a_hidden_sheet_is_not_read():
    workbook = openpyxl.load_workbook(io.BytesIO(xlsx(Shown=[["a"]], Hidden=[["secret"]])))
    workbook["Hidden"].sheet_state = "hidden"
    buffer = io.BytesIO()
    workbook.save(buffer)
    assert "secret" not in converted(buffer.getvalue(), "xlsx").text


def test_a_workbook_of_data_is_refused_before_it_fills_the_memory():
    workbook = openpyxl.Workbook()
    for row in range(1, 40):
        workbook.active.cell(row, 16_384, "far out")
    buffer = io.BytesIO()
    workbook.save(buffer)
    with pytest.raises(ConversionError, match="more than 200,000 cells"):
        converted(buffer.getvalue(), "xlsx")


def test_tables_of_a_sheet_keep_their_own_headers() -> None:
    rows = [
        ["Limits of 2026"], [], ["Plan", "Jobs"], ["Free", 100], [], ["Team", 5000], [], ["Region", "Host", "Port"],
        ["north", "n1", 7070],
    ]  # fmt: skip
    assert converted(xlsx(Limits=rows), "xlsx").text == (
        "## Limits\n\nLimits of 2026\n\n| Plan | Jobs |\n| --- | --- |\n| Free | 100 |\n| Team | 5000 |\n\n"
        "| Region | Host | Port |\n| --- | --- | --- |\n| north | n1 | 7070 |\n"
    )


def test_a_lonely_cell_in_the_last_row_costs_little():
    workbook = openpyxl.Workbook()
    workbook.active.cell(1, 1, "first")
    workbook.active.cell(1_048_576, 1, "last")
    buffer = io.BytesIO()
    workbook.save(buffer)
    assert converted(buffer.getvalue(), "xlsx").text == "## Sheet\n\nfirst\n\nlast\n"


@pytest.mark.parametrize(
    "place",
    ['<c r="ZZZZZZ1"><v>1</v></c>', '<c r="&#90;ZZZZZ1"><v>1</v></c>', "</row><row r='99999999999'><c><v>1</v></c>"],
)
def test_a_cell_where_no_sheet_reaches_is_refused_before_the_way_there_is_filled(place):
    parts = parts_of(xlsx(A=[["x"]]))
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    parts["xl/worksheets/sheet1.xml"] = sheet.replace("</row>", f"{place}</row>")
    with pytest.raises(ConversionError, match="outside any sheet"):
        converted(archive(parts), "xlsx")


def test_what_a_sheet_says_of_its_size_need_not_be_true():
    parts = parts_of(xlsx(A=[["a", "b"], ["c", "d"]]))
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    assert "A1:B2" in sheet
    parts["xl/worksheets/sheet1.xml"] = sheet.replace("A1:B2", "A1:A1")
    assert "| c | d |" in converted(archive(parts), "xlsx").text


@pytest.mark.parametrize("depth", [500, 20_000])
def test_a_word_file_nested_without_end_fails_alone(depth):
    data = docx("<w:smartTag>" * depth + paragraph("deep") + "</w:smartTag>" * depth)
    with pytest.raises(ConversionError, match="fake:a"):
        converted(data, "docx")


def test_a_cell_that_spans_a_billion_columns_is_one_cell():
    wide = word_table(["a", "b"]).replace("<w:tc>", '<w:tc><w:tcPr><w:gridSpan w:val="1000000000"/></w:tcPr>', 1)
    assert "a" in converted(docx(wide), "docx").text


def test_an_archive_that_would_grow_is_refused_unread():
    data = docx(paragraph("x"), **{"word/media/picture.png": b"<" + b" " * (40 << 20)})
    assert len(data) < 100_000
    with pytest.raises(ConversionError, match="42 MB of XML"):
        converted(data, "docx")
    pictures = {f"word/media/{name}": b"\x89PNG" + bytes(20 << 20) for name in ("a.png", "b.png")}
    assert converted(docx(paragraph("x"), **pictures), "docx").text == "x\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", ["docx", "pptx", "xlsx"])
def test_declared_entities_are_refused_in_every_part(name, encoding):
    bomb = '<!-- a --><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'.encode(encoding)
    data = {"docx": docx(paragraph("x")), "pptx": pptx(shape((0, "x"))), "xlsx": xlsx(A=[["x"]])}[name]
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as target:
        target.writestr("docProps/custom.bin", bomb)
    with pytest.raises(ConversionError, match="declares XML entities"):
        converted(buffer.getvalue(), name)


@pytest.mark.parametrize("name", ["docx", "pptx", "xlsx"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut", b"plain text", b"\xd0\xcf\x11\xe0 old or encrypted"])
def test_what_is_no_such_file_fails_alone(name, data):
    with pytest.raises(ConversionError, match="fake:a") as caught:
        converted(data, name)
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["docx", "pptx", "xlsx"])
def test_a_zip_of_something_else_fails_alone(name):
    with pytest.raises(ConversionError, match="fake:a"):
        converted(archive({"a.txt": "x", "ppt/presentation.xml": "<cut"}), name)


@pytest.mark.parametrize("name", ["docx", "pptx", "xlsx"])
def test_a_file_cut_anywhere_is_an_error_or_whole(name):
    data = {"docx": docx(paragraph("x")), "pptx": pptx(shape((0, "x"))), "xlsx": xlsx(A=[["x"]])}[name]
    for cut in range(0, len(data), max(1, len(data) // 25)):
        with pytest.raises(ConversionError):
            converted(data[:cut], name)


def test_a_document_without_bytes_is_refused():
    with pytest.raises(ConversionError, match="needs bytes"):
        convert(make_document(text="words", format="docx"))
