"""Who may do what to a claim. Pure.

What a person said is theirs: their own command acts at once on it. On what others said it disputes. A principal may act
on all that is visible to them, a guest on their own words only. Advice belongs to whoever asked for it. What the
company is to see needs a principal's word.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto

from bot.gateway.events import PlaceKind, Proof
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.memory.model import EXECUTIVE, Claim, Held, Kind, Source, Status, Trust, Visibility
from bot.people.model import Role


class Act(StrEnum):
    CORRECT = "correct"
    RETRACT = "retract"
    RESTORE = "restore"
    ACCEPT = "accept"
    REJECT = "reject"
    SETTLE = "settle"
    PROMOTE = "promote"
    DEMOTE = "demote"
    DECLINE = "decline"
    """Say no to what somebody asks to be shown to the company."""
    PLAN = "plan"
    """Say how an initiative stands, who owns it, when it is due."""
    DISPUTE = "dispute"
    KEEP = "keep"
    """Go on believing what its writer deleted."""
    FORGET = "forget"


class Door(Enum):
    """How surely whoever acts is the person."""

    FULL = auto()
    """The platform, the terminal, a token says so."""
    OWN_ONLY = auto()
    """Any program of this machine could have written it (local mail)."""
    CLOSED = auto()
    """A mail that only its domain vouches for: it changes nothing."""


def door(proof: Proof, kind: PlaceKind) -> Door:
    match proof:
        case Proof.PLATFORM | Proof.TOKEN:
            return Door.FULL
        case Proof.LOCAL:
            return Door.OWN_ONLY if kind is PlaceKind.MAIL else Door.FULL
        case Proof.DOMAIN | Proof.NONE:
            return Door.CLOSED


@dataclass(frozen=True, slots=True)
class By:
    """Who acts, and what they are to the claim."""

    person: PersonId
    role: Role
    door: Door
    own: bool
    """It rests on their own words alone; of advice: they asked for it."""
    took_part: bool
    """They take part in the session that it comes from."""


class Verdict(Enum):
    NOW = auto()
    ASK = auto()
    """It waits for a principal's word."""
    DISPUTE = auto()
    """It is marked as disputed instead."""


@dataclass(frozen=True, slots=True)
class No:
    why: str
    """For the person."""


_PRINCIPALS = frozenset({Held.AUTHORITY, Held.PAYMENT, Held.RECIPIENT, Held.INSTRUCTION})
"""What only a principal's yes makes believed."""
_NOT_OURS = frozenset({Trust.GUEST, Trust.UNPROVEN, Trust.FOREIGN})
_DISPUTED = frozenset({Act.CORRECT, Act.RETRACT, Act.FORGET, Act.DISPUTE})
CLOSED = (
    "A mail that only its domain vouches for changes no memory. Say it in a chat, or answer a mail of mine: the "
    "address that it is answered to proves that it is you."
)
ONLY_OWN = "By mail on this machine only what you said yourself can be changed."


def possible(of: Claim) -> tuple[Act, ...]:
    """What can be done to a claim from where it stands, whoever does it."""
    if of.status is Status.PENDING:
        acts = [Act.ACCEPT, Act.REJECT, Act.CORRECT]
    elif of.standing:
        asked = of.promotion_by is not None
        acts = [Act.SETTLE] if of.status is Status.DISPUTED and not asked else []
        acts += [Act.PROMOTE, Act.DECLINE] if asked else []
        acts += [Act.CORRECT, Act.RETRACT]
        acts += [Act.DISPUTE] if of.status is Status.ACTIVE else []
        if of.visibility is Visibility.COMPANY:
            acts.append(Act.DEMOTE)
        elif not asked and of.source is not Source.DELETED:
            acts.append(Act.PROMOTE)
        acts += [Act.KEEP] if of.source is Source.DELETED else []
    else:
        acts = [Act.RESTORE]
    if of.kind is Kind.INITIATIVE and (of.standing or of.status is Status.PENDING):
        acts.append(Act.PLAN)
    return (*acts, Act.FORGET)


def decide(act: Act, of: Claim, by: By) -> Verdict | No:
    """What comes of the act. Whether it is possible from where the claim stands is another question."""
    if by.door is Door.CLOSED:
        return No(CLOSED)
    if by.role is Role.PRINCIPAL and by.door is Door.FULL:
        return Verdict.NOW
    if act in (Act.SETTLE, Act.DECLINE):
        withdrawn = act is Act.DECLINE and of.promotion_by == by.person
        return Verdict.NOW if withdrawn else No("Only a principal can say that.")
    return _over_own(act, of, by) if by.own else _over_others(act, of, by)


def _over_own(act: Act, of: Claim, by: By) -> Verdict | No:
    match act:
        case Act.PROMOTE:
            return No("What the company is to see, its own people say.") if by.role is Role.GUEST else Verdict.ASK
        case Act.ACCEPT:
            return _accept(of, by)
        case Act.DISPUTE:
            return No("These are your own words: correct or retract them.")
        case _:
            return Verdict.NOW


def _over_others(act: Act, of: Claim, by: By) -> Verdict | No:
    if by.role is Role.GUEST:
        return No("Only who said it can change it, or a principal.")
    if by.door is Door.OWN_ONLY:
        return No(ONLY_OWN)
    if of.speaker == EXECUTIVE and by.took_part and act in (Act.CORRECT, Act.RETRACT):
        return Verdict.NOW
    if act is Act.PLAN and of.owner == by.person:
        return Verdict.NOW
    if by.took_part and of.trust in _NOT_OURS and act in (Act.ACCEPT, Act.REJECT):
        return Verdict.NOW if act is Act.REJECT else _accept(of, by)
    if act in _DISPUTED and of.standing:
        return Verdict.DISPUTE
    return No("Only who said it can do that, or a principal.")


def _accept(of: Claim, by: By) -> Verdict | No:
    if by.role is Role.GUEST:
        return No("Somebody of the company decides.")
    if not _PRINCIPALS.intersection(of.held):
        return Verdict.NOW
    # Where it was told may be a conversation that no principal sees: a yes to it puts it before them.
    return Verdict.ASK if of.promotion_by is None else No("It was put before the principals: one of them decides.")
