"""Who may do what to a claim."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.gateway.events import PlaceKind, Proof
from bot.kernel.ids import PersonId
from bot.memory.model import EXECUTIVE, Claim, Held, Kind, Status, Trust
from bot.memory.rights import Act, By, Door, No, Verdict, decide, door
from bot.people.model import Role
from tests.memory.claims import claim

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ADA = PersonId("ada")


def by(role: Role = Role.MEMBER, door: Door = Door.FULL, *, own: bool = False, took_part: bool = True) -> By:
    return By(ADA, role, door, own, took_part)


def said(**values: Any) -> Claim:
    return claim(NOW, **values)


def waits(*held: Held, trust: Trust = Trust.PROVEN) -> Claim:
    return said(status=Status.PENDING, held=held, trust=trust)


@pytest.mark.parametrize("act", sorted(Act))
def test_a_principal_may_do_everything(act: Act) -> None:
    assert decide(act, said(), by(Role.PRINCIPAL)) is Verdict.NOW
    assert decide(act, waits(Held.AUTHORITY), by(Role.PRINCIPAL, took_part=False)) is Verdict.NOW


@pytest.mark.parametrize("act", [Act.CORRECT, Act.RETRACT, Act.FORGET, Act.RESTORE, Act.KEEP, Act.REJECT, Act.DEMOTE])
@pytest.mark.parametrize("role", [Role.MEMBER, Role.GUEST])
def test_everyone_may_act_at_once_on_their_own_words(act: Act, role: Role) -> None:
    assert decide(act, said(), by(role, own=True)) is Verdict.NOW


@pytest.mark.parametrize("act", [Act.CORRECT, Act.RETRACT, Act.FORGET, Act.DISPUTE])
def test_a_member_disputes_what_others_said(act: Act) -> None:
    assert decide(act, said(), by()) is Verdict.DISPUTE


@pytest.mark.parametrize("act", sorted(Act))
def test_a_guest_may_do_nothing_to_what_others_said(act: Act) -> None:
    assert isinstance(decide(act, said(), by(Role.GUEST)), No)
    assert isinstance(decide(act, said(speaker=EXECUTIVE, kind=Kind.ADVICE), by(Role.GUEST)), No)


@pytest.mark.parametrize("act", [Act.PROMOTE, Act.DEMOTE, Act.ACCEPT, Act.REJECT, Act.RESTORE, Act.KEEP, Act.SETTLE])
def test_a_member_may_not_do_the_rest_to_what_others_said(act: Act) -> None:
    assert isinstance(decide(act, said(), by()), No)


def test_a_members_promotion_waits_for_a_principal_and_a_guest_has_none() -> None:
    assert decide(Act.PROMOTE, said(), by(own=True)) is Verdict.ASK
    assert isinstance(decide(Act.PROMOTE, said(), by(Role.GUEST, own=True)), No)


def test_who_asked_for_a_promotion_may_take_the_wish_back_and_nobody_else_but_a_principal() -> None:
    asked = said(promotion_by=ADA)
    assert decide(Act.DECLINE, asked, by(own=True)) is Verdict.NOW
    assert isinstance(decide(Act.DECLINE, said(promotion_by=PersonId("bob")), by(own=True)), No)


@pytest.mark.parametrize("held", [Held.AUTHORITY, Held.PAYMENT, Held.RECIPIENT, Held.INSTRUCTION])
def test_what_is_about_power_money_or_orders_needs_a_principals_yes(held: Held) -> None:
    assert decide(Act.ACCEPT, waits(held), by(own=True)) is Verdict.ASK
    assert decide(Act.ACCEPT, waits(held, trust=Trust.FOREIGN), by()) is Verdict.ASK
    assert isinstance(decide(Act.ACCEPT, replace(waits(held), promotion_by=ADA), by(own=True)), No), "they were asked"
    assert isinstance(decide(Act.ACCEPT, waits(held), by()), No)
    assert decide(Act.REJECT, waits(held), by(own=True)) is Verdict.NOW


def test_a_member_may_accept_their_own_words_and_what_comes_from_outside_where_they_take_part() -> None:
    assert decide(Act.ACCEPT, waits(Held.UNSUPPORTED), by(own=True)) is Verdict.NOW
    assert decide(Act.ACCEPT, waits(Held.UNTRUSTED, trust=Trust.FOREIGN), by()) is Verdict.NOW
    assert isinstance(decide(Act.ACCEPT, waits(Held.UNTRUSTED, trust=Trust.FOREIGN), by(took_part=False)), No)
    assert isinstance(decide(Act.ACCEPT, waits(Held.UNSUPPORTED), by()), No)


def test_a_guests_own_yes_makes_nothing_believed() -> None:
    assert isinstance(decide(Act.ACCEPT, waits(Held.UNTRUSTED, trust=Trust.GUEST), by(Role.GUEST, own=True)), No)


def test_advice_may_be_corrected_and_retracted_by_whoever_takes_part_and_forgotten_by_whoever_asked() -> None:
    advice = said(kind=Kind.ADVICE, speaker=EXECUTIVE)
    for act in (Act.CORRECT, Act.RETRACT):
        assert decide(act, advice, by()) is Verdict.NOW
        assert decide(act, advice, by(took_part=False)) is Verdict.DISPUTE
    assert decide(Act.FORGET, advice, by(own=True)) is Verdict.NOW
    assert decide(Act.FORGET, advice, by()) is Verdict.DISPUTE


def test_the_owner_of_an_initiative_says_how_it_stands() -> None:
    initiative = said(kind=Kind.INITIATIVE, owner=ADA)
    assert decide(Act.PLAN, initiative, by()) is Verdict.NOW
    assert isinstance(decide(Act.PLAN, said(kind=Kind.INITIATIVE), by()), No)


@pytest.mark.parametrize("act", sorted(Act))
@pytest.mark.parametrize("role", sorted(Role))
def test_a_mail_that_only_its_domain_vouches_for_changes_nothing(act: Act, role: Role) -> None:
    assert isinstance(decide(act, said(), by(role, Door.CLOSED, own=True)), No)


def test_by_local_mail_everyone_a_principal_too_changes_only_what_they_said() -> None:
    for role in (Role.PRINCIPAL, Role.MEMBER):
        assert decide(Act.CORRECT, said(), by(role, Door.OWN_ONLY, own=True)) is Verdict.NOW
        assert isinstance(decide(Act.CORRECT, said(), by(role, Door.OWN_ONLY)), No)
        assert isinstance(decide(Act.SETTLE, said(), by(role, Door.OWN_ONLY, own=True)), No)
        assert decide(Act.PROMOTE, said(), by(role, Door.OWN_ONLY, own=True)) is Verdict.ASK


def test_how_surely_a_command_is_the_persons() -> None:
    assert door(Proof.PLATFORM, PlaceKind.GROUP) is Door.FULL
    assert door(Proof.TOKEN, PlaceKind.MAIL) is Door.FULL
    assert door(Proof.LOCAL, PlaceKind.DIRECT) is Door.FULL
    assert door(Proof.LOCAL, PlaceKind.MAIL) is Door.OWN_ONLY
    assert door(Proof.DOMAIN, PlaceKind.MAIL) is Door.CLOSED
    assert door(Proof.NONE, PlaceKind.MAIL) is Door.CLOSED
