"""Keys of the API."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY = 200


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "lore_keys",
        sa.Column("id", sa.String(KEY), nullable=False),
        sa.Column("digest", sa.String(KEY), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("audiences", sa.JSON(), nullable=False),
        sa.Column("rate", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_lore_keys"),
    )
    op.create_index("ix_lore_keys_digest", "lore_keys", ["digest"], unique=True)


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("lore_keys")
