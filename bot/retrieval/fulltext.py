"""Full text by SQLite's FTS5 (sqlite.org/fts5.html): the one place that knows its dialect.

An index stands beside a table of text and is kept in step by triggers. Questions become a few quoted words joined by
OR, so that nothing a person writes is taken for FTS5's own syntax, and so that no question walks the whole index.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import sqlalchemy as sa

from bot.kernel.values import dataclass
from bot.retrieval.stopwords import STOP_WORDS

MOST_TERMS = 6
"""A question of 5 words takes 4 ms on 100,000 rows, a whole message ten times as long."""
_PREFIX_FROM = 6
"""Letters from which on a word also finds what begins with it: German and Dutch write compounds as one word."""
_PREFIX_ENDING = 2
"""Letters that may be an ending: they are left off before looking for what begins alike."""
_WORD = re.compile(r"[^\W_]+")
_SPREAD = re.compile(r"(?<!q)([aou])e(?=\w{2})")
"""An umlaut in two letters; at the end of a word it is mostly none (`value`, `issues`)."""
_MERGE_PAGES = 200
"""Pages that one step of a merge writes; about 10 ms."""


@dataclass(frozen=True, slots=True)
class FullText:
    """The index `<table>_fts` over some columns of `table`, whose integer primary key is `key`. `weights` are those of
    bm25, one a column."""

    table: str
    key: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.table}_fts"

    def ddl(self) -> tuple[str, ...]:
        """What makes the index and its triggers, after the table is there."""
        listed = ", ".join(self.columns)
        new = ", ".join(f"new.{column}" for column in self.columns)
        old = ", ".join(f"old.{column}" for column in self.columns)
        insert = f"INSERT INTO {self.name}(rowid, {listed}) VALUES (new.{self.key}, {new});"  # noqa: S608
        delete = f"INSERT INTO {self.name}({self.name}, rowid, {listed}) VALUES ('delete', old.{self.key}, {old});"  # noqa: S608
        options = f"content='{self.table}', content_rowid='{self.key}', tokenize='porter unicode61 remove_diacritics 2'"
        return (
            f"CREATE VIRTUAL TABLE {self.name} USING fts5({listed}, {options})",
            f"CREATE TRIGGER {self.name}_insert AFTER INSERT ON {self.table} BEGIN {insert} END",
            f"CREATE TRIGGER {self.name}_delete AFTER DELETE ON {self.table} BEGIN {delete} END",
            f"CREATE TRIGGER {self.name}_update AFTER UPDATE ON {self.table} BEGIN {delete} {insert} END",
        )

    def beside(self, table: sa.Table) -> None:
        """Have the index made whenever `table` is."""
        for statement in self.ddl():
            sa.event.listen(table, "after_create", sa.DDL(statement))  # type: ignore[no-untyped-call]

    def match(self) -> sa.TextualSelect:
        """Rows that match the expression bound as `words`: their key, and `rank`, which is better the lower it is."""
        weights = ", ".join(map(str, self.weights))
        return sa.text(
            f"SELECT rowid AS key, bm25({self.name}, {weights}) AS rank FROM {self.name} "  # noqa: S608 - own names
            f"WHERE {self.name} MATCH :words"
        ).columns(sa.column("key", sa.Integer), sa.column("rank", sa.Float))

    def newest(self) -> sa.TextualSelect:
        """Rows that match the expression bound as `words`: their key alone, the highest first."""
        return sa.text(
            f"SELECT rowid AS key FROM {self.name} WHERE {self.name} MATCH :words ORDER BY rowid DESC"  # noqa: S608
        ).columns(sa.column("key", sa.Integer))

    def merge_step(self, connection: sa.Connection, *, first: bool) -> bool:
        """Merge a part of the index: what was deleted leaves it only when its segment is merged (s6.8). True as long as
        there may be more to do; each step belongs into a unit of its own."""
        pages = -_MERGE_PAGES if first else _MERGE_PAGES  # a negative number has all segments merged into one
        before = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
        connection.exec_driver_sql(
            f"INSERT INTO {self.name}({self.name}, rank) VALUES ('merge', {pages})"  # noqa: S608 - own name
        )
        after = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
        return bool(after - before >= 2)

    def check(self, connection: sa.Connection) -> bool:
        """Whether the index agrees with its table. Reads all of it; needs a writing transaction."""
        try:
            connection.exec_driver_sql(
                f"INSERT INTO {self.name}({self.name}, rank) VALUES ('integrity-check', 1)"  # noqa: S608 - own name
            )
        except sa.exc.DatabaseError:
            return False
        return True

    def rebuild(self, connection: sa.Connection) -> None:
        """Make the index anew from its table. Takes long on a large one."""
        connection.exec_driver_sql(f"INSERT INTO {self.name}({self.name}) VALUES ('rebuild')")  # noqa: S608 - own name


def all_of(connection: sa.Connection) -> list[FullText]:
    """Every index of the database, for upkeep alone: their columns are not told."""
    found = connection.exec_driver_sql(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts5(%'"
    )
    return [FullText(row.name.removesuffix("_fts"), "", (), ()) for row in found if row.name.endswith("_fts")]


def plain(text: str) -> str:
    """Lower case, without accents, as the index sees it."""
    folded = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in folded if not unicodedata.combining(char))


def words(text: str) -> list[str]:
    """All words of a text, in order, as the index sees them."""
    return _WORD.findall(plain(text))


def spellings(word: str) -> tuple[str, ...]:
    """How else a word (as `words` gives it) may be written: `strasse` for `straße` and the other way round, and what is
    typed without umlauts (`muenchen`) as the index has it (`munchen`)."""
    found = (word.replace("ß", "ss"), word.replace("ss", "ß"), _SPREAD.sub(r"\1", word))
    return tuple(dict.fromkeys(each for each in found if each != word))


def terms(question: str, most: int = MOST_TERMS) -> tuple[str, ...]:
    """The words of a question that say what it is about, at most `most`, the longest (so mostly the rarest) first;
    of a question of nothing but stop words, those. A number counts as long."""
    found = list(dict.fromkeys(words(question)))
    telling = [word for word in found if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    ranked = sorted(telling or found, key=lambda word: -max(len(word), 8 * word.isdigit()))
    return tuple(ranked[:most])


def expression(telling: Sequence[str]) -> str:
    """An FTS5 query (s3) that finds rows with any of the words, or with what begins like a long one."""
    parts = []
    for word in telling:
        quoted = word.replace('"', '""')
        parts.append(f'"{quoted}"')
        if len(word) >= _PREFIX_FROM and word.isalpha():
            parts.append(f'"{quoted[:-_PREFIX_ENDING]}"*')
        parts += [f'"{other}"' for other in spellings(quoted)]
    return " OR ".join(parts)


def every(column: str, wanted: Sequence[str], *, begun: bool = False) -> str:
    """An FTS5 query (s3) that finds rows with all of these words in a column. `begun`: the last may be the beginning of
    one; what begins so is gathered before anything is found, which takes long for a common word."""
    quoted = ['"' + word.replace('"', '""') + '"' for word in wanted]
    return f"{{{column}}} : (" + " AND ".join([*quoted[:-1], quoted[-1] + "*" * begun]) + ")"


def some(column: str, wanted: Sequence[str]) -> str:
    """An FTS5 query (s3) that finds rows with any of these words in a column."""
    return f"{{{column}}} : (" + " OR ".join('"' + word.replace('"', '""') + '"' for word in wanted) + ")"
