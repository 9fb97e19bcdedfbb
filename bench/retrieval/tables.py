"""Ways to find the tables that a question needs, on defog's databases pooled into one schema; prints a table.

python -m bench.retrieval.tables [--chroma]

The questions are those of `questions_gen` (on which the constants of `linked` were chosen) and, held out, those of
`instruct_basic` and `instruct_advanced`. A question counts if all tables of its first gold statement are found (`none`
sends them all). Each schema is pooled with and without the descriptions of its columns. LORE_BENCH_SQL names the folder
of defog's data.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from time import perf_counter

from lore.databases.retrieve.linked import LinkedRetriever
from lore.databases.retrieve.retriever import SchemaRetriever, retrieve_schema
from lore.databases.retrieve.vector_indexes import ChromaRetriever, FaissRetriever
from lore.databases.retrieve.vectors import VectorFiles
from lore.databases.retrieve.words import KeywordRetriever, WholeSchema
from lore.databases.run.connect import open_database
from lore.databases.schema.model import DatabaseSchema, TableInfo
from lore.databases.schema.read import read_schema
from lore.models.local import LocalEmbedder

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "sql" / "defog"
HEADINGS = ("schema", "questions", "way", "n", "recall@5", "recall@10", "tokens", "share", "ms")
LIMIT = 10
NO_LIMIT = 10**9


@dataclass(frozen=True)
class PooledQuestion:
    """A question, and the tables of its gold statement."""

    text: str
    tables: frozenset[str]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chroma", action="store_true", help="also Chroma, which finds what faiss finds")
    options = parser.parse_args()
    folder = Path(os.environ.get("LORE_BENCH_SQL") or DEFAULT)
    if not folder.is_dir():
        sys.exit("This bench needs defog's databases: set LORE_BENCH_SQL to their folder.")
    print(" | ".join(HEADINGS))
    with tempfile.TemporaryDirectory() as cache:
        vectors = VectorFiles(LocalEmbedder(Path(cache), model_dir=None, threads=0), Path(cache))
        for described in (True, False):
            schema = pooled(folder, described=described)
            for name, questions in (("gen", generated(folder, schema)), ("held out", held_out(folder, schema))):
                for retriever in ways(vectors, Path(cache) / "chroma", chroma=options.chroma):
                    figures = measured(retriever, schema, questions)
                    kind = "with descriptions" if described else "names alone"
                    print(" | ".join([kind, name, retriever.name, str(len(questions)), *figures]), flush=True)


def ways(vectors: VectorFiles, folder: Path, *, chroma: bool) -> list[SchemaRetriever]:
    """The retrievers."""
    found: list[SchemaRetriever] = [WholeSchema(), KeywordRetriever(), FaissRetriever(vectors)]
    return [*found, *([ChromaRetriever(vectors, folder)] if chroma else []), LinkedRetriever(vectors)]


def measured(retriever: SchemaRetriever, schema: DatabaseSchema, questions: list[PooledQuestion]) -> list[str]:
    """Recall of all needed tables at 5 and 10, tokens, their share of the schema, and milliseconds after the first."""
    readable, times, at_5, at_10, tokens, shares = schema.readable, [], [], [], [], []
    retriever.rank(questions[0].text, readable, LIMIT)
    for question in questions:
        started = perf_counter()
        names = retriever.rank(question.text, readable, LIMIT)
        times.append(1000 * (perf_counter() - started))
        cuts = (len(names), len(names)) if retriever.name == "none" else (5, 10)
        at_5.append(question.tables <= set(names[: cuts[0]]))
        at_10.append(question.tables <= set(names[: cuts[1]]))
    for question in questions[::5]:
        found = retrieve_schema(question.text, schema, retriever, KeywordRetriever(), limit=LIMIT, max_tokens=NO_LIMIT)
        tokens.append(found.tokens)
        shares.append(found.tokens / found.whole_tokens)
    figures = (f"{fmean(at_5):.3f}", f"{fmean(at_10):.3f}", f"{fmean(tokens):,.0f}", f"{fmean(shares):.1%}")
    return [*figures, f"{median(times):.1f}"]


def pooled(folder: Path, *, described: bool) -> DatabaseSchema:
    """The tables of all databases in one schema."""
    tables: list[TableInfo] = []
    for file in sorted(folder.glob("sqlite/*.db")):
        name = file.stem
        comments = descriptions(folder, name) if described else {}
        for table in read_schema(open_database(f"sqlite:///{file}", "the bench")).tables.values():
            columns = tuple(
                replace(each, comment=comments.get((table.name.lower(), each.name.lower()), ""))
                for each in table.columns
            )
            keys = tuple(replace(key, table=f"{name}.{key.table}") for key in table.foreign_keys)
            place = {"name": f"{name}.{table.name}", "schema_name": name}
            tables.append(replace(table, columns=columns, foreign_keys=keys, **place))
    return DatabaseSchema("sqlite").with_tables(tables)


def descriptions(folder: Path, name: str) -> dict[tuple[str, str], str]:
    """Defog's descriptions of columns."""
    metadata = json.loads((folder / "defog_data" / name / f"{name}.json").read_text(encoding="utf-8"))
    return {
        (table.rpartition(".")[2].lower(), column["column_name"].lower()): column.get("column_description") or ""
        for table, columns in metadata["table_metadata"].items()
        for column in columns
    }


def generated(folder: Path, schema: DatabaseSchema) -> list[PooledQuestion]:
    """The questions of `questions_gen`."""
    lines = (folder / "questions_gen_executable.jsonl").read_text(encoding="utf-8").splitlines()
    rows = ((row["question"], row["db"], row["gold_alternatives"][0]) for row in map(json.loads, lines))
    return list(with_tables(rows, schema))


def held_out(folder: Path, schema: DatabaseSchema) -> list[PooledQuestion]:
    """The questions of the instruct sets."""
    rows = []
    for name in ("instruct_basic_sqlite.csv", "instruct_advanced_sqlite.csv"):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            rows += [(row["question"], row["db_name"], row["query"].partition(";")[0]) for row in csv.DictReader(file)]
    return list(with_tables(iter(rows), schema))


def with_tables(rows: Iterator[tuple[str, str, str]], schema: DatabaseSchema) -> Iterator[PooledQuestion]:
    """The questions whose gold statement can be parsed."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    known = {name.lower(): name for name in schema.tables}
    for text, database, sql in rows:
        try:
            tree = sqlglot.parse_one(sql, dialect="sqlite")
        except SqlglotError:
            continue
        ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        names = {table.name.lower() for table in tree.find_all(exp.Table)} - ctes
        yield PooledQuestion(text, frozenset(known[f"{database}.{name}"] for name in names))


if __name__ == "__main__":
    main()
