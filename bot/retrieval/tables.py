"""Embeddings, kept in SQL so that the vector store can be rebuilt without embedding anything anew."""

from __future__ import annotations

import sqlalchemy as sa

from bot.storage.metadata import metadata

embedding = sa.Table(
    "embedding",
    metadata,
    sa.Column("item", sa.Text, primary_key=True),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("data", sa.LargeBinary),
    sa.CheckConstraint("(model = '') = (data IS NULL)", name="embedded_by_a_model"),
    sa.Index("ix_embedding_model_item", "model", "item"),
    sa.Index("ix_embedding_collection", "collection", "model"),
)
"""An item that can be searched for, before (`model` empty) and after it was embedded. `data`: half-precision numbers,
little end first. Its text belongs to the room that enlisted it."""
