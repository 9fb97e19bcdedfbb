"""Passages and candidates of an answer, compressed in its own row."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; older answers keep their rows in other tables."""
    op.add_column("lore_answers", sa.Column("packed", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("lore_answers", "packed")
