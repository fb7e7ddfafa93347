"""The registry of all tables, and the column types that rooms use."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """An instant, stored as whole microseconds since 1970 (UTC): sorts, compares and indexes as a number."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without zone cannot be stored")
        return (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=int(value))


def among(column: sa.ColumnElement[Any], values: Collection[str]) -> sa.ColumnElement[bool]:
    """`column IN (...)` with the values (of our own making) written out: SQLite proves that a query may use a partial
    index only from literals, never from bound parameters (sqlite.org/partialindex.html, section 3.1)."""
    return column.in_([sa.literal_column(f"'{value}'") for value in values])


def exactly(column: sa.ColumnElement[Any], value: str) -> sa.ColumnElement[bool]:
    """`column = '...'`, written out like `among`."""
    return column == sa.literal_column(f"'{value}'")


def one_of(column: str, values: type) -> sa.CheckConstraint:
    """CHECK that `column` holds a value of a `StrEnum`: a state outside the machine cannot be stored."""
    listed = ", ".join(f"'{member.value}'" for member in values)  # type: ignore[attr-defined]
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)
