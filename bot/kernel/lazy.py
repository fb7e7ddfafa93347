"""A table whose entries are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

V = TypeVar("V")


class Lazy(Mapping[str, V]):
    """Names are of the form `group.name`, or a group's alone. `groups` says by group what makes its entries: all of
    them, at the first question for one (others that it makes beside them are left out). Counting and listing make
    everything."""

    def __init__(self, groups: Mapping[str, Callable[[], Mapping[str, V]]]) -> None:
        self._groups = groups
        self._made: dict[str, Mapping[str, V]] = {}

    def __getitem__(self, name: str) -> V:
        return self._group(_group_of(name))[name]

    def __iter__(self) -> Iterator[str]:
        return (name for group in self._groups for name in self._group(group) if _group_of(name) == group)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _group(self, group: str) -> Mapping[str, V]:
        if group not in self._made:
            self._made[group] = self._groups[group]()
        return self._made[group]


def _group_of(name: str) -> str:
    return name.partition(".")[0]
