"""Run by Alembic for every migration, on the connection that `lore.records.schema` has opened and locked."""

from __future__ import annotations

from alembic import context

from lore.records.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # SQLite's DDL is, once the transaction is begun by ourselves
)
with context.begin_transaction():
    context.run_migrations()
