"""The scoring of lives: the right counts for the simple systems, and nothing to win by silence."""

from __future__ import annotations

import pytest

from tests.evaluation.lives.generate import life
from tests.evaluation.lives.score import asserts, holds
from tests.evaluation.lives.script import Checkpoint, Edit, Fate, Forget, Key, Life, Say
from tests.evaluation.lives.systems import AppendOnly, LastN, Nothing, live
from tests.evaluation.lives.written import LIVES

KEY = Key("one", "Atlas", "budget")
OTHER = Key("one", "Beacon", "owner")
STORY = Life(
    "story",
    (
        Say("1", "one", "Marta", "The budget for Atlas is 10,100 euros.", KEY, "10,100 euros"),
        Say("2", "one", "Marta", "Nora Hollis owns Beacon.", OTHER, "Nora Hollis"),
        Checkpoint({KEY: "10,100 euros", OTHER: "Nora Hollis"}),
        Edit("1", "The budget for Atlas is 20,200 euros.", KEY, "20,200 euros"),
        Checkpoint({KEY: "20,200 euros"}),
        Forget(KEY),
        Checkpoint({KEY: Fate.ERASED, OTHER: "Nora Hollis"}),
    ),
)


async def test_silence_wins_nothing() -> None:
    figures = (await live(STORY, Nothing())).figures()
    assert figures["current recall"] == 0
    assert figures["score"] == 0
    assert figures["forgotten but visible"] == 0


async def test_the_last_messages_tell_what_is_current_and_never_forget() -> None:
    figures = (await live(STORY, LastN())).figures()
    assert figures["current recall"] == 1
    assert figures["stale"] == 0
    assert figures["forgotten but visible"] == 2
    assert figures["over-forgetting"] == 0


async def test_what_is_only_ever_added_goes_on_telling_the_old() -> None:
    figures = (await live(STORY, AppendOnly())).figures()
    assert figures["current recall"] == 1
    assert figures["stale"] == 1
    assert figures["stale lifetime, steps"] == 4


class _Forgetful(LastN):
    async def apply(self, step: object) -> None:
        await super().apply(step)  # type: ignore[arg-type]
        if isinstance(step, Forget):
            self._lines = []


async def test_forgetting_too_much_counts() -> None:
    figures = (await live(STORY, _Forgetful())).figures()
    assert figures["over-forgetting"] == 1
    assert figures["forgotten but visible"] == 0


def test_a_value_is_found_as_whole_words_and_denying_it_is_not_telling_it() -> None:
    assert holds("It is 5 July.", "5 July")
    assert not holds("It is 15 July.", "5 July")
    assert asserts("It is 271.", "271")
    assert not asserts("It is 271, not 570.", "570")
    assert not asserts("It is 6 May, not on 5 May.", "5 May")


def test_a_seed_gives_one_life_and_no_value_is_told_twice() -> None:
    assert life(7) == life(7)
    assert life(7) != life(8)
    for each in [*LIVES, *map(life, range(20))]:
        told = [value for values in each.values().values() for value in values]
        assert len(told) == len(set(told)), each.name
        assert each.checkpoints >= 8
        assert not each.never & set(told)


@pytest.mark.parametrize("seed", range(5))
async def test_a_generated_life_can_be_lived(seed: int) -> None:
    tally = await live(life(seed), LastN())
    assert tally.counts["asked"] > 50
