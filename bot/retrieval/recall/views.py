"""A space's rows and vectors in memory, and what of them a reader may see. Imports numpy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import copy
from threading import Lock

import numpy as np

from bot.kernel.values import dataclass
from bot.retrieval.embedder import Embedder
from bot.retrieval.recall import quantised
from bot.retrieval.recall.model import Days, Kind, Span, Within
from bot.retrieval.recall.quantised import Codes, Floats
from bot.retrieval.recall.ranking import Flags, Numbers, Rows
from bot.retrieval.recall.store import State, Viewed

_DAY = 86_400_000_000
_COLUMNS = ("seqs", "said_at", "length", "history", "audience", "space", "speaker")
_MOST_BYTES = 96 << 20
"""What is held in memory: the vectors of about 180,000 rows."""


@dataclass(frozen=True, slots=True)
class Vectors:
    codes: Codes
    scales: Floats


class Space:
    """Rows in the order in which they were said, each with its vector by every model."""

    def __init__(
        self, rows: Sequence[Viewed], vectors: Mapping[str, Mapping[int, bytes]], sizes: Mapping[str, int]
    ) -> None:
        """`vectors`: by model, of each seq; `sizes`: the models' dimensions."""
        rows = sorted(rows, key=lambda row: (row[2], row[4], row[0]))
        table = np.array([(row[0], row[4], row[5], row[6], row[7]) for row in rows], dtype=np.int64).reshape(-1, 5)
        columns = np.ascontiguousarray(table.T)
        self.seqs: Numbers = columns[0]
        self.said_at: Numbers = columns[1]
        self.length: Numbers = columns[2]
        self.history: Numbers = columns[3]
        self.audience: Numbers = columns[4]
        self.refs = [row[1] for row in rows]
        names = {name: code for code, name in enumerate(dict.fromkeys(row[2] for row in rows))}
        self.space: Numbers = np.array([names[row[2]] for row in rows], dtype=np.int64)
        self.speakers = list(dict.fromkeys(row[3] for row in rows))
        codes = {speaker: code for code, speaker in enumerate(self.speakers)}
        self.speaker: Numbers = np.array([codes[row[3]] for row in rows], dtype=np.int64)
        self.vectors = {
            model: Vectors(*quantised.unpacked([vectors[model].get(row[0]) for row in rows], dimension))
            for model, dimension in sizes.items()
        }
        self._by_seq = np.argsort(self.seqs, kind="stable")

    def with_later(self, later: Space, late: Mapping[str, Mapping[int, bytes]]) -> Space:
        """This one and what came since; `late`: vectors, by model, that rows of this one lacked. It stays as it is: a
        search may be looking at it."""
        joined = copy(self)
        names = list(dict.fromkeys(self.speakers + later.speakers))
        renamed = np.array([names.index(each) for each in later.speakers], dtype=np.int64)
        joined.speakers = names
        joined.refs = self.refs + later.refs
        columns = {name: np.concatenate([getattr(self, name), getattr(later, name)]) for name in _COLUMNS}
        columns["speaker"] = np.concatenate([self.speaker, renamed[later.speaker]])
        order = np.lexsort((columns["seqs"], columns["said_at"]))
        told_in_order = bool((order[1:] > order[:-1]).all())
        joined.vectors = {}
        for model, own in self.vectors.items():
            codes = np.concatenate([own.codes, later.vectors[model].codes])
            scales = np.concatenate([own.scales, later.vectors[model].scales])
            made = late.get(model, {})
            places = self.places(np.array(list(made), dtype=np.int64))
            found = [data for data, place in zip(made.values(), places, strict=True) if place >= 0]
            own_places = places[places >= 0]
            codes[own_places], scales[own_places] = quantised.unpacked(found, codes.shape[1])
            joined.vectors[model] = Vectors(codes, scales) if told_in_order else Vectors(codes[order], scales[order])
        if not told_in_order:
            columns = {name: column[order] for name, column in columns.items()}
            joined.refs = [joined.refs[place] for place in order.tolist()]
        for name, column in columns.items():
            setattr(joined, name, column)
        joined._by_seq = np.argsort(joined.seqs, kind="stable")  # noqa: SLF001 - its own
        return joined

    def lacking(self, model: str, most: int) -> list[int]:
        """Rows without a vector of this model, at most so many, in the order in which they are embedded."""
        return [int(seq) for seq in np.sort(self.seqs[self.vectors[model].scales == 0])[:most]]

    def newest(self) -> int:
        return int(self.seqs.max(initial=0))

    def places(self, seqs: Numbers) -> Numbers:
        """Where these rows stand; -1 for those that are not here."""
        if not len(self.seqs):
            return np.full(len(seqs), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.seqs, seqs, sorter=self._by_seq), len(self.seqs) - 1)
        found = self._by_seq[at]
        return np.where(self.seqs[found] == seqs, found, -1)

    def seen(self, span: Span | None, refs: frozenset[str] | None) -> Numbers:
        """Places of the rows from these epochs on, of these refs only if any are named."""
        flags = np.ones(len(self.seqs), dtype=np.bool_)
        if span is not None:
            flags &= (self.history >= span.history_epoch) & (self.audience >= span.audience_epoch)
        if refs is not None:
            flags &= np.array([ref in refs for ref in self.refs], dtype=np.bool_)
        return np.flatnonzero(flags)

    def bytes(self) -> int:
        return len(self.refs) * 120 + sum(each.codes.nbytes for each in self.vectors.values())


@dataclass(frozen=True, slots=True)
class View:
    """What a search looks at: spaces, and the places of the rows of each that may be seen."""

    parts: tuple[tuple[Space, Numbers], ...]

    def speakers(self) -> set[str]:
        found: set[str] = set()
        for space, seen in self.parts:
            codes = np.flatnonzero(np.bincount(space.speaker[seen], minlength=len(space.speakers)))
            found.update(space.speakers[code] for code in codes.tolist())
        return found

    def rows(self) -> Rows:
        spaces = [space.space[seen] + (at << 32) for at, (space, seen) in enumerate(self.parts)]
        return Rows(
            np.concatenate(spaces),
            np.concatenate([space.said_at[seen] for space, seen in self.parts]),
            np.concatenate([space.length[seen] for space, seen in self.parts]),
        )

    def ref(self, place: int) -> str:
        """Of a row of the view, by its place in it."""
        left = place
        for space, seen in self.parts:
            if left < len(seen):
                return space.refs[int(seen[left])]
            left -= len(seen)
        raise IndexError(place)

    def text(self, hits: Sequence[tuple[int, float]]) -> Floats:
        """Each row's bm25, 0 where nothing matched."""
        seqs = np.array([seq for seq, _ in hits], dtype=np.int64)
        values = np.array([value for _, value in hits], dtype=np.float32)
        found = []
        for space, seen in self.parts:
            scores = np.zeros(len(space.seqs), dtype=np.float32)
            places = space.places(seqs)
            scores[places[places >= 0]] = values[places >= 0]
            found.append(scores[seen])
        return np.concatenate(found)

    def cosines(self, model: str, question: Floats) -> Floats:
        return np.concatenate(
            [
                quantised.cosines(space.vectors[model].codes, space.vectors[model].scales, question)[seen]
                for space, seen in self.parts
            ]
        )

    def named(self, names: frozenset[str]) -> Flags:
        flags = []
        for space, seen in self.parts:
            codes = [code for code, name in enumerate(space.speakers) if name in names]
            flags.append(np.isin(space.speaker[seen], codes))
        return np.concatenate(flags)

    def timed(self, rows: Rows, times: Sequence[Days]) -> Flags:
        days = rows.said_at // _DAY
        flags = np.zeros(len(days), dtype=np.bool_)
        for each in times:
            first, last = (at.toordinal() - _EPOCH for at in (each.first, each.last))
            flags |= (days >= first) & (days <= last)
        return flags

    def __len__(self) -> int:
        return sum(len(seen) for _, seen in self.parts)


_EPOCH = 719_163
"""`date(1970, 1, 1).toordinal()`"""


class Kept:
    """Spaces that were searched lately, each with the state of SQL that it was read in. Any thread may use it."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._spaces: OrderedDict[tuple[Kind, str], tuple[State, Space]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, kind: Kind, space: str, state: State) -> Space | None:
        with self._lock:
            held = self._spaces.get((kind, space))
            if held is None or held[0] != state:
                return None
            self._spaces.move_to_end((kind, space))
            return held[1]

    def older(self, kind: Kind, space: str, state: State) -> Space | None:
        """One to which only something came since."""
        with self._lock:
            held = self._spaces.get((kind, space))
            return held[1] if held is not None and held[0].changed == state.changed else None

    def put(self, kind: Kind, space: str, state: State, made: Space) -> None:
        with self._lock:
            if (held := self._spaces.pop((kind, space), None)) is not None:
                self._bytes -= held[1].bytes()
            self._spaces[kind, space] = (state, made)
            self._bytes += made.bytes()
            while len(self._spaces) > 1 and self._bytes > self._most_bytes:
                self._bytes -= self._spaces.popitem(last=False)[1][1].bytes()

    def clear(self) -> None:
        with self._lock:
            self._spaces.clear()
            self._bytes = 0


def view(where: Within, spaces: Mapping[str, Space]) -> View:
    parts = [(spaces[span.space], span) for span in where.spans if span.space in spaces]
    return View(tuple((space, space.seen(span, where.refs)) for space, span in parts))


def dimensions(embedders: Sequence[Embedder]) -> dict[str, int]:
    return {each.model: each.dimension for each in embedders}
