"""What turns text into a point. Embedders load late, run in a thread and never reach for the network."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from bot.kernel.errors import PermanentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]
    """One row for each text, each of length 1."""


class EmbedderError(PermanentError):
    """The model is missing, damaged, or not the one that is expected."""


class Embedder(Protocol):
    """A sentence model. `load` and `embed` block: call them in a thread; any number of threads may."""

    @property
    def model(self) -> str:
        """Name and version; vectors of two models are never compared."""
        ...

    @property
    def dimension(self) -> int: ...

    def load(self) -> None:
        """Check and read the model. May be repeated. Raises `EmbedderError`."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, (len(texts), dimension). Raises `EmbedderError` when the model cannot be loaded."""
        ...


def check_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Raises `EmbedderError` unless each file in `folder` has the SHA-256 that is expected of it."""
    for name, expected in digests.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderError(f"the sentence model is incomplete: {name} cannot be read; reinstall it") from error
        if found != expected:
            raise EmbedderError(f"the sentence model is not the one that is expected: {name} differs; reinstall it")
