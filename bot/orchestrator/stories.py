"""What became of a proposal, step by step, for who asks why. Reads only."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from bot.gateway.text_write import literal
from bot.kernel.ids import PersonId
from bot.ledger import showing, store
from bot.ledger.model import Op, Proposal, State
from bot.ledger.service import Ledger
from bot.ledger.store import Event
from bot.people import store as people

_STEPS: Mapping[Op, str] = {
    Op.MADE: "put forward",
    Op.SHOWN: "shown to who may decide",
    Op.REMINDED: "brought up again",
    Op.REDACTED: "words in it were forgotten",
    Op.VOTED: "one yes, another one is wanted",
    Op.REVISED: "edited",
    Op.WITHDRAWN: "withdrawn",
    Op.RETURNED: "back to waiting: automatic mode was taken away",
    Op.EXECUTED: "done",
    Op.BOUNCED: "it came back: it did not arrive",
    Op.REVERSED: "undone again",
    Op.REVERSAL_FAILED: "it could not be undone",
    Op.HELD: "held for a look",
    Op.RELEASED: "let go on after a look",
}
_LEFT_OUT = frozenset({Op.MADE, Op.SHOWN, Op.REMINDED, Op.EXECUTING, Op.REDACTED})


def story(connection: sa.Connection, ledger: Ledger, of: Proposal, zone: str) -> str:
    """A list item (Markdown): what was put forward to whom, how it was decided, what was carried out."""
    shown = ledger.action(of.action).show(of.final)
    events = [each for each in store.history(connection, of.id) if each.op not in _LEFT_OUT]
    ids = [PersonId(each.actor.id) for each in events if each.actor.kind == "person"]
    names = {key: literal(each.name) for key, each in people.by_ids(connection, [*ids, *of.approvers]).items()}
    to = f" ({literal(shown.fields[0][1])})" if shown.fields else ""
    who = ", ".join(names.get(each, each) for each in of.approvers)
    lines = [f"- `{of.id[-6:]}` {shown.what}{to}, put to {who}"]
    lines += [f"    - {_step(each, of, names, zone)}" for each in events]
    lines += ["    - waits for a decision"] if of.state is State.PROPOSED else []
    return "\n".join(lines)


def _step(event: Event, of: Proposal, names: Mapping[PersonId, str], zone: str) -> str:
    by = f" by {names.get(PersonId(event.actor.id), event.actor.id)}" if event.actor.kind == "person" else ""
    return f"{said(event, of)}{by}, {showing.when(event.at, zone)}"


def said(event: Event, of: Proposal) -> str:
    """What one step was, in words."""
    if event.after is State.FAILED and of.failure is not None:
        return showing.FAILURES[of.failure]
    if event.op in (Op.DECIDED, Op.EXPIRED):
        return showing.OUTCOMES[event.after]
    return _STEPS.get(event.op, showing.OUTCOMES[event.after])
