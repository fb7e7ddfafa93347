"""The judgement of rooms, as a table."""

from __future__ import annotations

import itertools

import pytest

from bot.gateway.events import PlaceKind
from bot.sessions.audience import Audience, Evidence, judge, widest

D, G, C, M = PlaceKind.DIRECT, PlaceKind.GROUP, PlaceKind.CHANNEL, PlaceKind.MAIL
PERSON, ROOM, COMPANY, EXTERNAL = Audience.PERSON, Audience.ROOM, Audience.COMPANY, Audience.EXTERNAL


@pytest.mark.parametrize(
    ("kind", "declared", "internal", "guests", "unknown", "members", "judged"),
    [
        (D, None, 1, 0, 0, None, PERSON),
        (D, None, 0, 1, 0, None, EXTERNAL),
        (D, None, 0, 0, 1, None, EXTERNAL),
        (D, COMPANY, 1, 0, 0, 2, PERSON),
        (M, None, 1, 0, 0, None, PERSON),
        (M, None, 2, 0, 0, None, ROOM),
        (M, None, 2, 1, 0, None, EXTERNAL),
        (M, None, 2, 0, 1, None, EXTERNAL),
        (G, None, 3, 0, 0, 4, EXTERNAL),
        (G, EXTERNAL, 3, 0, 0, 4, EXTERNAL),
        (G, ROOM, 3, 0, 0, 4, ROOM),
        (G, COMPANY, 3, 0, 0, 4, COMPANY),
        (C, COMPANY, 3, 0, 0, 4, COMPANY),
        (G, ROOM, 3, 0, 0, 5, EXTERNAL),
        (G, ROOM, 3, 0, 0, 3, EXTERNAL),
        (G, ROOM, 3, 0, 0, None, EXTERNAL),
        (G, ROOM, 3, 1, 0, 5, EXTERNAL),
        (G, ROOM, 3, 0, 1, 5, EXTERNAL),
        (C, ROOM, 0, 0, 0, 1, ROOM),
    ],
)
def test_judgement(
    kind: PlaceKind,
    declared: Audience | None,
    internal: int,
    guests: int,
    unknown: int,
    members: int | None,
    judged: Audience,
) -> None:
    judgement = judge(Evidence(kind, declared, internal, guests, unknown, members))
    assert judgement.audience is judged
    assert judgement.because


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(kind, declared, internal, guests, unknown, members)
        for kind, declared, internal, (guests, unknown), members in itertools.product(
            PlaceKind, [None, ROOM, COMPANY], [0, 1, 3], [(1, 0), (0, 1), (2, 2)], [None, 2, 5]
        )
    ],
    ids=str,
)
def test_nothing_makes_a_place_internal_where_an_outsider_is(evidence: Evidence) -> None:
    assert judge(evidence).audience is EXTERNAL


def test_the_order_of_width() -> None:
    assert sorted([EXTERNAL, PERSON, COMPANY, ROOM], key=lambda each: each.width) == [PERSON, ROOM, COMPANY, EXTERNAL]
    assert ROOM.wider_than(PERSON)
    assert not ROOM.wider_than(ROOM)
    assert widest([ROOM, EXTERNAL, PERSON]) is EXTERNAL
