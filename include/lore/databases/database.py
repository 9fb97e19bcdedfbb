"""A declared database that is open for questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore.databases.compliance.check import CheckedStatement, check_statement, sqlglot_dialect
from lore.databases.compliance.views import forbid_view_columns
from lore.databases.run.errors import database_errors
from lore.databases.run.execute import QueryResult, explain_statement, run_statement
from lore.databases.schema.declared import keep_declared, mark_declared
from lore.databases.schema.model import DatabaseSchema
from lore.databases.schema.read import read_schema
from lore.databases.schema.samples import with_samples
from lore.declarations.database import DatabaseDeclaration

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["OpenDatabase"]


@dataclass(frozen=True)
class OpenDatabase:
    """A database with its declaration; every statement passes the declaration's policy."""

    declaration: DatabaseDeclaration
    engine: Engine

    def schema(self, *, samples: bool = True) -> DatabaseSchema:
        """Read the schema as the declaration has it, with what is forbidden marked. Raises DatabaseError."""
        policy = self.declaration.policy
        with database_errors(policy.seconds):
            found = read_schema(self.engine, self.declaration.schemas)
        marked = mark_declared(found, self.declaration)
        schema = keep_declared(forbid_view_columns(marked, sqlglot_dialect(marked.dialect)), self.declaration)
        patterns = self.declaration.samples if samples else ()
        return with_samples(schema, self.engine, patterns, seconds=policy.seconds)

    def check(self, sql: str, schema: DatabaseSchema) -> CheckedStatement:
        """Return the statement as it may run. Raises StatementRefusedError."""
        return check_statement(sql, schema, rows=self.declaration.policy.rows)

    def explain(self, statement: CheckedStatement) -> tuple[str, ...]:
        """Return the database's plan, a step in each line. Raises StatementError and DatabaseError."""
        return explain_statement(self.engine, statement, seconds=self.declaration.policy.seconds)

    def run(self, sql: str) -> QueryResult:
        """Check the statement against the schema as it is now, and run it. Raises DatabaseError."""
        statement = self.check(sql, self.schema(samples=False))
        policy = self.declaration.policy
        return run_statement(self.engine, statement, rows=policy.rows, seconds=policy.seconds)
