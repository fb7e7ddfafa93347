"""SQL of what recall searches. Full text follows `recall_row` by triggers; every query of rows is within a `Within`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from bot.kernel.values import dataclass
from bot.retrieval.fulltext import spellings
from bot.retrieval.recall.model import Counts, Entry, Kind, Question, Span, Within
from bot.retrieval.tables import RECALL_TEXT, recall_row, recall_space, recall_vector
from bot.storage.database import Tx
from bot.storage.metadata import UtcDateTime

T = TypeVar("T")

GAP = timedelta(hours=6)
"""What was said later than this after another thing does not follow it."""
MOST_WEIGHED = 5_000
"""Rows of which bm25 is computed and the view looked up: 2 ms a thousand."""
_PART = 400
_FEW = 16
_SELECTIVE = 4
"""Spaces with less than one of so many rows are looked for in the full text; else that costs more than it saves."""
_row, _vector, _space = recall_row.c, recall_vector.c, recall_space.c
_BY_REF: sa.ColumnElement[str] = UnaryExpression(_row.space, operator=custom_op("+"))
"""The space, but not as a key of its index: a few refs are looked up by theirs, while SQLite would read the whole space
(sqlite.org/optoverview.html, disqualifying WHERE-clause terms by unary plus)."""
_MICROSECONDS = sa.type_coerce(recall_row.c.said_at, sa.BigInteger)
_VIEWED = (
    _row.seq, _row.ref, _row.space, _row.speaker, _MICROSECONDS, sa.func.length(_row.text),
    _row.history_epoch, _row.audience_epoch,
)  # fmt: skip

Viewed = tuple[int, str, str, str, int, int, int, int]
"""seq, ref, space, speaker, microseconds, characters, history epoch, audience epoch."""


@dataclass(frozen=True, slots=True)
class State:
    """How often a space grew, and how often something in it changed or went."""

    grown: int
    changed: int


@dataclass(frozen=True, slots=True)
class Waiting:
    seq: int
    stamp: int
    text: str
    before: str
    """What was said just before, in the same epochs; empty if nothing was."""


# --- writing --------------------------------------------------------------------------------------------------------


def put(tx: Tx, kind: Kind, entries: Collection[Entry], models: Sequence[str]) -> None:
    """Write entries of one kind, or over those of the same refs. What says something else than before waits to be
    embedded, and so does the turn after it."""
    wanted = {each.ref: each for each in entries}
    for refs in _parts(list(wanted)):
        known = {row.ref: row for row in tx.execute(sa.select(recall_row).where(_row.kind == kind, _row.ref.in_(refs)))}
        _add(tx, kind, [wanted[ref] for ref in refs if ref not in known], models)
        _change(tx, kind, [(row, wanted[ref]) for ref, row in known.items()])


def remove(tx: Tx, kind: Kind, refs: Collection[str]) -> None:
    for part in _parts(list(refs)):
        _remove(tx, kind, (_row.ref.in_(part),))


def clear(tx: Tx, kind: Kind, space: str) -> None:
    """Remove all of a space."""
    _remove(tx, kind, (_row.space == space,))


def _add(tx: Tx, kind: Kind, entries: Sequence[Entry], models: Sequence[str]) -> None:
    if not entries:
        return
    tx.execute(recall_row.insert(), [_values(each) for each in entries])
    enlist(tx, models, (_row.kind == kind, _row.ref.in_([each.ref for each in entries])))
    _count(tx, kind, {each.space for each in entries}, changed=False)


def _change(tx: Tx, kind: Kind, pairs: Sequence[tuple[sa.Row[Any], Entry]]) -> None:
    others: list[sa.Row[Any]] = []
    spaces: set[str] = set()
    for row, entry in pairs:
        values = _values(entry)
        if all(row._mapping[name] == value for name, value in values.items()):  # noqa: SLF001 - the row's public view
            continue
        tx.execute(recall_row.update().where(_row.seq == row.seq).values(values))
        spaces |= {row.space, entry.space}
        if (row.text, row.space, row.said_at) != (entry.text, entry.space, entry.said_at):
            others.append(row)
    if spaces:
        _count(tx, kind, spaces, changed=True)
        _reset(tx, {row.seq for row in others} | _following(tx, kind, others))


def _remove(tx: Tx, kind: Kind, those: Sequence[sa.ColumnElement[bool]]) -> None:
    columns = (_row.seq, _row.space, _row.said_at)
    rows = tx.execute(sa.select(*columns).where(_row.kind == kind, *those)).all()
    if not rows:
        return
    for part in _parts([row.seq for row in rows]):
        tx.execute(recall_vector.delete().where(_vector.seq.in_(part)))
        tx.execute(recall_row.delete().where(_row.seq.in_(part)))
    _count(tx, kind, {row.space for row in rows}, changed=True)
    _reset(tx, _following(tx, kind, rows))


def enlist(tx: Tx, models: Sequence[str], those: Sequence[sa.ColumnElement[bool]] = ()) -> None:
    """Have rows wait to be embedded by each model, unless they do or were."""
    for model in models:
        source = sa.select(_row.seq, sa.literal(model), sa.literal(1)).where(*those)
        insert = recall_vector.insert().prefix_with("OR IGNORE")
        tx.execute(insert.from_select(["seq", "model", "stamp"], source))


def forget_other_models(tx: Tx, models: Sequence[str]) -> None:
    tx.execute(recall_vector.delete().where(_vector.model.not_in(models)))


def reset_all(tx: Tx) -> None:
    tx.execute(recall_vector.update().values(data=None, stamp=_vector.stamp + 1))
    tx.execute(recall_space.update().values(changed=_space.changed + 1))


def fill(tx: Tx, model: str, made: Sequence[tuple[Waiting, bytes]]) -> None:
    """Store vectors of rows that still say what they were made of."""
    for waiting, data in made:
        tx.execute(
            recall_vector.update()
            .where(_vector.seq == waiting.seq, _vector.model == model, _vector.stamp == waiting.stamp)
            .values(data=data)
        )
    spaces = tx.execute(
        sa.select(_row.kind, _row.space).where(_row.seq.in_([each.seq for each, _ in made])).distinct()
    ).all()
    for each in spaces:
        _count(tx, Kind(each.kind), {each.space}, changed=False)


def _following(tx: Tx, kind: Kind, rows: Iterable[sa.Row[Any]]) -> set[int]:
    """The turns that stand after these: they were embedded with the end of what stood before them."""
    if kind is not Kind.TURN:
        return set()
    found = set()
    for row in rows:
        after = sa.tuple_(_row.said_at, _row.seq) > sa.tuple_(sa.literal(row.said_at, UtcDateTime), row.seq)
        query = sa.select(_row.seq).where(_row.kind == kind, _row.space == row.space, after)
        found.add(tx.execute(query.order_by(_row.said_at, _row.seq).limit(1)).scalar())
    return {each for each in found if each is not None}


def _reset(tx: Tx, seqs: Collection[int]) -> None:
    for part in _parts(list(seqs)):
        tx.execute(recall_vector.update().where(_vector.seq.in_(part)).values(data=None, stamp=_vector.stamp + 1))


def _count(tx: Tx, kind: Kind, spaces: Collection[str], *, changed: bool) -> None:
    insert = upsert(recall_space)
    for space in spaces:
        tx.execute(
            insert.values(kind=kind.value, space=space, grown=1, changed=int(changed)).on_conflict_do_update(
                index_elements=["kind", "space"],
                set_={"grown": _space.grown + 1, "changed": _space.changed + int(changed)},
            )
        )


def _values(entry: Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind.value,
        "ref": entry.ref,
        "space": entry.space,
        "history_epoch": entry.history_epoch,
        "audience_epoch": entry.audience_epoch,
        "speaker": entry.speaker,
        "said_at": entry.said_at,
        "text": entry.text,
    }


# --- reading --------------------------------------------------------------------------------------------------------


def visible(where: Within, space: sa.ColumnElement[str] = _row.space) -> sa.ColumnElement[bool]:
    """What a search may return. Nothing, if no space and no ref is named. `space`: how its column is written."""
    spans = (_few if len(where.spans) <= _FEW else _many)(where.spans, space)
    within = sa.and_(_row.kind == where.kind.value, spans)
    return within if where.refs is None else sa.and_(within, _is_one_of(where.refs))


def _few(spans: Sequence[Span], space: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Written out, so that the index of spaces is used."""
    each = [
        sa.and_(
            space == span.space,
            _row.history_epoch >= span.history_epoch,
            _row.audience_epoch >= span.audience_epoch,
        )
        for span in spans
    ]
    return sa.or_(sa.false(), *each)


def _many(spans: Sequence[Span], space: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """By their epochs, of which there are few: so the list of spaces is read once, not for each row."""
    by_epochs: dict[tuple[int, int], list[str]] = {}
    for span in spans:
        by_epochs.setdefault((span.history_epoch, span.audience_epoch), []).append(span.space)
    return sa.or_(
        *(
            sa.and_(_is_in(space, spaces), _row.history_epoch >= history, _row.audience_epoch >= audience)
            for (history, audience), spaces in by_epochs.items()
        )
    )


def _is_in(column: sa.ColumnElement[str], values: Collection[str]) -> sa.ColumnElement[bool]:
    each = sa.func.json_each(json.dumps(sorted(values))).table_valued("value")
    return column.in_(sa.select(each.c.value))


def _is_one_of(refs: Collection[str]) -> sa.ColumnElement[bool]:
    return _is_in(_row.ref, refs)


def by_words(
    connection: sa.Connection, question: Question, where: Within, limit: int, *, seen: int
) -> list[tuple[int, float]]:
    """(seq, bm25) of the best rows that have any of the words; higher is better. Where words are so common that too
    many rows would have to be weighed, the commonest are left out. `seen`: how many rows the reader sees."""
    words = list(question.words)
    newest = connection.execute(sa.select(sa.func.max(_row.seq))).scalar() or 0
    narrow = where if seen * _SELECTIVE < newest else None
    if newest > MOST_WEIGHED:
        words = _rarest(connection, words, narrow)
    if not words:
        return []
    phrases = [each for each in question.phrases if set(each.split()) <= set(words)]
    matched = RECALL_TEXT.match().subquery()
    query = (
        sa.select(matched.c.key, matched.c.rank)
        .join(recall_row, _row.seq == matched.c.key)
        .where(visible(where))
        .order_by(matched.c.rank)
        .limit(limit)
    )
    others = [other for word in words for other in spellings(word)]
    found = connection.execute(query, {"words": _expression((*words, *others, *phrases), narrow)})
    return [(row.key, -row.rank) for row in found]


def _rarest(connection: sa.Connection, words: Sequence[str], narrow: Within | None) -> list[str]:
    """The rarest words, as many as may be weighed, one at least."""
    table = sa.text(f"SELECT count(*) FROM {RECALL_TEXT.name} WHERE {RECALL_TEXT.name} MATCH :words")  # noqa: S608
    count = {
        word: connection.execute(table, {"words": _expression((word, *spellings(word)), narrow)}).scalar_one()
        for word in words
    }
    kept: list[str] = []
    total = 0
    for word in sorted((word for word in words if count[word]), key=lambda word: count[word]):
        total += count[word]
        if kept and total > MOST_WEIGHED:
            break
        kept.append(word)
    return kept


def _expression(phrases: Sequence[str], narrow: Within | None) -> str:
    """An FTS5 query (sqlite.org/fts5.html, s3). The space narrows it down; what is visible, SQL decides."""
    said = "{text} : (" + " OR ".join(_quoted(each) for each in phrases) + ")"
    if narrow is None or len(narrow.spans) > _FEW:
        return said
    return "({space} : (" + " OR ".join(_quoted(span.space) for span in narrow.spans) + ")) AND (" + said + ")"


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', '""') + '"'


def still(connection: sa.Connection, where: Within, refs: Collection[str]) -> set[str]:
    """Those of these refs that a search may return now."""
    there = visible(where, _BY_REF)
    return set(connection.execute(sa.select(_row.ref).where(there, _is_one_of(refs))).scalars())


def states(connection: sa.Connection, kind: Kind, spaces: Collection[str]) -> dict[str, State]:
    """Spaces that hold or held something."""
    query = sa.select(recall_space).where(_space.kind == kind.value, _space.space.in_(list(spaces)))
    return {row.space: State(row.grown, row.changed) for row in connection.execute(query)}


def of_space(connection: sa.Connection, kind: Kind, space: str, after: tuple[int, int], limit: int) -> list[Viewed]:
    """Rows of a space in the order in which they were said, after this (microseconds, seq)."""
    behind = sa.tuple_(_MICROSECONDS, _row.seq) > sa.tuple_(*after)
    query = sa.select(*_VIEWED).where(_row.kind == kind.value, _row.space == space, behind)
    found = connection.execute(query.order_by(_row.said_at, _row.seq).limit(limit))
    return [cast("Viewed", tuple(row)) for row in found]


def newer(connection: sa.Connection, kind: Kind, space: str, seq: int, limit: int) -> list[Viewed]:
    """Rows that came to a space after this one."""
    query = sa.select(*_VIEWED).where(_row.kind == kind.value, _row.space == space, _row.seq > seq)
    return [cast("Viewed", tuple(row)) for row in connection.execute(query.order_by(_row.seq).limit(limit))]


def vectors(connection: sa.Connection, model: str, seqs: Collection[int]) -> dict[int, bytes]:
    each = sa.func.json_each(json.dumps(list(seqs))).table_valued("value")
    query = sa.select(_vector.seq, _vector.data).where(
        _vector.model == model, _vector.data.is_not(None), _vector.seq.in_(sa.select(each.c.value))
    )
    return {row.seq: row.data for row in connection.execute(query)}


def waiting(connection: sa.Connection, model: str, limit: int) -> list[Waiting]:
    """Rows that are to be embedded, oldest first."""
    query = (
        sa.select(recall_row, _vector.stamp)
        .join(recall_vector, _row.seq == _vector.seq)
        .where(_vector.model == model, _vector.data.is_(None))
        .order_by(_vector.seq)
        .limit(limit)
    )
    return [Waiting(row.seq, row.stamp, row.text, _before(connection, row)) for row in connection.execute(query).all()]


def waits(connection: sa.Connection, model: str) -> bool:
    """Whether any row is to be embedded."""
    query = sa.select(_vector.seq).where(_vector.model == model, _vector.data.is_(None)).limit(1)
    return connection.execute(query).first() is not None


def _before(connection: sa.Connection, row: sa.Row[Any]) -> str:
    if row.kind != Kind.TURN.value:
        return ""
    query = (
        sa.select(_row.text)
        .where(
            _row.kind == row.kind,
            _row.space == row.space,
            _row.history_epoch == row.history_epoch,
            _row.audience_epoch == row.audience_epoch,
            _row.said_at >= row.said_at - GAP,
            sa.tuple_(_row.said_at, _row.seq) < sa.tuple_(sa.literal(row.said_at, UtcDateTime), row.seq),
        )
        .order_by(_row.said_at.desc(), _row.seq.desc())
        .limit(1)
    )
    return str(connection.execute(query).scalar() or "")


def counts(connection: sa.Connection, models: Sequence[str]) -> Counts:
    """`embedded`: rows that every model has embedded."""
    entries = connection.execute(sa.select(sa.func.count()).select_from(recall_row)).scalar_one()
    waiting_rows = sa.select(_vector.seq).where(_vector.model.in_(models), _vector.data.is_(None)).distinct().subquery()
    unmade = connection.execute(sa.select(sa.func.count()).select_from(waiting_rows)).scalar_one()
    return Counts(entries, entries - unmade)


def missing(connection: sa.Connection, model: str) -> int:
    """Rows without a vector of this model."""
    there = sa.select(_vector.seq).where(_vector.model == model, _vector.data.is_not(None))
    query = sa.select(sa.func.count()).select_from(recall_row).where(_row.seq.not_in(there))
    return int(connection.execute(query).scalar_one())


def unusable(connection: sa.Connection, model: str, size: int) -> int:
    """Vectors of another size than they must have."""
    query = sa.select(sa.func.count()).where(
        _vector.model == model, _vector.data.is_not(None), sa.func.length(_vector.data) != size
    )
    return int(connection.execute(query).scalar_one())


def _parts(items: Sequence[T]) -> Iterable[Sequence[T]]:
    for at in range(0, len(items), _PART):
        yield items[at : at + _PART]
