"""Values are dataclasses in every respect that can be seen; their methods are written when they are first called."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import TypeAdapter

import bot
import channels
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Base:
    kind: ClassVar[str]
    name: str


@dataclass(frozen=True, slots=True)
class Point(Base):
    kind = "point"
    x: int = 0
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("left of everything")


@dataclass(slots=True)
class Counter:
    count: int = 0


@dataclass(eq=False)
class Place:
    name: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Equal whatever the case."""

    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folded) and self.text.lower() == other.text.lower()

    def __hash__(self) -> int:
        return hash(self.text.lower())

    def __repr__(self) -> str:
        return "folded"


def test_fields_are_taken_in_order_by_name_and_by_default() -> None:
    assert (Point("a", 1).x, Point(name="a").x, Point("a", tags=["t"]).tags) == (1, 0, ["t"])
    assert Point("a").tags is not Point("b").tags


@pytest.mark.parametrize(
    "wrong",
    [lambda made: made(), lambda made: made("a", y=1), lambda made: made("a", 1, [], 2)],
    ids=["none", "unknown", "many"],
)
def test_wrong_arguments_are_refused(wrong: Callable[[Callable[..., Point]], Point]) -> None:
    with pytest.raises(TypeError):
        wrong(Point)


def test_what_the_class_does_after_it_is_made_is_done() -> None:
    with pytest.raises(ValueError, match="left"):
        Point("a", -1)


def test_they_are_compared_hashed_and_shown_by_their_fields() -> None:
    assert Point("a", 1, ["t"]) == Point("a", 1)
    assert Point("a", 1) != Point("a", 2)
    assert Base("a") != Point("a")
    assert len({Point("a", 1), Point("a", 1, ["t"]), Point("b", 1)}) == 2
    assert repr(Point("a")) == "Point(name='a', x=0, tags=[])"


def test_the_first_of_all_calls_may_be_any() -> None:
    @dataclass(frozen=True, slots=True)
    class One:
        x: int

    made = TypeAdapter(One).validate_python({"x": 1})  # made without `__init__`
    assert hash(made) == hash((1,))
    assert repr(made).endswith("One(x=1)")
    assert made == One(1)


def test_what_is_frozen_cannot_be_changed() -> None:
    point = Point("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x' of Point"):
        point.x = 1  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_what_is_not_can_and_has_no_hash() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)
    assert Place("a") != Place("a")
    assert len({Place("a"), Place("a")}) == 2


def test_a_method_of_their_own_stays() -> None:
    assert Folded("A") == Folded("a")
    assert len({Folded("A"), Folded("a")}) == 1
    assert repr(Folded("A")) == "folded"


def test_the_tools_for_dataclasses_know_them() -> None:
    assert [each.name for each in dataclasses.fields(Point)] == ["name", "x", "tags"]
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.replace(Point("a"), x=2) == Point("a", 2)
    assert dataclasses.asdict(Point("a")) == {"name": "a", "x": 0, "tags": []}
    match Point("a", 3):
        case Point(name, x):
            assert (name, x) == ("a", 3)
    assert TypeAdapter(Point).validate_json(TypeAdapter(Point).dump_json(Point("a", 4))) == Point("a", 4)


def test_a_class_without_words_of_its_own_is_documented_by_its_name() -> None:
    assert (Counter.__doc__, Folded.__doc__) == ("Counter", "Equal whatever the case.")


def test_an_argument_that_is_not_taken_is_refused_where_it_stands() -> None:
    with pytest.raises(TypeError, match="order"):
        dataclass(order=True)(type("One", (), {}))


def test_nothing_is_written_for_a_class_of_which_none_is_made() -> None:
    """A method that the standard library writes comes from a string; only such code has no file."""
    code = (
        "import dataclasses, bot.gateway.operations as room\n"
        "made = room.Choice('token', 'Yes')\n"
        "kinds = [each for each in vars(room).values() if isinstance(each, type) and dataclasses.is_dataclass(each)]\n"
        "print(*(each.__name__ for each in kinds if each.__init__.__code__.co_filename == '<string>'))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["Choice"]


def test_rooms_and_channels_take_no_other() -> None:
    other = re.compile(r"^from dataclasses import .*\bdataclass\b|\bdataclasses\.dataclass\b", re.MULTILINE)
    sources = [path for package in (bot, channels) for path in Path(package.__path__[0]).rglob("*.py")]
    found = [path.as_posix() for path in sources if other.search(path.read_text(encoding="utf-8"))]
    assert [path for path in found if not path.endswith("/bot/kernel/values.py")] == []
