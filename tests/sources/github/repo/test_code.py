"""Source code cut into functions and classes."""

from __future__ import annotations

import pytest
from lore.sources.github.repo.code import GRAMMARS, MAX_UNIT_CHARACTERS, file_units

SOURCES = {
    "python": (
        """
import os

@cache
def f(x):
    return x

class A(B):
    def m(self):
        pass

if x:
    pass
""",
        {"f": ("function", 4, 6), "A": ("class", 8, 10)},
    ),
    "javascript": (
        """
/** doc */
export const g = async (a) => {
  return 1;
};

export default class A {
  m() {}
}
var x = 1;
""",
        {"g": ("function", 2, 5), "A": ("class", 7, 9)},
    ),
    "typescript": (
        """
interface I {
  a: string;
}
export type T = { a: 1 };
namespace N {
  export function h() {}
}
""",
        {"I": ("interface", 2, 4), "T": ("type", 5, 5), "N": ("module", 6, 8)},
    ),
    "tsx": (
        """
export function View(p: P) {
  return <a href={p.x}>b</a>;
}
""",
        {"View": ("function", 2, 4)},
    ),
    "go": (
        """
package a

// Get gets.
func (s *Store[T]) Get(x int) int {
	return 1
}

type S struct {
	a int
}
""",
        {"Store.Get": ("method", 4, 7), "S": ("type", 9, 11)},
    ),
    "java": (
        """
package a;
/** Doc. */
@X
public class C {
  void m() {}
}
interface I { void q(); }
""",
        {"C": ("class", 3, 7), "I": ("interface", 8, 8)},
    ),
    "rust": (
        """
/// Doc.
#[derive(Debug)]
pub struct S { a: i32 }

impl<T> Show for S {
    fn m(&self) {}
}

fn main() {}
""",
        {"S": ("struct", 2, 4), "Show for S": ("impl", 6, 8), "main": ("function", 10, 10)},
    ),
    "ruby": (
        """
module A
  class B
    def m; end
  end
end

# about f
def f(x)
  x
end
""",
        {"A": ("module", 2, 6), "f": ("method", 8, 11)},
    ),
    "c": (
        """
typedef struct { int a; } T;
#ifdef X
static int *f(int a) {
  return 0;
}
#endif
""",
        {"T": ("type", 2, 2), "f": ("function", 4, 6)},
    ),
    "cpp": (
        """
namespace n {
template<class T>
class V {
  void f() {}
};
int Foo::bar(int x) {
  return 1;
}
}
""",
        {"V": ("class", 3, 6), "Foo::bar": ("function", 7, 9)},
    ),
    "csharp": (
        """
namespace A.B;
/// <summary>Doc</summary>
public record R(int X);

class C
{
  void M() {}
}
""",
        {"R": ("record", 3, 4), "C": ("class", 6, 9)},
    ),
    "php": (
        """<?php
namespace A;
class C {
  function m() {}
}
function f() {}
""",
        {"C": ("class", 3, 5), "f": ("function", 6, 6)},
    ),
}
"""Language → code, and its units: kind, first and last line."""


def padded(text: str, language: str) -> str:
    """The text with a comment after it that is long enough for the file to be cut."""
    return f"{text}\n{'#' if language in ('python', 'ruby') else '//'} {'x' * MAX_UNIT_CHARACTERS}\n"


def test_every_grammar_is_tried():
    assert set(SOURCES) == set(GRAMMARS)


@pytest.mark.parametrize("language", SOURCES)
def test_functions_and_classes_are_units(language):
    source, expected = SOURCES[language]
    text = padded(source, language)
    whole, *units = file_units(text, language)
    assert {unit.name: (unit.kind, unit.first, unit.last) for unit in units} == expected
    lines = text.split("\n")
    assert all(unit.text == "\n".join(lines[unit.first - 1 : unit.last]) for unit in units)
    assert (whole.name, whole.kind) == ("", "file")


def test_the_file_itself_is_what_stands_outside_and_an_outline():
    source, _ = SOURCES["python"]
    whole, *_ = file_units(padded(source, "python"), "python")
    assert whole.text.startswith("\nimport os\n\ndef f(x):\n\nclass A(B):\n\nif x:\n    pass\n\n# xxx")


def test_a_long_class_is_cut_into_its_methods():
    methods = "\n".join(f"    # about {n}\n    def m{n}(self):\n        return {'1 + ' * 200}1\n" for n in range(4))
    text = f"class A:\n    '''What A is.'''\n\n    limit = 5\n\n{methods}\n\ndef after():\n    pass\n"
    whole, head, *rest = file_units(text, "python")
    assert [unit.name for unit in (head, *rest)] == ["A", "A.m0", "A.m1", "A.m2", "A.m3", "after"]
    assert (head.first, head.last) == (1, 20)
    assert head.text.split("\n")[:5] == ["class A:", "    '''What A is.'''", "", "    limit = 5", ""]
    assert "    def m3(self):" in head.text
    assert "1 + " not in head.text
    assert rest[0].text.startswith("    # about 0\n    def m0(self):\n        return 1 + ")
    assert whole.text == "class A:\n\n\ndef after():\n"


def test_a_long_function_stays_whole():
    inner = f"    def inner():\n        return {'1 + ' * 900}1\n\n"
    _, unit = file_units(f"def outer():\n{inner}    return inner\n", "python")
    assert (unit.name, unit.first, unit.last) == ("outer", 1, 5)


def test_names_that_repeat_are_told_apart_in_order():
    text = padded("class C {\n};\nvoid f(int a) {}\nvoid f(char a) {}\nvoid f() {}\n", "cpp")
    assert [unit.name for unit in file_units(text, "cpp")] == ["", "C", "f", "f~2", "f~3"]


def test_a_header_of_cpp_is_read_as_such():
    text = padded("namespace n {\nclass V {\n public:\n  int f() { return 1; }\n};\n}\n", "c")
    assert [unit.name for unit in file_units(text, "c")] == ["", "V"]


def test_of_two_definitions_in_a_line_the_first_is_a_unit():
    units = file_units(padded("fn f() {} fn g() {\n}\nfn h() {}\n", "rust"), "rust")
    assert [(unit.name, unit.first, unit.last) for unit in units[1:]] == [("f", 1, 1), ("h", 3, 3)]


@pytest.mark.parametrize("language", ["python", "go", "c"])
def test_a_short_file_is_one_unit(language):
    (unit,) = file_units("def f():\n    pass\n", language)
    assert (unit.name, unit.text) == ("", "def f():\n    pass\n")


def test_a_language_without_a_grammar_is_one_unit():
    text = "SELECT 1;\n" * 1000
    assert [(unit.name, unit.text) for unit in file_units(text, "sql")] == [("", text)]


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "class " * 4_000,
        "{" * 20_000,
        "\x00\ud800" * 3000,
        "def f():\n" * 1000,
        "\r\n" * 4000,
        "fn f() {} " * 900,
    ],
    ids=["parentheses", "classes", "braces", "no text", "no bodies", "blank", "one line"],
)
def test_broken_code_is_read_all_the_same(language, text):
    units = file_units(text, language)
    names = [unit.name for unit in units]
    assert names[0] == ""
    assert len(set(names)) == len(names)
    assert all(1 <= unit.first <= unit.last for unit in units[1:])
