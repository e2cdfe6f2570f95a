"""Run by Alembic. The connection comes from `migrate`, which has opened the transaction and will end it."""

from __future__ import annotations

from alembic import context

from lazaretto.store.migrate import VERSION_TABLE
from lazaretto.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite alters a table by copying it
)
context.run_migrations()
