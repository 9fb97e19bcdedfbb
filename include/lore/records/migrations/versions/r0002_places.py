"""Messages of a chat that hold answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY = 200


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "lore_places",
        sa.Column("team", sa.String(KEY), nullable=False),
        sa.Column("channel", sa.String(KEY), nullable=False),
        sa.Column("ts", sa.String(KEY), nullable=False),
        sa.Column("thread_ts", sa.String(KEY), nullable=False),
        sa.Column("answer_id", sa.String(KEY), nullable=False),
        sa.Column("asker", sa.String(KEY), nullable=False),
        sa.Column("kept_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("channel", "ts", "team", name="pk_lore_places"),
    )
    op.create_index("ix_lore_places_thread_ts", "lore_places", ["thread_ts"])
    op.create_index("ix_lore_places_asker", "lore_places", ["asker"])
    op.create_index("ix_lore_places_kept_at", "lore_places", ["kept_at"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("lore_places")
