"""The one owner of Chroma's folder. One process, one object: two clients on a folder do not see each other's writes,
and find what the other deleted (chroma issue 3792).

Collections hold ids that mean nothing by themselves and vectors; no text, no metadata of rows. A collection's own
metadata says by which model its vectors were made, and of what size. The folder has one sub-folder per generation and
a pointer to the one that serves; a rebuild fills a new one and moves the pointer, which is also how what was deleted
leaves the disk. Nothing is ever deleted in place: Chroma's `delete` leaves bytes behind (issues 7659 and 7662), and it
holds the interpreter, and so the daemon, until its whole log is worked up, which was measured to take up to 27 s. What
was withdrawn since a generation was made is told from what serves by SQL, after every search.

Everything here blocks and may be called from any thread; `index` calls it in one. Chroma is imported at the first use.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.kernel.errors import TransientError
from bot.kernel.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedder import Matrix

log = logging.getLogger(__name__)

POINTER = "serving.json"
PROBED = 5
"""Vectors of a collection that must find themselves."""
_BATCH = 16
"""Vectors handed over at once: Chroma holds the interpreter all the while, 10 ms for so many, 600 ms for 5,000."""
_SEARCH_WIDTH = 100
"""HNSW's ef: how many candidates a search keeps; recall@10 was 1.0 at this on 6,000 vectors."""


class VectorsError(TransientError):
    """The folder cannot be used: damaged, lost or made by something else. A rebuild mends it."""


@dataclass(frozen=True, slots=True)
class Near:
    item: str
    similarity: float
    """Cosine, from -1 to 1."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What the pointer says."""

    generation: str
    model: str
    dimension: int


class Generation:
    """One Chroma folder, open. All vectors in it are of one model."""

    def __init__(self, folder: Path, model: str, dimension: int, function: Any) -> None:
        """`function` is Chroma's idea of the embedder, kept with the collections' configuration."""
        import chromadb
        from chromadb.config import Settings

        self.folder = folder
        self.model = model
        self.dimension = dimension
        self._function = function
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _translated():
            self._client: Any = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
            self._collections: dict[str, Any] = {}
            for found in self._client.list_collections():
                self._collections[found.name] = self._opened(found.name)

    def upsert(self, collection: str, items: Sequence[str], vectors: Matrix) -> None:
        with _translated():
            target = self._collection(collection)
            for at in range(0, len(items), _BATCH):
                target.upsert(ids=list(items[at : at + _BATCH]), embeddings=vectors[at : at + _BATCH])

    def items(self, collection: str) -> set[str]:
        target = self._collections.get(_name(collection))
        if target is None:
            return set()
        with _translated():
            return set(target.get(include=[])["ids"])

    def nearest(self, collections: Collection[str], vector: NDArray[np.float32], limit: int) -> list[Near]:
        """The nearest items of these collections together, nearest first."""
        found: list[Near] = []
        with _translated():
            for collection in collections:
                target = self._collections.get(_name(collection))
                if target is None:
                    continue
                answer = target.query(query_embeddings=[vector], n_results=limit, include=["distances"])
                found += [
                    Near(item, 1.0 - float(distance))
                    for item, distance in zip(answer["ids"][0], answer["distances"][0], strict=True)
                ]
        found.sort(key=lambda near: -near.similarity)
        return found[:limit]

    def is_whole(self, collection: str, count: int, sample: Mapping[str, NDArray[np.float32]]) -> bool:
        """Whether a search really reaches the collection's vectors. Chroma's own count does not tell: it says the old
        number when the index folder is gone."""
        target = self._collections.get(_name(collection))
        if target is None:
            return count == 0
        try:
            with _translated():
                if target.count() != count:
                    return False
                wanted = min(count, 20)
                for item, vector in sample.items():
                    answer = target.query(query_embeddings=[vector], n_results=wanted, include=["distances"])
                    found = dict(zip(answer["ids"][0], answer["distances"][0], strict=True))
                    # Twins of it may stand before it; then it is as near as they are.
                    if len(found) < wanted or (item not in found and max(found.values()) > 1e-3):
                        return False
        except VectorsError:
            return False
        return True

    def close(self) -> None:
        with _translated():
            self._client.close()

    def _collection(self, collection: str) -> Any:
        name = _name(collection)
        if name not in self._collections:
            self._collections[name] = self._client.create_collection(
                name,
                metadata={"model": self.model, "dimension": self.dimension},
                configuration={"hnsw": {"space": "cosine", "ef_search": _SEARCH_WIDTH}},
                embedding_function=self._function,
            )
        return self._collections[name]

    def _opened(self, name: str) -> Any:
        found = self._client.get_collection(name, embedding_function=self._function)
        stated = found.metadata or {}
        if (stated.get("model"), stated.get("dimension")) != (self.model, self.dimension):
            raise VectorsError("a collection was made by another model")
        return found


def read_pointer(folder: Path) -> Serving | None:
    """None if there is none that makes sense, or what it names is gone: then there is nothing to serve from."""
    try:
        stated = json.loads((folder / POINTER).read_text(encoding="utf-8"))
        serving = Serving(str(stated["generation"]), str(stated["model"]), int(stated["dimension"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    name = serving.generation
    return serving if name.isalnum() and (folder / name / "chroma.sqlite3").is_file() else None


def write_pointer(folder: Path, serving: Serving) -> None:
    """Durably, whole or not at all."""
    unfinished = folder / f"{POINTER}.unfinished"
    stated = {"generation": serving.generation, "model": serving.model, "dimension": serving.dimension}
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(stated, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / POINTER)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path, keep: Collection[str]) -> bool:
    """Remove generations that serve no more or were never finished. False if one is still there: threads of Chroma may
    write into a folder for a moment after it was closed."""
    gone = True
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and path.name not in keep:
            gone = _removed(path) and gone
    return gone


def _removed(path: Path) -> bool:
    for pause in (0.0, 0.05, 0.2, 0.5):
        time.sleep(pause)
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return True
    log.warning("an old folder of vectors is still in use; it is removed later")
    return False


def _name(collection: str) -> str:
    """Chroma takes 3 to 512 letters, digits, dots, - and _; and the name of a department is nobody's business there."""
    return "c" + hashlib.sha256(collection.encode()).hexdigest()[:24]


@contextmanager
def _translated() -> Iterator[None]:
    """What Chroma raises over a damaged folder is of many kinds, a panic of its Rust part among them, which is no
    `Exception` (pyo3's PanicException)."""
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        raise VectorsError(f"the vector store cannot be used ({type(error).__name__})") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise VectorsError("the vector store cannot be used (its library gave up)") from error
        raise
