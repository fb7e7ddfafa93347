"""The program with points of a backup and of a restore at which it can be made to die. Test-only: it runs the program's
own `main` unchanged, but for functions that are wrapped to kill the process at their first passage. `BACKUP_DIE_AT`
names the point."""

from __future__ import annotations

import os
import sys

from tests.erasure.launcher import _after_awaited, _before, die

MAKING = ("copied", "half", "written", "in_place", "told")
RESTORING = ("unpacking", "unpacked", "erased", "ready")


def install(point: str) -> None:
    from bot.app import restoring as way_back
    from bot.backup import archive, making, restoring
    from bot.storage.database import Database

    match point:
        case "copied":
            _before(making, "_heads")
        case "half" | "unpacking":
            _after_first(archive, "_add" if point == "half" else "_take")
        case "written":
            _before(making, "_sync")
        case "in_place":
            _after_awaited(making, "to_the_end")
        case "told":
            _after_awaited(making.Maker, "make")
        case "unpacked":
            _before(way_back, "open_store")
        case "erased":
            _before(Database, "rewrite")
        case "ready":
            _before(restoring, "put_in_place")
        case _:
            raise SystemExit(f"no point {point!r}")


def _after_first(owner: object, name: str) -> None:
    original = getattr(owner, name)
    passed: list[bool] = []

    def wrapper(*args: object) -> object:
        if passed:
            die()
        passed.append(True)
        return original(*args)

    setattr(owner, name, wrapper)


def main() -> int:
    from bot.cli import main as program

    if point := os.environ.get("BACKUP_DIE_AT"):
        install(point)
    return program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
