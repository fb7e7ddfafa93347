"""The daemon with points of an erasure at which it can be made to die. Test-only: it runs the program's own `main`
unchanged, but for functions that are wrapped to kill the process at their first passage. `ERASE_DIE_AT` names the
point."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

POINTS = ("in_transaction", "after_transaction", "copies", "files", "rewriting", "rewritten", "folded", "receipt")
OF_FORGETTING = ("copies", "files", "indexes", "rewriting", "rewritten", "journal", "folded", "receipt")
"""Of what is left to do once a memory was forgotten."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        die()
        return original(*args, **kwargs)

    setattr(owner, name, wrapper)


def _after_awaited(owner: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(original)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = await original(*args, **kwargs)
        die()
        return result

    setattr(owner, name, wrapper)


def install(point: str) -> None:
    from bot.erasure.service import Erasure
    from bot.erasure.work import Work
    from bot.files.blobs import BlobFolder
    from bot.storage.database import Database
    from bot.tasks import store
    from channels.email.adapter import EmailChannel

    match point:
        case "in_transaction":
            _before(Erasure, "_finish")
        case "after_transaction":
            _after_awaited(Erasure, "session")
        case "copies":
            _after_awaited(EmailChannel, "remove_copies")
        case "files":
            _before(BlobFolder, "delete")
        case "indexes":
            _after_awaited(Work, "_rewrite_derived")
        case "journal":
            from bot.erasure import journal

            _after_awaited(journal, "write_out")
        case "rewriting":
            _before(Database, "rewrite")
        case "rewritten":
            _after_awaited(Database, "rewrite")
        case "folded":
            _after_awaited(Work, "_finish")
        case "receipt":
            finish = store.finish

            @functools.wraps(finish)
            def wrapper(tx: Any, recorder: Any, done: Any, *args: Any, **kwargs: Any) -> Any:
                result = finish(tx, recorder, done, *args, **kwargs)
                if done.kind == "erasure.finish":
                    die()
                return result

            store.finish = wrapper
        case _:
            raise SystemExit(f"no point {point!r}")


def main() -> int:
    if point := os.environ.get("ERASE_DIE_AT"):
        install(point)
    from bot.cli import main as program

    return program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
