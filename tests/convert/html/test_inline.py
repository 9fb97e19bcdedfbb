"""Superscripts, formulas and reading aids, in pages and in fragments of other formats."""

from __future__ import annotations

import pytest

from tests.convert.html.pages import text_around

MROW = "<mrow><mi>t</mi><mo>=</mo><msup><mn>2</mn><mi>n</mi></msup></mrow>"
TEX = '<annotation encoding="application/x-tex">t=2^n</annotation>'


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("10<sup>6</sup> jobs", "10^6 jobs"),
        ("10<sup>-6</sup> s", "10^(-6) s"),
        ("x<sub>i+1</sub>", "x_(i+1)"),
        ("CO<sub>2</sub>", "CO_2"),
        ("2<sup>n+1</sup> and e<sup><i>x</i></sup>", "2^(n+1) and e^(*x*)"),
        ("the 1<sup>st</sup> of May", "the 1st of May"),
        ("Tide<sup>™</sup>", "Tide™"),
        ('said so.<sup><a href="#fn1">1</a></sup> Next', "said so.[1] Next"),
        ('said so.<sup class="reference"><a href="#cite">[2]</a></sup>', "said so.[2]"),
        ("<code>2<sup>8</sup></code>", "`2^8`"),
    ],
)
def test_raised_and_lowered_text(markup: str, text: str) -> None:
    assert text_around(f"<p>{markup}</p>") == text


@pytest.mark.parametrize(
    "formula",
    [
        f'<span class="katex"><span class="katex-mathml"><math><semantics>{MROW}{TEX}</semantics></math></span>'
        '<span class="katex-html" aria-hidden="true"><span>t=2</span><span>n</span></span></span>',
        f'<mjx-container class="MathJax"><svg><text>t</text></svg><mjx-assistive-mml><math>{MROW}</math>'
        "</mjx-assistive-mml></mjx-container>",
        '<span class="MathJax_Preview">t=2n</span><span class="MathJax"><nobr>t=2n</nobr></span>'
        '<script type="math/tex">t=2^n</script>',
        '<span class="math notranslate nohighlight">\\(t=2^n\\)</span>',
        '<span class="arithmatex">\\(t=2^n\\)</span>',
        f'<span class="mwe-math-element"><span style="display: none"><math><semantics>{MROW}{TEX}</semantics>'
        f"</math></span>"
        '<img src="/x.svg" class="mwe-math-fallback-image-inline" alt="t=2^n"></span>',
        f"<math>{MROW}</math>",
        f'<math alttext="t=2^n">{MROW}</math>',
    ],
)
def test_a_formula_is_written_once(formula: str) -> None:
    assert text_around(f"<p>The wait is {formula} seconds.</p>") == "The wait is `t=2^n` seconds."


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ('<div class="math notranslate">\\[a_1 = b_2\\]</div>', "a_1 = b_2"),
        (
            '<div class="math" id="e"><span class="eqno">(1)<a class="headerlink" href="#e">¶</a>'
            "</span>\\[a_1\\]</div>",
            "a_1 (1)",
        ),
        (
            '<span class="katex-display"><span class="katex"><math display="block"><annotation '
            'encoding="application/x-tex">a_1</annotation></math><span class="katex-html">a1</span></span></span>',
            "a_1",
        ),
        (
            '<math display="block"><mfrac><mn>1</mn><mi>n</mi></mfrac><mo>+</mo><msqrt><mi>x</mi></msqrt></math>',
            "1/n+sqrt(x)",
        ),
    ],
)
def test_displayed_formulas_are_blocks(formula: str, text: str) -> None:
    assert text_around(formula) == f"```math\n{text}\n```"


@pytest.mark.parametrize(
    "word",
    [
        "<ruby>有給<rp>(</rp><rt>ゆうきゅう</rt><rp>)</rp></ruby><ruby>休暇<rt>きゅうか</rt></ruby>",
        "<ruby>有<rt>ゆう</rt>給<rt>きゅう</rt>休<rt>きゅう</rt>暇<rt>か</rt></ruby>",
        "<ruby><rb>有給</rb><rt>ゆうきゅう</rt><rtc><rt>paid</rt></rtc></ruby>休暇",
    ],
)
def test_reading_aids_do_not_split_words(word: str) -> None:
    assert text_around(f"<p>{word}は年に二十日あります。</p>") == "有給休暇は年に二十日あります。"
