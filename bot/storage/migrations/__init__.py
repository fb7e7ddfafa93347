"""Alembic scripts, oldest first in `versions/`. A script never imports the rooms: it describes the change as it was.

`HEAD` and `KNOWN` let the daemon see without importing Alembic whether a file needs an upgrade; a test holds them
against the scripts.
"""

KNOWN: tuple[str, ...] = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
)
HEAD = KNOWN[-1]
