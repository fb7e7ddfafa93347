"""An embedder as Chroma's `EmbeddingFunction`: Chroma keeps its name, model and size with each collection, and refuses
to open one with another. Importing this imports Chroma."""

from __future__ import annotations

from typing import Any

from chromadb.api.types import Documents, EmbeddingFunction, Embeddings, Space

from bot.retrieval.embedder import Embedder


class SentenceFunction(EmbeddingFunction[Documents]):
    """Texts are padded to nothing but what stands beside them; nothing is ever downloaded."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, input: Documents) -> Embeddings:  # noqa: A002 - Chroma's name
        return list(self._embedder.embed(input))

    @staticmethod
    def name() -> str:
        return "openexecutive"

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> EmbeddingFunction[Documents]:
        """Chroma would build a function by itself when none is given; here one always is."""
        raise NotImplementedError("the embedder is handed in")

    def get_config(self) -> dict[str, Any]:
        return {"model": self._embedder.model, "dimension": self._embedder.dimension}

    def default_space(self) -> Space:
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        return ["cosine"]
