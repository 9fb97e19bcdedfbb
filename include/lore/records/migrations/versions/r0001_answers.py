"""Answers with their calls, candidates, passages, citations and feedback; claims on events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = 200


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "lore_answers",
        sa.Column("id", sa.String(KEY), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("surface", sa.String(KEY), nullable=False),
        sa.Column("asker", sa.String(KEY), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("history", sa.JSON(), nullable=False),
        sa.Column("scope", sa.JSON(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("found", sa.Boolean(), nullable=False),
        sa.Column("index_version", sa.Integer(), nullable=True),
        sa.Column("retrieved", sa.Integer(), nullable=False),
        sa.Column("candidates", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("trace", sa.JSON(), nullable=False),
        sa.Column("more", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_lore_answers"),
    )
    op.create_index("ix_lore_answers_asked_at", "lore_answers", ["asked_at"])
    op.create_index("ix_lore_answers_asker", "lore_answers", ["asker"])
    _make_parts()
    _make_feedback()
    op.create_table(
        "lore_claims",
        sa.Column("key", sa.String(KEY), nullable=False),
        sa.Column("owner", sa.String(KEY), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_lore_claims"),
    )
    op.create_index("ix_lore_claims_lease_until", "lore_claims", ["lease_until"])


def downgrade() -> None:
    """Remove every table."""
    for name in ("claims", "feedback", "citations", "passages", "candidates", "calls", "answers"):
        op.drop_table(f"lore_{name}")


def _make_parts() -> None:
    op.create_table(
        "lore_calls",
        *_part("lore_calls"),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("more", sa.JSON(), nullable=False),
    )
    op.create_table(
        "lore_candidates",
        *_part("lore_candidates"),
        sa.Column("chunk_id", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("found_at", sa.Integer(), nullable=False),
        sa.Column("reranked_at", sa.Integer(), nullable=True),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("more", sa.JSON(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lore_passages",
        *_part("lore_passages"),
        sa.Column("chunk_id", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("vector_score", sa.Double(), nullable=True),
        sa.Column("keyword_score", sa.Double(), nullable=True),
        sa.Column("more", sa.JSON(), nullable=False),
    )
    op.create_table(
        "lore_citations",
        sa.Column("kind", sa.String(20), nullable=False),
        *_part("lore_citations", "answer_id", "kind", "ordinal"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("chunk_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("more", sa.JSON(), nullable=False),
    )


def _make_feedback() -> None:
    op.create_table(
        "lore_feedback",
        sa.Column("answer_id", sa.String(KEY), nullable=False),
        sa.Column("asker", sa.String(KEY), nullable=False),
        sa.Column("helpful", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("given_at", sa.DateTime(timezone=True), nullable=False),
        _of_an_answer("lore_feedback"),
        sa.PrimaryKeyConstraint("answer_id", "asker", name="pk_lore_feedback"),
    )
    op.create_index("ix_lore_feedback_asker", "lore_feedback", ["asker"])


def _part(table: str, *key: str) -> tuple[sa.schema.SchemaItem, ...]:
    """Return the columns of a row's answer and position."""
    return (
        sa.Column("answer_id", sa.String(KEY), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        _of_an_answer(table),
        sa.PrimaryKeyConstraint(*(key or ("answer_id", "ordinal")), name=f"pk_{table}"),
    )


def _of_an_answer(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_answer_id_lore_answers"
    return sa.ForeignKeyConstraint(["answer_id"], ["lore_answers.id"], name=name, ondelete="CASCADE")
