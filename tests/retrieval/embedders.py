"""Embedders that need no model: texts that share words are near each other."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.retrieval.embedder import Embedder, EmbedderError

if TYPE_CHECKING:
    from bot.retrieval.embedder import Matrix


class WordEmbedder:
    """The sum of a fixed random direction for each word."""

    def __init__(self, model: str = "words-1", dimension: int = 64) -> None:
        self.model = model
        self.dimension = dimension
        self.texts: list[str] = []
        self.threads: set[int] = set()

    def load(self) -> None:
        self.threads.add(threading.get_ident())

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        self.threads.add(threading.get_ident())
        self.texts += texts
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or ["nothing"]:
                seed = int.from_bytes(hashlib.sha256(f"{self.model}:{word}".encode()).digest()[:8], "big")
                row += np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        scaled: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return scaled


class MissingEmbedder(WordEmbedder):
    def load(self) -> None:
        raise EmbedderError("the sentence model is not installed")

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise EmbedderError("the sentence model is not installed")


def _is_an_embedder(embedder: WordEmbedder) -> Embedder:
    return embedder
