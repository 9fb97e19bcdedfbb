"""One list of candidates from several, in which copies count once."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from lore.query.retrieve.dedup import dedup
from lore.types import Hit

from tests.query.fakes import make_hit

TEXT = (
    "Open Settings, choose API keys and press Rotate. The old key goes on working for one day, so that services can be "
    "restarted one after the other. Whoever may see the settings of a team may rotate its keys; it is written to the "
    "audit log together with the name of the person and the address of the machine that it was done from."
)


def kept(*hits: Hit) -> list[str]:
    return [hit.chunk.document_id for hit in dedup([hits])]


def test_a_passage_counts_once_with_its_best_score_and_the_best_is_first() -> None:
    first, second = make_hit("a", "One text.", 0.2), make_hit("b", "Another text.", 0.5)
    again = make_hit("a", "One text.", 0.9)
    assert [(hit.chunk.id, hit.score) for hit in dedup([[second, first], [again]])] == [
        ("chunk-a", 0.9),
        ("chunk-b", 0.5),
    ]


def test_equal_scores_have_an_order_of_their_own() -> None:
    hits = [make_hit(name, f"Text {name}.", 0.5) for name in "cab"]
    assert [hit.chunk.id for hit in dedup([hits])] == ["chunk-a", "chunk-b", "chunk-c"]
    assert dedup([]) == []


@pytest.mark.parametrize(
    "copy",
    [
        TEXT.replace(" ", "\n "),
        TEXT.upper(),
        TEXT.replace("Rotate.", "**Rotate**."),
        TEXT.replace("a team", "the team"),
        TEXT.replace("one day", "o\u200bne day"),
        TEXT.replace("one", "o\0n\x7fe"),
        TEXT.replace(" ", "\r\f").replace("Rotate", "\u200bRotate"),
        TEXT + " Updated yesterday.",
    ],
    ids=["white space", "case", "markup", "a word", "unseen characters", "controls", "gaps", "a word or two more"],
)
def test_a_copy_counts_once_wherever_it_stands(copy: str) -> None:
    other = make_hit("b", copy, 0.5, title="Old wiki: keys", headings=("Archive", "Security"))
    assert kept(make_hit("a", TEXT, 0.9), other) == ["docs:a"]
    assert kept(make_hit("a", TEXT, 0.1), other) == ["docs:b"]


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("for one day", "for 14 days"),
        TEXT.replace("goes on working", "does not go on working"),
        TEXT.replace("may rotate", "may never rotate"),
        TEXT + " Keys of machines are rotated by the scheduler each night and need nobody to do it by hand.",
    ],
    ids=["a number", "a negation", "never", "a sentence more"],
)
def test_what_says_something_else_is_no_copy(other: str) -> None:
    assert kept(make_hit("a", TEXT, 0.9), make_hit("b", other, 0.5)) == ["docs:a", "docs:b"]


def test_a_number_in_both_does_not_keep_copies_apart() -> None:
    text = TEXT.replace("one day", "14 days")
    assert kept(make_hit("a", text, 0.9), make_hit("b", text.replace("a team", "the team"), 0.5)) == ["docs:a"]


WORDS = ("key", "Rotate", "3", "v2", "not", "don't", "x_y", "naïve", "ü", "Σ", "aς", "日", "没", "²", "press")
GAPS = (" ", " ", ". ", "-", "\n", "\r", "\0", "\x1c", "\u200b", "，")


@pytest.mark.parametrize("seed", range(4))
def test_copies_are_told_as_by_counting_the_words_that_differ(seed: int) -> None:
    """Compare with the plain rule, on texts with a few edits."""
    chance = random.Random(seed)
    for _ in range(40):
        length = chance.choice((8, 9, 24, 25, 26, 49, 50, 51, 99, 100, 101))
        texts = ["".join(_word(chance) + chance.choice(GAPS) for _ in range(length))]
        for _ in range(5):
            words = chance.choice(texts).split(" ")
            for _ in range(chance.randrange(4)):
                words[chance.randrange(len(words))] = chance.choice(("", _word(chance), f"{_word(chance)} more"))
            texts.append(" ".join(words))
        hits = [make_hit(str(place), text, 1 - place / 10, title="Page") for place, text in enumerate(texts)]
        expected: list[Hit] = []
        for hit in hits:
            if not any(_copies(hit.chunk.text, other.chunk.text) for other in expected):
                expected.append(hit)
        assert dedup([hits]) == expected


def _word(chance: random.Random) -> str:
    return chance.choice(WORDS) if chance.random() < 0.2 else "".join(chance.choice("abcdefgh") for _ in range(3))


def _copies(one: str, other: str) -> bool:
    """Apply the rule in its plainest form."""
    left, right = _plain_words(one), _plain_words(other)
    if min(len(left), len(right)) < 8:
        return left == right
    differing = list(((Counter(left) - Counter(right)) + (Counter(right) - Counter(left))).elements())
    telling = any(word in ("not", "t", "没") or any(letter.isdigit() for letter in word) for word in differing)
    return 50 * len(differing) <= len(left) + len(right) and not telling


def _plain_words(text: str) -> list[str]:
    text = re.sub("[\0\u200b]", "", text).replace("日", " 日 ").replace("没", " 没 ")
    return re.findall(r"\w+", text.casefold())


NUMBERS = [f"{number:07b}" for number in range(100)]


@pytest.mark.parametrize("signs", ["01", "٠١", "０１", "⁰¹"])
def test_texts_that_differ_in_what_tells_take_no_more_work_than_other_texts(signs: str) -> None:
    """A hundred tables of one form are distinguished without comparing all pairs."""
    negations = ("not", "never", "t", "ohne", "keine", "不", "無")
    said = [number.translate({ord("0"): signs[0], ord("1"): signs[1]}) for number in NUMBERS]
    said += [" ".join(word for word, bit in zip(negations, number, strict=True) if bit == "1") for number in NUMBERS]
    alike = [make_hit(str(place), f"{TEXT} {words}", 0.5) for place, words in enumerate(said)]
    letters = [f"{place:08b}".translate({ord("0"): "a", ord("1"): "b"}) for place in range(200)]
    other = [make_hit(word, TEXT.replace(" ", f"{word} "), 0.5) for word in letters]
    assert len(dedup([alike])) == len(dedup([other])) == 200
    assert _calls(lambda: dedup([alike])) <= _calls(lambda: dedup([other])) + 200  # some letters are looked at singly


def _calls(work: Callable[[], object]) -> int:
    """Count the function calls."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "text",
    ["Ο δρόμος της λύσης", "σ xς αςx ας'ς", "Größe der Straße", "Проверка ключа", "ﬁnd ǆ ŉ", "𐐨𐐩 ⴀⴁ ꭰꭱ", "ⅳ ⓐ"],
    ids=["Greek", "sigma", "German", "Russian", "ligatures", "rare scripts", "numbers"],
)
def test_a_short_text_in_capitals_is_the_same_text(text: str) -> None:
    assert kept(make_hit("a", text, 0.9, title=""), make_hit("b", text.upper(), 0.5, title="")) == ["docs:a"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("naïve", "na\u200b\udc00ï\xad\x80ve"),
        ("x 日 本 x", "x日\x00本x"),
        ("か な カ ー \u3400 \u3401 \uf900 \uf901", "かなカー\u3400\u3401\uf900\uf901"),
        ("ü ü", "ü\x85ü"),
        ("ü ü", "ü\u2028ü"),
        ("ü ü", "ü—ü"),
        ("ü x", "ü\u3000x"),
        ("don’t", "don't"),
    ],
    ids=[
        "hidden",
        "ideographs",
        "kana and rare ones",
        "next line",
        "line separator",
        "dash",
        "wide space",
        "apostrophe",
    ],
)
def test_what_parts_words_beyond_ascii_and_what_does_not(one: str, other: str) -> None:
    assert kept(make_hit("a", one, 0.9, title=""), make_hit("b", other, 0.5, title="")) == ["docs:a"]
    assert kept(make_hit("a", "üü", 0.9, title=""), make_hit("b", "ü ü", 0.5, title="")) == ["docs:a", "docs:b"]


@pytest.mark.parametrize(("one", "other"), [("½ cup", "¾ cup"), ("Ⅳ", "Ⅵ"), ("x²", "x³"), ("日本", "日人"), ("é", "è")])
def test_what_differs_beyond_ascii_is_another_short_text(one: str, other: str) -> None:
    assert kept(make_hit("a", one, 0.9, title=""), make_hit("b", other, 0.5, title="")) == ["docs:a", "docs:b"]


@pytest.mark.parametrize("length", [10, 21, 22, 200])
def test_a_long_word_is_looked_at_like_a_short_one(length: int) -> None:
    one, other = "ж" * length + "\u200bж", "Ж" * length + "Ж"
    assert kept(make_hit("a", one, 0.9, title=""), make_hit("b", other, 0.5, title="")) == ["docs:a"]


def test_a_short_text_means_what_it_stands_under() -> None:
    install = [make_hit(name, "Run `pip install --upgrade`.", 0.5, title=f"Plugin {name}") for name in "abc"]
    assert kept(*install) == ["docs:a", "docs:b", "docs:c"]
    same = [replace(hit, chunk=replace(hit.chunk, title="Plugin")) for hit in install]
    assert kept(*same) == ["docs:a"]


def test_pages_that_share_a_passage_keep_all_others() -> None:
    pages = [
        make_hit("a", TEXT, 0.9),
        make_hit("b", TEXT, 0.8, id="chunk-b-1"),
        make_hit("b", "The plugin of Kafka reads topics and offsets of one cluster.", 0.4, id="chunk-b-2"),
    ]
    assert kept(*pages) == ["docs:a", "docs:b"]


def test_the_copy_with_an_open_address_is_shown_at_the_best_ones_place() -> None:
    private = make_hit("a", TEXT, 0.9, audiences=("staff",), url="https://wiki.example.com/a")
    without = make_hit("b", TEXT, 0.8, url="")
    public = make_hit("c", TEXT.upper(), 0.3)
    last = make_hit("d", "Something else that has nothing to do with it at all.", 0.5)
    assert [(hit.chunk.document_id, hit.score) for hit in dedup([[private, without, public, last]])] == [
        ("docs:c", 0.9),
        ("docs:d", 0.5),
    ]


def test_chinese_text_is_compared_by_characters() -> None:
    text = (
        "在设置中选择密钥并点击轮换。旧密钥会继续工作一天，这样服务可以逐个重启。有权查看团队设置的人都可以轮换密钥。"
    )
    assert kept(make_hit("a", text, 0.9), make_hit("b", text.replace("点击", "点按"), 0.5)) == ["docs:a"]
    assert kept(make_hit("a", text, 0.9), make_hit("b", text.replace("可以轮换", "不能轮换"), 0.5)) != ["docs:a"]
