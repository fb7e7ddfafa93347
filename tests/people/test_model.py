"""Reconciling the roster with settings: what changes, and what is refused without being asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.kernel.ids import PersonId
from bot.people.model import Change, Handle, Origin, Person, Role, RosterError, reconcile

PHONE = Handle("chat", "100", Origin.SETTINGS)
PAIRED = Handle("chat", "999", Origin.PAIRED)


def person(
    name: str,
    role: Role = Role.MEMBER,
    origin: Origin = Origin.SETTINGS,
    *,
    active: bool = True,
    handles: Sequence[Handle] = (),
) -> Person:
    return Person(PersonId(name), name, role, (), "UTC", None, origin, active, frozenset(handles))


BOSS = person("boss", Role.PRINCIPAL)
MEMBERS = [person(f"m{n}") for n in range(5)]


def wanted(*people: Person) -> dict[PersonId, Person]:
    return {each.id: each for each in people}


def kinds(changes: Sequence[Change]) -> dict[str, str]:
    return {change.person.id: change.kind for change in changes}


def test_new_people_are_added_and_the_same_again_changes_nothing() -> None:
    changes = reconcile([], wanted(BOSS, *MEMBERS), accept=False)
    assert kinds(changes) == {"boss": "added", **{f"m{n}": "added" for n in range(5)}}
    assert reconcile([change.person for change in changes], wanted(BOSS, *MEMBERS), accept=False) == []


@pytest.mark.parametrize(
    "after",
    [
        replace(BOSS, name="The Boss"),
        replace(BOSS, time_zone="Europe/Oslo"),
        replace(BOSS, departments=("board",)),
        replace(BOSS, quiet_hours=("22:00", "07:00")),
        replace(BOSS, handles=frozenset({PHONE})),
    ],
)
def test_what_settings_say_differently_is_updated(after: Person) -> None:
    assert reconcile([BOSS], wanted(after), accept=False) == [Change(after, "updated")]


def test_who_is_gone_from_settings_is_deactivated_and_comes_back_when_named_again() -> None:
    changes = reconcile([BOSS, MEMBERS[0]], wanted(BOSS), accept=False)
    assert changes == [Change(replace(MEMBERS[0], active=False), "deactivated")]
    gone = changes[0].person
    assert reconcile([BOSS, gone], wanted(BOSS), accept=False) == [], "only once"
    assert reconcile([BOSS, gone], wanted(BOSS, MEMBERS[0]), accept=False) == [Change(MEMBERS[0], "reactivated")]


def test_paired_people_stay() -> None:
    paired = person("paired", origin=Origin.PAIRED, handles=[PAIRED])
    assert reconcile([BOSS, paired], wanted(BOSS), accept=False) == []


def test_paired_handles_of_people_from_settings_stay() -> None:
    before = replace(BOSS, handles=frozenset({PHONE, PAIRED}))
    assert reconcile([before], wanted(replace(BOSS, handles=frozenset({PHONE}))), accept=False) == []
    changes = reconcile([before], wanted(BOSS), accept=False)
    assert changes == [Change(replace(BOSS, handles=frozenset({PAIRED})), "updated")]


def test_a_paired_handle_that_settings_name_as_well_stays_a_paired_one() -> None:
    before = replace(BOSS, handles=frozenset({PAIRED}))
    named = Handle(PAIRED.channel, PAIRED.address, Origin.SETTINGS)
    assert reconcile([before], wanted(replace(BOSS, handles=frozenset({named}))), accept=False) == []


@pytest.mark.parametrize(
    "settings",
    [[], [MEMBERS[0]], [replace(BOSS, role=Role.MEMBER)], [replace(BOSS, role=Role.GUEST)]],
    ids=["nobody", "a member only", "made a member", "made a guest"],
)
def test_the_last_principal_does_not_go_unasked(settings: list[Person]) -> None:
    current = [BOSS, *([MEMBERS[0]] if MEMBERS[0] in settings else [])]
    with pytest.raises(RosterError, match="--accept"):
        reconcile(current, wanted(*settings), accept=False)
    assert "boss" in kinds(reconcile(current, wanted(*settings), accept=True))


@pytest.mark.parametrize(
    "other",
    [person("second", Role.PRINCIPAL), person("paired", Role.PRINCIPAL, Origin.PAIRED)],
    ids=["from settings", "paired"],
)
def test_a_principal_may_go_while_another_stays(other: Person) -> None:
    named = [other] if other.origin is Origin.SETTINGS else []
    assert kinds(reconcile([BOSS, other], wanted(*named), accept=False)) == {"boss": "deactivated"}


def test_a_principal_may_be_exchanged_for_a_new_one() -> None:
    heir = person("heir", Role.PRINCIPAL)
    assert kinds(reconcile([BOSS], wanted(heir), accept=False)) == {"heir": "added", "boss": "deactivated"}


def test_an_inactive_principal_does_not_count_as_one_left() -> None:
    with pytest.raises(RosterError, match="principal"):
        reconcile([BOSS, person("old", Role.PRINCIPAL, active=False)], wanted(), accept=False)


def test_a_roster_that_never_had_a_principal_may_start_without() -> None:
    assert kinds(reconcile([], wanted(MEMBERS[0]), accept=False)) == {"m0": "added"}


@pytest.mark.parametrize(("gone", "refused"), [(3, False), (4, True), (5, True)])
def test_more_than_three_do_not_go_unasked(gone: int, refused: bool) -> None:
    settings = wanted(BOSS, *MEMBERS[gone:])
    if refused:
        with pytest.raises(RosterError, match=f"{gone} people"):
            reconcile([BOSS, *MEMBERS], settings, accept=False)
    assert len(reconcile([BOSS, *MEMBERS], settings, accept=True)) == gone
    if not refused:
        assert len(reconcile([BOSS, *MEMBERS], settings, accept=False)) == gone


def test_guests_and_the_deactivated_are_not_internal() -> None:
    assert BOSS.internal
    assert person("m").internal
    assert not person("g", Role.GUEST).internal
    assert not replace(BOSS, active=False).internal
