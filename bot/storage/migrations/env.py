"""Alembic's entry. Run through `bot.storage.migrate.upgrade`, which sets the URL."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context

engine = sa.create_engine(context.config.attributes["url"])
with engine.connect() as connection:
    context.configure(connection=connection, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
engine.dispose()
