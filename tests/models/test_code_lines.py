"""Source code told from prose, tables, lists and logs."""

from __future__ import annotations

import pytest
from lore.models.code_lines import is_code

PYTHON = "def read(path):\n    with open(path) as file:\n        return file.read()\n"
TYPESCRIPT = "export const add = (a: number) => {\n  if (a > 1) {\n    return a;\n  }\n};\n"
GO = "func Read(path string) ([]byte, error) {\n\tdata, err := os.ReadFile(path)\n\treturn data, err\n}\n"
RUST = "pub fn read(path: &Path) -> Result<String> {\n    let text = fs::read_to_string(path)?;\n    Ok(text)\n}\n"
SETTINGS = "[server]\nport = 8765\nhost = localhost\n"
PROSE = "Keys are rotated every ninety days.\nThe old key works for a day.\n\nAsk the platform team for another one.\n"
LIST = "- Rotate the key.\n- Restart the server.\n- Delete the old key: it works for a day.\n"
TABLE = "| setting | default |\n| --- | --- |\n| `retries` | 3 |\n| `timeout` | 10 |\n"
GUIDE = (
    f"# Reading files\n\nThe function `read` returns the text of a file.\nIt closes the file at the end.\n\n{PYTHON}"
)


@pytest.mark.parametrize("text", [PYTHON, TYPESCRIPT, GO, RUST, SETTINGS])
def test_code_is_code(text: str) -> None:
    assert is_code(text)


@pytest.mark.parametrize("text", ["", "x = 1", PROSE, LIST, TABLE, "if this happens: restart it\n" * 2])
def test_prose_tables_and_lists_are_not(text: str) -> None:
    assert not is_code(text)


def test_a_guide_with_a_few_lines_of_code_is_prose() -> None:
    assert not is_code(GUIDE + PROSE + PROSE)
