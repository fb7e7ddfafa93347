from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.kernel.lazy import Lazy


def test_a_group_is_made_once_and_only_when_one_of_its_names_is_asked_for() -> None:
    made: list[str] = []

    def group(name: str, *entries: str) -> Mapping[str, int]:
        made.append(name)
        return {each: len(each) for each in entries}

    table = Lazy(
        {"a": lambda: group("a", "a.one", "a.two"), "b": lambda: group("b", "b", "a.stray"), "c": lambda: group("c")}
    )
    assert made == []
    assert (table["a.two"], table["a.one"], table["b"]) == (5, 5, 1)
    assert made == ["a", "b"]
    assert list(table) == ["a.one", "a.two", "b"]
    assert len(table) == 3


@pytest.mark.parametrize("name", ["a.three", "b.one", "a", ""])
def test_what_is_not_there_is_not_there(name: str) -> None:
    table: Lazy[int] = Lazy({"a": lambda: {"a.one": 1}})
    assert name not in table
    assert table.get(name) is None
