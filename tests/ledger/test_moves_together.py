"""Several actors at once, each on a connection of their own to one file, with what they saw some time ago: no state
outside the machine, one effect at most, every change with its event, whoever dies in the middle of a transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.audit.events import Actor, Record
from bot.kernel.ids import PersonId, ProposalId
from bot.ledger import store
from bot.ledger.model import TRANSITIONS, ConflictError, Op, Proposal, State, Verdict
from bot.ledger.tables import proposal_event, proposal_vote
from bot.storage.database import Tx
from bot.storage.metadata import metadata
from tests.ledger.test_moves import ANN, BEN, EVE, NOW, made, tried

MODEL = Actor("model", "m")
WHO = (ANN, BEN, EVE, PersonId("ledger"))
ACTS = st.sampled_from(
    (
        *("look", "approve", "reject", "edit", "edit_only", "expire", "withdraw", "auto", "return", "begin", "done"),
        *("refuse", "uncertain", "resolve_yes", "resolve_no", "reverse", "reverse_fails"),
    )
)
STEP = st.tuples(ACTS, st.integers(0, 3), st.booleans())
"""What is done, with which words if it is an edit, and whether the process dies before it commits."""


@dataclass
class Somebody:
    """An actor with a connection and what they saw last."""

    who: PersonId
    connection: sa.Connection
    seen: Proposal | None = None
    records: list[Record] = field(default_factory=list)
    """Of what was committed."""
    pending: list[Record] = field(default_factory=list)

    def record(self, tx: Tx, record: Record) -> None:
        self.pending.append(record)

    def look(self) -> None:
        self.seen = store.get(self.connection, ProposalId("p1"))

    def do(self, act: str, number: int, minute: int, *, dies: bool) -> None:
        """By what they saw last, which may be old. An effect is written with the move that says that it began."""
        if act == "look" or self.seen is None:
            self.look()
            return
        now = NOW + timedelta(minutes=minute)
        self.pending = []
        self.connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            to = tried(act, self.seen, self.who, number, now)
            if to is not None:
                store.move(Tx(self.connection), self, self.seen, to, Actor("person", self.who), now)  # type: ignore[arg-type]
                if to.op is Op.EXECUTING:
                    self.connection.exec_driver_sql("INSERT INTO effect VALUES (?)", (self.who,))
        except ConflictError:
            dies = True
        if dies:
            self.connection.exec_driver_sql("ROLLBACK")
            return
        self.connection.exec_driver_sql("COMMIT")
        self.records += self.pending


@contextmanager
def company(*, two_persons: bool, tainted: bool) -> Iterator[Sequence[Somebody]]:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        engine = sa.create_engine(
            f"sqlite:///{Path(folder) / 'ledger.db'}",
            isolation_level="AUTOCOMMIT",
            connect_args={"check_same_thread": False, "timeout": 30},
            poolclass=sa.pool.NullPool,
        )
        stack.callback(engine.dispose)
        connections = [stack.enter_context(engine.connect()) for _ in WHO]
        for each in connections:
            each.exec_driver_sql("PRAGMA journal_mode = WAL")
            each.exec_driver_sql("PRAGMA synchronous = OFF")
        first = connections[0]
        first.exec_driver_sql("BEGIN IMMEDIATE")
        metadata.create_all(first, [table for name, table in metadata.tables.items() if name.startswith("proposal")])
        first.exec_driver_sql("CREATE TABLE effect (by TEXT)")
        everybody = [Somebody(who, connection) for who, connection in zip(WHO, connections, strict=True)]
        store.add(Tx(first), everybody[0], made(two_persons=two_persons, tainted=tainted), MODEL, automatic=False)  # type: ignore[arg-type]
        first.exec_driver_sql("COMMIT")
        yield everybody


def holds(everybody: Sequence[Somebody], *, two_persons: bool, tainted: bool) -> None:
    """What must be so whatever they did."""
    connection = everybody[0].connection
    now = store.get(connection, ProposalId("p1"))
    assert now is not None
    events = connection.execute(sa.select(proposal_event).order_by(proposal_event.c.version)).all()
    assert [row.version for row in events] == list(range(1, now.version + 1)), "every change has its event"
    assert events[-1].after == now.state.value
    for before, after in pairwise(events):
        assert after.before == before.after
        assert after.after == before.after or State(after.after) in TRANSITIONS[State(before.after)]
    begun = sum(row.op == Op.EXECUTING.value for row in events)
    effects = connection.exec_driver_sql("SELECT count(*) FROM effect").scalar()
    assert effects == begun <= 1, "one effect at most, and it is told"
    assert sum(row.op == Op.EXECUTED.value for row in events) <= begun
    votes = connection.execute(sa.select(proposal_vote)).all()
    for row in events:
        if row.after in (State.APPROVED_UNCHANGED.value, State.APPROVED_WITH_EDIT.value) and row.op == Op.DECIDED.value:
            yes = {v.person_id for v in votes if v.hash == row.hash and v.verdict == Verdict.APPROVE.value}
            assert len(yes) >= (2 if two_persons else 1)
            assert yes <= {ANN, BEN}
        assert not (tainted and row.after == State.AUTO_APPROVED.value)
    told = [record.payload.type for each in everybody for record in each.records]
    assert told.count("action_started") == begun


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(st.tuples(st.integers(0, len(WHO) - 1), STEP), max_size=40),
    two_persons=st.booleans(),
    tainted=st.booleans(),
)
def test_interleaved_over_several_connections_with_old_views_nothing_leaves_the_machine(
    steps: list[tuple[int, tuple[str, int, bool]]], *, two_persons: bool, tainted: bool
) -> None:
    with company(two_persons=two_persons, tainted=tainted) as everybody:
        for minute, (actor, (act, number, dies)) in enumerate(steps):
            everybody[actor].do(act, number, minute * 15, dies=dies)
        holds(everybody, two_persons=two_persons, tainted=tainted)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scripts=st.lists(st.lists(STEP, min_size=4, max_size=15), min_size=len(WHO), max_size=len(WHO)))
@pytest.mark.parametrize("two_persons", [False, True])
def test_really_at_once_nothing_leaves_the_machine_either(
    scripts: list[list[tuple[str, int, bool]]], *, two_persons: bool
) -> None:
    with company(two_persons=two_persons, tainted=False) as everybody:
        together = threading.Barrier(len(WHO))
        failed: list[BaseException] = []

        def act_out(somebody: Somebody, script: list[tuple[str, int, bool]]) -> None:
            together.wait(20)
            try:
                for minute, (act, number, dies) in enumerate(script):
                    somebody.do(act, number, minute * 30, dies=dies)
                    somebody.look()
            except BaseException as error:
                failed.append(error)

        threads = [
            threading.Thread(target=act_out, args=pair, daemon=True) for pair in zip(everybody, scripts, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failed == []
        holds(everybody, two_persons=two_persons, tainted=False)


def test_what_two_saw_at_once_one_decides_and_the_effect_happens_once() -> None:
    """The plain case, so that the others are known to look at something."""
    with company(two_persons=False, tainted=False) as everybody:
        ann, ben, _, worker = everybody
        for each in (ann, ben):
            each.look()
        ann.do("approve", 0, 1, dies=False)
        ben.do("reject", 0, 1, dies=False)
        for again in range(2):
            worker.look()
            worker.do("begin", 0, 2, dies=again == 0)
        worker.do("begin", 0, 2, dies=False)
        worker.look()
        worker.do("done", 0, 3, dies=False)
        holds(everybody, two_persons=False, tainted=False)
        now = store.get(ann.connection, ProposalId("p1"))
        assert now is not None
        assert (now.state, now.decided_by) == (State.EXECUTED, ANN)
