"""The same thing said in several shapes has one key."""

from __future__ import annotations

import pytest

from bot.memory.model import Kind
from tests.extraction.people import Desk
from tests.extraction.test_rules import read

SAME = {
    "atlas/budget": (
        "The budget for Atlas is 40,100 euros.",
        "We decided on a budget of 40,100 euros for Atlas.",
        "Decision: Atlas gets a budget of 40,100 euros.",
        "We raised the budget for Atlas to 40,100 euros.",
    ),
    "atlas/launch date": (
        "Atlas launches on 14 March.",
        "We decided to launch Atlas on 14 March.",
        "We moved the launch of Atlas to 14 March.",
        "Change of plan: Atlas launches on 14 March.",
    ),
    "delta fair/owner": (
        "Nora Hollis owns Delta Fair.",
        "Nora Hollis is now in charge of Delta Fair.",
        "Decision: Nora Hollis owns Delta Fair.",
        "Actually, Nora Hollis owns Delta Fair, not Emil Thorne.",
        "Nora Hollis owns Delta Fair from now on.",
    ),
    "delta fair/price": ("Delta Fair costs 19.50 euros.", "We decided to sell Delta Fair at 19.50 euros."),
    "delta fair/venue": (
        "Delta Fair takes place in Lisbon.",
        "We decided to hold Delta Fair in Lisbon.",
        "We moved Delta Fair to Lisbon.",
    ),
    "atlas/headcount": ("412 people work on Atlas.", "We decided on a headcount of 412 for Atlas."),
    "atlas/supplier": ("We switched the supplier for Atlas to Hexley.", "We chose Hexley as the supplier for Atlas."),
}


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in SAME.items() for text in texts])
def test_one_thing_has_one_key(key: str, text: str) -> None:
    (found,) = read(text)
    assert found.subject == key
    assert found.kind in (Kind.FACT, Kind.DECISION)


@pytest.mark.parametrize(
    "text",
    [
        "Could Atlas launch on 14 March?",
        "What if Nora Hollis owned Atlas?",
        "Somebody said that Atlas launches on 14 March.",
        "We moved to the next topic.",
        "Should we hold Atlas in Lisbon?",
        "We changed a lot of things.",
    ],
)
def test_what_tells_nothing_has_none(text: str) -> None:
    assert read(text) == []


def test_a_later_shape_takes_the_place_of_an_earlier_one() -> None:
    desk = Desk()
    desk.hears("We decided to launch Atlas on 14 March.")
    desk.hears("We moved the launch of Atlas to 20 May.")
    assert desk.told() == ["We moved the launch of Atlas to 20 May."]
    desk.hears("Atlas launches on 1 June.")
    assert desk.told() == ["Atlas launches on 1 June."]


def test_a_denial_takes_the_place_of_what_it_denies() -> None:
    desk = Desk()
    desk.hears("Hexley is the supplier for Comet.")
    desk.hears("Correction: Hexley is not the supplier for Comet.")
    assert desk.told() == ["Hexley is not the supplier for Comet."]
