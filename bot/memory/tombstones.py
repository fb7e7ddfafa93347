"""What must not be learned again: keyed hashes of what was forgotten, never its words.

The key is not in the database, so who holds the file alone cannot test guesses against it; each hash is bound to its
space (a session, or the company), so that equal words in two spaces cannot be told to be equal.

Of a forgotten claim are hashed: its statement and quotes, whole (`normal` takes out what Unicode can disguise, and
spaces); its subject; its runs of five words; and for each text the set of its telling words, in which their order and
the small words between them make no difference. So the same words, a part of them, or the same said in another order
are known again; wholly other words on another subject are not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from datetime import datetime

import sqlalchemy as sa

from bot.memory.model import Claim, Visibility
from bot.memory.normal import solid
from bot.memory.tables import tombstone
from bot.memory.wording import runs, telling
from bot.storage.database import Tx

COMPANY = "company"
"""The space of what the company sees."""
ENOUGH_RUNS = 3
"""Runs of five that are known (so seven words in a row) are enough, however long the rest of a text is."""
FEWEST_TERMS = 2
_AT_ONCE = 400


def spaces_of(of: Claim) -> tuple[str, ...]:
    """Where a claim must not be learned again."""
    return (of.session, COMPANY) if of.visibility is Visibility.COMPANY else (of.session,)


def put(
    tx: Tx, key: bytes, space: str, statement: str, quotes: Sequence[str], subject: str, forgotten_at: datetime
) -> None:
    """Note that this was forgotten in a space."""
    rows = {
        (_digest(key, space, kind, text), kind if kind != "words" else of)
        for kind, of, text in _parts(statement, quotes, subject)
    }
    values = [{"digest": digest, "space": space, "of": of, "forgotten_at": forgotten_at} for digest, of in sorted(rows)]
    if values:
        tx.execute(tombstone.insert().prefix_with("OR REPLACE"), values)


def matches(
    connection: sa.Connection, key: bytes, space: str, statement: str, quotes: Sequence[str], subject: str
) -> datetime | None:
    """When something like it was last forgotten in a space (a session's id, or `COMPANY`); what the company has
    forgotten counts everywhere. None: it never was."""
    newest: datetime | None = None
    for each in dict.fromkeys((space, COMPANY)):
        found = _matches(connection, key, each, statement, quotes, subject)
        if found is not None and (newest is None or found > newest):
            newest = found
    return newest


def lift(tx: Tx, key: bytes, space: str, statement: str, quotes: Sequence[str], subject: str) -> int:
    """A person said yes to remembering it again: its hashes go. Returns how many there were."""
    digests = {_digest(key, space, kind, text) for kind, _, text in _parts(statement, quotes, subject)}
    gone = 0
    for part in _batches(sorted(digests)):
        gone += tx.execute(tombstone.delete().where(tombstone.c.digest.in_(part))).rowcount
    return gone


def _matches(
    connection: sa.Connection, key: bytes, space: str, statement: str, quotes: Sequence[str], subject: str
) -> datetime | None:
    whole: set[str] = set()
    pieces: set[str] = set()
    for kind, _, text in _parts(statement, quotes, subject):
        (pieces if kind == "run" else whole).add(_digest(key, space, kind, text))
    certain = _newest(connection, sorted(whole))
    known = _known(connection, sorted(pieces))
    enough = len(known) >= ENOUGH_RUNS or (known and 2 * len(known) >= len(pieces))
    return max([each for each in (certain, *(known if enough else ())) if each is not None], default=None)


def _parts(statement: str, quotes: Sequence[str], subject: str) -> Iterator[tuple[str, str, str]]:
    """What is hashed: a kind, what it is of, and the text."""
    if about := solid(subject):
        yield "subject", "subject", about
    for of, text in (("statement", statement), *(("quote", quote) for quote in quotes)):
        if words := solid(text):
            yield "words", of, words
        terms = telling(text)
        if len(terms) >= FEWEST_TERMS:
            yield "terms", "terms", " ".join(sorted(terms))
        for run in runs(text):
            yield "run", "run", run


def _digest(key: bytes, space: str, kind: str, text: str) -> str:
    # Statements and quotes share a kind: what was quoted then may be a statement now.
    return hmac.new(key, f"{kind}\0{space}\0{text}".encode(), hashlib.sha256).hexdigest()


def _newest(connection: sa.Connection, digests: Sequence[str]) -> datetime | None:
    return max(_known(connection, digests), default=None)


def _known(connection: sa.Connection, digests: Sequence[str]) -> list[datetime]:
    """One instant for each of the digests that is there."""
    found: list[datetime] = []
    for part in _batches(digests):
        found += connection.execute(
            sa.select(sa.func.max(tombstone.c.forgotten_at, type_=tombstone.c.forgotten_at.type))
            .where(tombstone.c.digest.in_(part))
            .group_by(tombstone.c.digest)
        ).scalars()
    return found


def _batches(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(digests), _AT_ONCE):
        yield digests[start : start + _AT_ONCE]
