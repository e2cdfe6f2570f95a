"""Alembic's folder. A new migration: change tables.py, add versions/vNNNN_what.py, set migrate.REVISION."""
