"""Alembic's folder: one module a change of the tables, oldest first."""
