from __future__ import annotations

import os

import pytest
from lore.convert import convert
from lore.convert.decoding import clean, decode
from lore.errors import ConversionError

from tests.fakes import make_document

RUSSIAN = "Привет, мир! Это простая страница о настройке сервера и базы данных."
ARABIC = "هذا مستند باللغة العربية حول إعداد الخادم وقاعدة البيانات"
CHINESE = "这是一个中文文档，说明如何配置服务器和数据库。"


@pytest.mark.parametrize("name", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_and_is_taken_off(name: str) -> None:
    assert decode(RUSSIAN.encode(name)) == RUSSIAN


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_known_by_its_zero_bytes(name: str) -> None:
    assert decode("A plain English text.".encode(name)) == "A plain English text."


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN * 3, "koi8-r"),
        (ARABIC, "cp1256"),
        (CHINESE, "gb18030"),
        ("これは日本語のテキストです。設定の説明。", "shift_jis"),
        ("이것은 한국어 문서입니다. 서버 설정 방법을 설명합니다.", "cp949"),
        ("Déjà vu: les élèves français préfèrent le café à l’été.", "cp1252"),
        ("Größe und Übung: schöne Straße", "cp1252"),
        ("Bu Türkçe bir belgedir; sunucu ayarları için şğıöç", "cp1254"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
    ],
)
def test_undeclared_legacy_text_comes_out_right(text: str, name: str) -> None:
    assert decode(text.encode(name)) == text


def test_an_undeclared_legacy_page_comes_out_right_in_spite_of_its_tags() -> None:
    page = f'<html><body dir="rtl"><div class="post"><p>{ARABIC}</p></div></body></html>'
    assert ARABIC in decode(page.encode("cp1256"))


@pytest.mark.parametrize(
    ("declared", "actual", "text"),
    [
        ("gb2312", "gb18030", "镕基"),  # 镕 is in no GB2312
        ("big5", "big5hkscs", "鵜鶘"),
        ("euc-kr", "cp949", "똠방각하"),
        ("iso-8859-1", "cp1252", "“quoted” €"),
        ("windows-1251", "cp1251", "Я"),
    ],
)
def test_a_declared_charset_is_read_as_browsers_read_it(declared: str, actual: str, text: str) -> None:
    assert text in decode(f'<meta charset="{declared}"><p>{text}</p>'.encode(actual))
    assert text in decode(f'<?xml version="1.0" encoding="{declared}"?><p>{text}</p>'.encode(actual))


def test_python_source_may_declare_its_charset() -> None:
    assert "Ø" in decode("# -*- coding: iso-8859-15 -*-\nname = 'Ø þ ð'\n".encode("iso-8859-15"))


def test_valid_utf8_goes_before_a_false_declaration() -> None:
    assert RUSSIAN in decode(f'<meta charset="iso-8859-1">{RUSSIAN}'.encode())


@pytest.mark.parametrize("declared", ["utf-7", "utf-16", "rot13", "base64", "zlib", "no-such-charset"])
def test_a_declaration_that_cannot_be_true_is_ignored(declared: str) -> None:
    assert RUSSIAN in decode(f'<meta charset="{declared}">{RUSSIAN}'.encode())


def test_one_bad_byte_does_not_lose_the_page() -> None:
    text = decode(RUSSIAN.encode() + b"\xff tail")
    assert text.startswith(RUSSIAN)
    assert text.endswith("\ufffd tail")


@pytest.mark.parametrize(
    "data",
    [
        os.urandom(4096),
        b"%PDF-1.7\n1 0 obj",
        b"PK\x03\x04\x14\x00",
        b"\x89PNG\r\n\x1a\n",
        b"\x1f\x8b\x08\x00",
        bytes(range(32)) * 40,
    ],
)
def test_binary_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ConversionError, match="looks binary") as caught:
        convert(make_document(text="", data=data, format="text"))
    assert not caught.value.retryable
    assert "fake:a" in caught.value.message


@pytest.mark.parametrize("name", ["latin-1", "utf-8"])
def test_a_blob_decoded_by_force_is_refused(name: str) -> None:
    text = os.urandom(4096).decode(name, "replace")
    with pytest.raises(ConversionError, match="looks binary"):
        convert(make_document(text=text, format="text"))


def test_clean_leaves_nothing_that_a_store_cannot_hold() -> None:
    assert clean("\ufeffa\r\nb\rc\x00\x07d\ud800") == "a\nb\ncd\ufffd"


JAPANESE = "鍵は九十日ごとに交換します。"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (JAPANESE, "iso2022_jp"),
        (f"# Keys\n\n{JAPANESE} See `lore keys`.\n", "iso2022_jp"),
        ("키는 구십일마다 교체합니다. 관리자에게 연락하세요.", "iso2022_kr"),
        ("密钥每九十天更换一次。请联系管理员。", "hz"),
    ],
)
def test_undeclared_seven_bit_text_comes_out_right(text: str, name: str) -> None:
    assert decode(text.encode(name)) == text
    page = f"<html><head><title>Keys</title></head><body><p>{text}</p></body></html>"
    assert decode(page.encode(name)) == page


@pytest.mark.parametrize(
    "text",
    [
        "Set ~{name} to the user.\n" * 5,
        "\x1b[31mError\x1b[0m: the disk is full.\n" * 5,
        "The escape \x1b(B alone selects ASCII.\n",
        "printf '~{%s}' \"$HOME\"; echo ~{a,b}\n",
    ],
)
def test_ascii_with_similar_sequences_stays(text: str) -> None:
    assert decode(text.encode()) == text
