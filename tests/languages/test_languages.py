"""Languages, stems and words in scripts without spaces."""

from __future__ import annotations

import pytest
from lore.languages.detection import language_of
from lore.languages.stemming import stem
from lore.query.content_words import content_words
from lore.stores.keywords import keyword_text


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I rotate the key?", "en"),
        ("Wie viele Urlaubstage habe ich?", "de"),
        ("Wo liegen die Logs?", "de"),
        ("Was ist Redis?", "de"),
        ("Où sont les journaux ?", "fr"),
        ("¿Cómo puedo reiniciar el servidor?", "es"),
        ("Hoe start ik de server?", "nl"),
        ("как перезапустить сервер", "ru"),
        ("有給休暇は何日ですか？", "ja"),
        ("Redis のポートは？", "ja"),
        ("如何重启服务器", "zh"),
        ("서버를 어떻게 재시작합니까", "ko"),
    ],
)
def test_a_text_has_a_language(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "die casting temperature",
        "redis port",
        "for (int i = 0; i < n; i++) { a[i] = e; o += e; }",
        'M57.8 9a 3 e o a" class="y" id="de" data-name="x" fill="none" stroke="currentColor" width="24" height="2"',
    ],
)
def test_names_keywords_and_code_have_none(text: str) -> None:
    assert language_of(text) == ""


def test_words_have_the_stems_of_their_language() -> None:
    assert stem("sicherungen", "de") == stem("sicherung", "de")
    assert stem("sicherungen") != stem("sicherung")
    assert stem("rotating") == stem("rotation")
    assert stem("rotating", "ja") == "rotating"


def test_function_words_are_no_content_words() -> None:
    assert content_words("Wie lange werden die Sicherungen aufbewahrt?", "de") == content_words(
        "lange die Sicherung aufbewahrt", "de"
    )
    assert content_words("How are the backups kept?") == ["backup", "kept"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("有給休暇は何日ですか？", ["有給", "給休", "休暇", "何日"]),
        ("ﾄｰｸﾝ", ["トー", "ーク", "クン"]),
        ("Redisの鍵", ["redi", "鍵"]),
        ("すればいいですか", []),
        ("서버", ["서버"]),
    ],
)
def test_scripts_without_spaces_give_pairs(text: str, words: list[str]) -> None:
    assert content_words(text) == words
    assert content_words(text, "ja") == [word.replace("redi", "redis") for word in words]


@pytest.mark.parametrize("text", ["", "Deployments were running.", "redis_port = 6379", "naïve café"])
def test_english_goes_to_the_keyword_index_as_it_is(text: str) -> None:
    assert keyword_text(text) == text


def test_other_languages_go_to_the_keyword_index_with_their_stems() -> None:
    passage, question = "Die Sicherung wird bei uns aufbewahrt.", "Wie lange werden die Sicherungen aufbewahrt?"
    shared = set(keyword_text(passage).split()) & set(keyword_text(question).split())
    assert shared >= {"aufbewahrt", stem("sicherung", "de")}
    assert "Sicherungen" in keyword_text(question)  # as an index of before has it
    assert not {"Wie", "werden"} & set(keyword_text(question).split())
