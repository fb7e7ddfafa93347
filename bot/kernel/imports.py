"""Libraries load companions that they find installed, whether anybody uses them or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """What is imported in the block does not find these packages; those that are loaded already it finds.

    Only for imports that the library guards by `except ImportError`; nothing else may be imported meanwhile by another
    thread. Afterwards the packages can be imported like before.
    """
    hidden = [name for name in packages if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment] # "import of … halted" (docs.python.org, the import system)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
