"""Opinions of people in a chat on answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY = 200


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "lore_opinions",
        sa.Column("answer_id", sa.String(KEY), nullable=False),
        sa.Column("asker", sa.String(KEY), nullable=False),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.Column("told", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["answer_id"], ["lore_answers.id"], name="fk_lore_opinions_answer_id_lore_answers", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("answer_id", "asker", name="pk_lore_opinions"),
    )
    op.create_index("ix_lore_opinions_asker", "lore_opinions", ["asker"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("lore_opinions")
