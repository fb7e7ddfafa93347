"""Embeddings, kept in SQL so that the vector store can be rebuilt without embedding anything anew; and what recall
searches: rows, their full text and vectors."""

from __future__ import annotations

import sqlalchemy as sa

from bot.retrieval.fulltext import FullText
from bot.storage.metadata import UtcDateTime, metadata

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

recall_row = sa.Table(
    "recall_row",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("ref", sa.Text, nullable=False),
    sa.Column("space", sa.Text, nullable=False),
    sa.Column("history_epoch", sa.Integer, nullable=False),
    sa.Column("audience_epoch", sa.Integer, nullable=False),
    sa.Column("speaker", sa.Text, nullable=False),
    sa.Column("said_at", UtcDateTime, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.CheckConstraint("kind IN ('turn', 'claim')", name="kind"),
    sa.UniqueConstraint("kind", "ref"),
    sa.Index("ix_recall_row_space", "kind", "space", "said_at", "seq"),
    sqlite_autoincrement=True,
)
"""Turns and claims that can be found, a copy of words that other rooms own. Full text is kept beside it by triggers."""

RECALL_TEXT = FullText("recall_row", "seq", ("space", "text"), (0.0, 1.0))
RECALL_TEXT.beside(recall_row)
"""The space is a column of it so that words are looked for in one space without looking at all rows that have them."""

recall_vector = sa.Table(
    "recall_vector",
    metadata,
    sa.Column("seq", sa.Integer, sa.ForeignKey("recall_row.seq", ondelete="CASCADE"), primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("stamp", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary),
    sa.Index("ix_recall_vector_waiting", "model", "seq", sqlite_where=sa.text("data IS NULL")),
)
"""The vector of a row by each model, before (`data` null) and after it was made: a number of four bytes and one byte
for each dimension. `stamp` tells whether what a vector was made of is still what the row says."""

recall_space = sa.Table(
    "recall_space",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("grown", sa.Integer, nullable=False, server_default="0"),
    sa.Column("changed", sa.Integer, nullable=False, server_default="0"),
)
"""How often rows or vectors came to a space, and how often some changed or went: what is held in memory is compared
with it."""
