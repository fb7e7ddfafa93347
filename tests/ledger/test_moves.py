"""Whatever several people, timers and crashes do to a proposal, in whatever order: no state outside the machine, one
effect at most, every change with its event, and a decision only on what its approver was shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.audit.events import Actor, Record
from bot.kernel.ids import PersonId, ProposalId
from bot.ledger import deciding, store
from bot.ledger.deciding import RefusedError
from bot.ledger.model import (
    TRANSITIONS,
    ConflictError,
    Failure,
    Op,
    Proposal,
    Severity,
    State,
    Verdict,
    digest,
)
from bot.ledger.tables import TRIGGERS, proposal, proposal_event
from bot.storage.database import Tx
from bot.storage.metadata import metadata

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
ANN, BEN, EVE = PersonId("ann"), PersonId("ben"), PersonId("eve")
MODEL = Actor("model", "m")


def made(*, two_persons: bool = False, tainted: bool = False, **content: object) -> Proposal:
    payload = content or {"to": "x@y.example", "text": "Hello"}
    return Proposal(
        ProposalId("p1"), "send_email", payload, payload, digest(payload), "key", None, None, ANN, None, (ANN, BEN),
        two_persons, (), (), "the fair", 0.8, tainted, State.PROPOSED, None, None, None, None, NOW,
        NOW + timedelta(hours=8), None, None, None, False, 1,
    )  # fmt: skip


@dataclass
class Ledger:
    connection: sa.Connection
    records: list[Record] = field(default_factory=list)

    def record(self, tx: Tx, record: Record) -> None:
        self.records.append(record)

    @property
    def tx(self) -> Tx:
        return Tx(self.connection)

    def add(self, new: Proposal) -> bool:
        return store.add(self.tx, self, new, MODEL, automatic=False)  # type: ignore[arg-type]

    def move(self, seen: Proposal, to: deciding.Move, now: datetime = NOW) -> Proposal:
        return store.move(self.tx, self, seen, to, Actor("person", "ann"), now)  # type: ignore[arg-type]

    def now(self) -> Proposal:
        found = store.get(self.connection, ProposalId("p1"))
        assert found is not None
        return found


@contextmanager
def ledger() -> Iterator[Ledger]:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        tables = [t for name, t in metadata.tables.items() if name.startswith(("proposal", "action_class"))]
        metadata.create_all(connection, tables)
        yield Ledger(connection)


def test_the_first_vote_decides() -> None:
    with ledger() as own:
        own.add(made())
        seen = own.now()
        after = own.move(seen, deciding.voted(seen, BEN, Verdict.APPROVE, seen.hash, NOW))
        assert (after.state, after.decided_by) == (State.APPROVED_UNCHANGED, BEN)
        with pytest.raises(RefusedError, match="approved already"):
            deciding.voted(after, ANN, Verdict.REJECT, after.hash, NOW)


def test_two_persons_approve_one_content_one_rejects() -> None:
    with ledger() as own:
        own.add(made(two_persons=True))
        seen = own.now()
        first = own.move(seen, deciding.voted(seen, ANN, Verdict.APPROVE, seen.hash, NOW))
        assert first.state is State.PROPOSED
        again = own.move(first, deciding.voted(first, ANN, Verdict.APPROVE, first.hash, NOW))
        assert again.state is State.PROPOSED
        edited = {"to": "x@y.example", "text": "Hello, Mr Y"}
        revised = own.move(again, deciding.revised(again, BEN, edited, again.hash, NOW, approve=True))
        assert (revised.state, [vote.person for vote in revised.votes]) == (State.PROPOSED, [BEN])
        with pytest.raises(RefusedError, match="edited since"):
            deciding.voted(revised, ANN, Verdict.APPROVE, seen.hash, NOW)
        after = own.move(revised, deciding.voted(revised, ANN, Verdict.APPROVE, revised.hash, NOW))
        assert after.state is State.APPROVED_WITH_EDIT
        assert (after.proposed["text"], after.final["text"]) == ("Hello", "Hello, Mr Y")


def test_one_rejection_decides_also_where_two_must_approve() -> None:
    with ledger() as own:
        own.add(made(two_persons=True))
        seen = own.now()
        after = own.move(seen, deciding.voted(seen, ANN, Verdict.REJECT, seen.hash, NOW))
        assert after.state is State.REJECTED


def test_who_is_no_approver_decides_nothing() -> None:
    seen = made()
    with pytest.raises(RefusedError, match="not yours"):
        deciding.voted(seen, EVE, Verdict.APPROVE, seen.hash, NOW)


def test_silence_becomes_no_response_and_is_no_rejection() -> None:
    with ledger() as own:
        own.add(made())
        seen = own.now()
        assert deciding.expired(seen, NOW) is None
        late = seen.expires_at
        with pytest.raises(RefusedError, match="time to decide"):
            deciding.voted(seen, ANN, Verdict.APPROVE, seen.hash, late)
        to = deciding.expired(seen, late)
        assert to is not None
        assert own.move(seen, to, late).state is State.AUTO_NO_RESPONSE


def test_a_content_edited_back_to_what_was_proposed_is_unchanged() -> None:
    with ledger() as own:
        own.add(made())
        seen = own.now()
        other = own.move(seen, deciding.revised(seen, ANN, {"text": "No"}, seen.hash, NOW, approve=False))
        back = {"text": "Hello", "to": "x@y.example"}
        after = own.move(other, deciding.revised(other, ANN, back, other.hash, NOW, approve=True))
        assert after.state is State.APPROVED_UNCHANGED


def test_a_tainted_proposal_cannot_be_automatic_whoever_tries() -> None:
    with ledger() as own:
        own.add(made(tainted=True))
        with pytest.raises(ConflictError):
            deciding.automatic(own.now())
        with pytest.raises(sa.exc.IntegrityError, match="tainted_is_never_automatic"):
            own.move(own.now(), deciding.Move(Op.DECIDED, State.AUTO_APPROVED))


def test_one_key_is_one_proposal() -> None:
    with ledger() as own:
        assert own.add(made())
        assert not own.add(made())


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_the_database_knows_the_legal_moves(before: State, after: State) -> None:
    if after is before:
        return
    with ledger() as own:
        own.add(made())
        own.connection.exec_driver_sql("DROP TRIGGER proposal_update_state")
        values: dict[str, Any] = {"decided_by": "ann", "severity": "minor", "failure": None}
        values["failure"] = "refused" if before is State.FAILED else None
        _force(own, before, values, 2)
        for name, (when, refusal) in TRIGGERS.items():
            if name == "proposal_update_state":
                own.connection.exec_driver_sql(
                    f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
                )
        values["failure"] = "refused" if after is State.FAILED else None
        if after in TRANSITIONS[before]:
            _force(own, after, values, 3)
            assert own.now().state is after
        else:
            with pytest.raises(sa.exc.IntegrityError, match="cannot move like that"):
                _force(own, after, values, 3)


def _force(own: Ledger, state: State, values: dict[str, Any], version: int) -> None:
    own.connection.execute(
        proposal_event.insert().values(
            proposal_id="p1", version=version, op="decided", action="send_email", after=state.value,
            actor_kind="system", actor="t", hash="h", at=NOW,
        )
    )  # fmt: skip
    own.connection.execute(proposal.update().values(state=state.value, version=version, **values))


def test_nothing_moves_without_its_event_and_nothing_decided_changes() -> None:
    with ledger() as own:
        own.add(made())
        with pytest.raises(sa.exc.IntegrityError, match="together with its event"):
            own.connection.execute(proposal.update().values(state="rejected", decided_by="ann", version=2))
        seen = own.now()
        after = own.move(seen, deciding.voted(seen, ANN, Verdict.APPROVE, seen.hash, NOW))
        other = {"text": "Send the money"}
        with pytest.raises(sa.exc.IntegrityError, match="does not change"):
            own.move(after, deciding.Move(Op.EXECUTING, State.EXECUTING, final=other))
        for statement in (proposal.delete(), proposal_event.delete(), proposal_event.update().values(actor="x")):
            with pytest.raises(sa.exc.IntegrityError, match="never"):
                own.connection.execute(statement)


ACTS = st.sampled_from(
    (
        *("approve", "reject", "edit", "edit_only", "expire", "withdraw", "auto", "return", "begin", "done", "refuse"),
        *("uncertain", "resolve_yes", "resolve_no", "reverse", "reverse_fails", "crash", "stale"),
    )
)
STEPS = st.lists(st.tuples(ACTS, st.sampled_from((ANN, BEN, EVE)), st.integers(0, 3)), max_size=25)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, two_persons=st.booleans(), tainted=st.booleans())
def test_no_sequence_leaves_the_machine(
    steps: list[tuple[str, PersonId, int]], *, two_persons: bool, tainted: bool
) -> None:
    with ledger() as own:
        own.add(made(two_persons=two_persons, tainted=tainted))
        effects = 0
        now = NOW
        stale = own.now()
        for act, who, number in steps:
            now += timedelta(minutes=40)
            seen = stale if act == "stale" else own.now()
            before = own.now()
            try:
                to = tried(act, seen, who, number, now)
                if to is None:
                    continue
                after = own.move(seen, to, now)
            except ConflictError:
                assert own.now() == before
                continue
            effects += after.state is State.EXECUTED and to.op is Op.EXECUTED
            assert after.state is before.state or after.state in TRANSITIONS[before.state]
            if after.state in (State.APPROVED_UNCHANGED, State.APPROVED_WITH_EDIT) and before.state is State.PROPOSED:
                assert to.vote is not None
                assert to.vote.digest == after.hash
                approved = {vote.person for vote in after.votes if vote.verdict is Verdict.APPROVE}
                assert len(approved) >= (2 if two_persons else 1)
                assert approved <= {ANN, BEN}
            assert not (tainted and after.state is State.AUTO_APPROVED)
        assert effects <= 1
        rows = own.connection.execute(sa.select(proposal_event).order_by(proposal_event.c.version)).all()
        assert [row.version for row in rows] == list(range(1, own.now().version + 1))
        assert rows[-1].after == own.now().state.value
        assert json.dumps(dict(own.now().proposed), sort_keys=True) == json.dumps(dict(made().proposed), sort_keys=True)


def tried(act: str, seen: Proposal, who: PersonId, number: int, now: datetime) -> deciding.Move | None:
    edited = {"to": "x@y.example", "text": f"Edit {number}"}
    match act:
        case "approve" | "stale":
            return deciding.voted(seen, who, Verdict.APPROVE, seen.hash, now)
        case "reject":
            return deciding.voted(seen, who, Verdict.REJECT, seen.hash, now)
        case "edit":
            return deciding.revised(seen, who, edited, seen.hash, now, approve=True)
        case "edit_only":
            return deciding.revised(seen, who, edited, seen.hash, now, approve=False)
        case "expire":
            return deciding.expired(seen, now)
        case "withdraw":
            return deciding.withdrawn(seen)
        case "auto":
            return deciding.automatic(seen)
        case "return":
            return deciding.returned(seen)
        case "begin":
            return deciding.begun(seen)
        case "done":
            return deciding.done(seen, "outbox")
        case "refuse":
            return deciding.failed(seen, Failure.REFUSED)
        case "uncertain" | "crash":
            return deciding.failed(seen, Failure.UNCERTAIN) if seen.state is State.EXECUTING else None
        case "resolve_yes" | "resolve_no":
            return deciding.resolved(seen, who, happened=act == "resolve_yes")
        case "reverse" | "reverse_fails":
            return deciding.reversed_(seen, who, Severity.SERIOUS, undone=act == "reverse")
    raise AssertionError(act)
