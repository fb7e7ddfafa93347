"""Embedder, vector store, full text and fusion."""
