"""Alembic's entry. Run through `bot.storage.migrate.upgrade`, which hands over the connection."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    render_as_batch=True,
    transactional_ddl=True,  # SQLite has it; Alembic assumes the driver's habit of committing before every statement
)
with context.begin_transaction():
    context.run_migrations()
