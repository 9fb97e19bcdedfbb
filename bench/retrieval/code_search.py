"""How well code is found by what it does: functions of Python's standard library, asked by their docstrings.

    python -m bench.retrieval.code_search [--hide-names] [FOLDER_OF_AN_INDEX]

A query is the first sentence of a docstring, and the document to find is the function's source without it. 400
functions are asked for among 3,000, those of the Python that runs this. With `--hide-names`, each function's own name
is replaced by `f` in its source. Prints JSON: nDCG@10 of each stage of the search.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
import sysconfig
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lore.evaluation.beir.run import run_beir
from lore.settings import load_settings

ASKED, FUNCTIONS, SEED = 400, 3_000, 7
LINES, WORDS = range(4, 81), range(4, 26)
LEFT_OUT = {"test", "tests", "site-packages", "idlelib", "lib2to3", "turtledemo", "ensurepip", "distutils"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function's id, its source without docstring, and the question of its docstring ("" for none that fits)."""

    id: str
    source: str
    question: str


def main() -> int:
    """Print the figures."""
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "python_stdlib"
        write_dataset(folder, hide_names="--hide-names" in sys.argv)
        evaluation = run_beir(folder, load_settings(), index_dir=Path(folders[0]) if folders else None)
    figures = {score.stage: round(score.ndcg_at_10, 4) for score in evaluation.stages}
    json.dump({"python": sys.version.split()[0], "queries": evaluation.queries, "ndcg_at_10": figures}, sys.stdout)
    print()
    return 0


def write_dataset(folder: Path, *, hide_names: bool) -> None:
    """Write the functions and their questions in BEIR's layout; the same Python gives the same set."""
    functions = list({function.source: function for function in _functions()}.values())
    often = Counter(function.question.lower() for function in functions)
    order = random.Random(SEED)
    order.shuffle(functions)
    asked = [one for one in functions if one.question and often[one.question.lower()] == 1][:ASKED]
    chosen = {one.id for one in asked}
    others = [one for one in functions if one.id not in chosen]
    corpus = [*asked, *others[: FUNCTIONS - len(asked)]]
    order.shuffle(corpus)
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": one.id, "title": "", "text": _shown(one, hide_names=hide_names)} for one in corpus]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    queries = [{"_id": f"q{number}", "text": one.question} for number, one in enumerate(asked)]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in queries))
    judged = "".join(f"q{number}\t{one.id}\t1\n" for number, one in enumerate(asked))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")


def _shown(function: Function, *, hide_names: bool) -> str:
    name = function.id.partition("#")[0].rpartition(".")[2]
    return re.sub(rf"\b{re.escape(name)}\b", "f", function.source) if hide_names else function.source


def _functions() -> Iterator[Function]:
    library = Path(sysconfig.get_paths()["stdlib"])
    for file in sorted(library.rglob("*.py")):
        if LEFT_OUT.isdisjoint(file.relative_to(library).parts):
            try:
                text = file.read_text(encoding="utf-8")
                tree = ast.parse(text)
            except (SyntaxError, UnicodeDecodeError, ValueError):
                continue
            module = ".".join(file.relative_to(library).with_suffix("").parts)
            yield from _functions_of(module, tree, text.splitlines())


def _functions_of(place: str, node: ast.AST, lines: list[str]) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions_of(f"{place}.{child.name}", child, lines)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            start = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)]) - 1
            body, docstring = lines[start : child.end_lineno], ast.get_docstring(child) or ""
            if docstring:
                first = child.body[0]
                body = lines[start : first.lineno - 1] + lines[first.end_lineno : child.end_lineno]
            if len(body) in LINES:
                sentence = " ".join(docstring.split("\n\n")[0].split()).split(". ")[0].rstrip(".")
                question = sentence if len(sentence.split()) in WORDS else ""
                yield Function(f"{place}.{child.name}#{start}", textwrap.dedent("\n".join(body)), question)


if __name__ == "__main__":
    sys.exit(main())
