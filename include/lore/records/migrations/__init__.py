"""Alembic's folder: each file in `versions/` makes one schema of the records out of the one before."""
