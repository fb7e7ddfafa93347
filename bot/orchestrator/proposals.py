"""Commands about proposals: turns without a model. Alone with the executive people see what waits for them and what
they asked for; where others read along, only what was asked in that conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bot.audit.recorder import Recorder
from bot.gateway.text_write import literal
from bot.ledger import asks, showing, store
from bot.ledger.model import Proposal, State, Verdict
from bot.orchestrator import memories
from bot.orchestrator.approvals import approve_words, memories_of
from bot.orchestrator.verdicts import NOT_PROVEN, NOT_YOURS, By, Verdicts
from bot.people import store as people
from bot.people.model import Role
from bot.sessions import places
from bot.storage.database import Tx

if TYPE_CHECKING:
    from bot.orchestrator.commands import Asked

LISTED = 12
NONE_HERE = "Nothing waits for a yes here."
UNKNOWN = "I know no such proposal, or none that may be shown here. `/ledger` lists them."
NEEDS_HASH = "Say which content you mean, so that nothing else is approved: {words}"
OFF = "Nothing is put to anybody here."


def _ledger(tx: Tx, verdicts: Verdicts, asked: Asked, rest: str) -> str:
    if rest:
        found = _meant(tx, asked, rest)
        return UNKNOWN if found is None else _one(tx, verdicts, asked, found)
    alone, person = _alone(tx, asked), asked.person
    waiting = [each for each in store.waiting(tx.connection, 1_000) if _may_see(each, asked, alone=alone)]
    ended = [
        each
        for each in store.newest(tx.connection, 200)
        if each.state is not State.PROPOSED and each.asked_by == person.id and _may_see(each, asked, alone=alone)
    ]
    lines = [_line(verdicts, each, asked) for each in waiting[:LISTED]]
    if len(waiting) > LISTED:
        lines.append(f"- and {len(waiting) - LISTED} more")
    if ended:
        lines += ["", "What you asked for lately:", "", *(_line(verdicts, each, asked) for each in ended[:5])]
    return "\n".join(lines) or NONE_HERE


def _approve(tx: Tx, verdicts: Verdicts, asked: Asked, rest: str) -> str:
    handle, _, hash_ = rest.partition(" ")
    found = _meant(tx, asked, handle)
    if found is None:
        return UNKNOWN
    refusal = _refused(tx, verdicts, asked, found)
    if refusal is not None:
        return refusal
    shown = hash_.strip().strip("`").lower()
    if shown:
        meant = found.hash if len(shown) >= 6 and found.hash.startswith(shown) else "another"
    else:
        seen = asks.shown_to(tx.connection, found.id, asked.person.id)
        if seen is None:
            return NEEDS_HASH.format(words=approve_words(found))
        meant = seen.hash
    return verdicts.vote(tx, found.id, _by(asked), Verdict.APPROVE, meant)[0]


def _reject(tx: Tx, verdicts: Verdicts, asked: Asked, rest: str) -> str:
    handle = rest.partition(" ")[0]
    found = _meant(tx, asked, handle)
    if found is None:
        return UNKNOWN
    refusal = _refused(tx, verdicts, asked, found)
    return refusal or verdicts.vote(tx, found.id, _by(asked), Verdict.REJECT, found.hash)[0]


def _refused(tx: Tx, verdicts: Verdicts, asked: Asked, of: Proposal) -> str | None:
    by = _by(asked)
    if asked.person.id not in of.approvers:
        verdicts.ledger.refused(tx, of.id, by.actor, by.channel, "not_an_approver")
        return NOT_YOURS
    if not by.proven:
        verdicts.ledger.refused(tx, of.id, by.actor, by.channel, "not_proven")
        return NOT_PROVEN.format(id=of.id[-6:])
    return None


def _by(asked: Asked) -> By:
    event = asked.event
    return By(asked.person, event.sender, event.place.kind, asked.channel)


def _meant(tx: Tx, asked: Asked, handle: str) -> Proposal | None:
    alone = _alone(tx, asked)
    found = [
        each for each in store.named(tx.connection, handle.strip().strip("`()[]")) if _may_see(each, asked, alone=alone)
    ]
    return found[0] if len(found) == 1 else None


def _may_see(of: Proposal, asked: Asked, *, alone: bool) -> bool:
    if not alone:
        return of.session == asked.session
    person = asked.person
    return person.id in of.approvers or person.id == of.asked_by or person.role is Role.PRINCIPAL


def _alone(tx: Tx, asked: Asked) -> bool:
    return places.alone(places.get(tx.connection, asked.place), asked.person, by_mail=True)


def _line(verdicts: Verdicts, of: Proposal, asked: Asked) -> str:
    shown = verdicts.ledger.action(of.action).show(of.final)
    to = literal(shown.fields[0][1]) if shown.fields else ""
    yours = " – **yours to decide**" if of.state is State.PROPOSED and asked.person.id in of.approvers else ""
    return f"- `{of.id[-6:]}` {shown.what} ({to}): {showing.OUTCOMES[of.state]}{yours}"


def _one(tx: Tx, verdicts: Verdicts, asked: Asked, of: Proposal) -> str:
    shown = verdicts.ledger.action(of.action).show(of.final)
    zone = asked.person.time_zone
    if of.state is not State.PROPOSED:
        by = people.get(tx.connection, of.decided_by) if of.decided_by else None
        text = showing.outcome(of, shown, by.name if by else None, zone)
        if of.proposed != of.final:
            before = verdicts.ledger.action(of.action).show(of.proposed).body
            text += f"\n\n```\n{showing.difference(before, shown.body)}\n```"
        return text
    told, hidden = memories_of(tx.connection, of.rests_on, asked.person)
    text = showing.told(of, shown, told, hidden, zone)
    return f"{text}\n\n{approve_words(of)}" if asked.person.id in of.approvers else text


def _command(
    work: Callable[[Tx, Verdicts, Asked, str], str], otherwise: Callable[[Tx, Recorder, Asked], str] | None = None
) -> Callable[[Tx, Recorder, Asked], str]:
    def run(tx: Tx, recorder: Recorder, asked: Asked) -> str:
        rest = asked.event.arguments.strip()
        if otherwise is not None and (asked.verdicts is None or _meant(tx, asked, rest.partition(" ")[0]) is None):
            return otherwise(tx, recorder, asked)
        return OFF if asked.verdicts is None else work(tx, asked.verdicts, asked, rest)

    return run


HANDLERS: Mapping[str, Callable[[Tx, Recorder, Asked], str]] = {
    "ledger": _command(_ledger),
    "approve": _command(_approve),
    "reject": _command(_reject, memories.HANDLERS["reject"]),
}
"""`/reject` is a word about memories too: that of a proposal goes first."""
