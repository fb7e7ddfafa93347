"""An embedder as Chroma's `EmbeddingFunction`: Chroma keeps its name, model and size with each collection, and refuses
to open one with another. Importing this imports Chroma."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chromadb.api.types import Documents, EmbeddingFunction, Embeddings, Space

from bot.kernel.values import dataclass
from bot.retrieval.embedder import Embedder, EmbedderError

if TYPE_CHECKING:
    from bot.retrieval.embedder import Matrix


@dataclass(frozen=True, slots=True)
class _Stated:
    """An embedder of which only the name is known."""

    model: str
    dimension: int

    def load(self) -> None:
        raise EmbedderError("the embedder is handed in")

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise EmbedderError("the embedder is handed in")


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
        """Chroma builds one when it compares what is stored with what is given; it is never asked to embed."""
        return SentenceFunction(_Stated(str(config["model"]), int(config["dimension"])))

    def get_config(self) -> dict[str, Any]:
        return {"model": self._embedder.model, "dimension": self._embedder.dimension}

    def default_space(self) -> Space:
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        return ["cosine"]
