"""One scheduler process for the tests of several on one file: `python -m tests.scheduler.runner FILE NAME LEASE SKEW`.

It fires what is due until it is killed. Each effect is a row of the table `effect`, written in the transaction that
ends the occurrence; what it begins, it says on standard output. A job whose payload has `seconds` takes so long.
`SKEW` is a file with the seconds by which its clock is wrong; it is read again and again. There is no audit: its chain
belongs to one process, which is what the daemon's lock sees to.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from bot.audit.recorder import Recorder
from bot.kernel.clock import SystemClock
from bot.kernel.supervise import Supervisor
from bot.scheduler import gate, worker
from bot.scheduler.alarm import ApAlarm
from bot.scheduler.model import Kind, Run
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.worker import Fired, Worker
from bot.storage.database import Database, Tx


class WrongClock(SystemClock):
    def __init__(self, skew: Path) -> None:
        self._skew = skew

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=float(self._skew.read_text() or 0))


class NoAudit:
    def record(self, *_: Any) -> None: ...


async def run(file: Path, name: str, lease: float, skew: Path) -> None:
    gate.LEASE = timedelta(seconds=lease)
    worker.RENEW = gate.LEASE / 4

    async def handle(claimed: Claimed) -> Fired:
        print("begun", name, claimed.job.id, flush=True)
        await asyncio.sleep(float(cast("float", claimed.job.payload.get("seconds", 0))))

        def apply(tx: Tx) -> Outcome:
            at = int(claimed.occurrence.at.timestamp() * 1_000_000)
            tx.connection.exec_driver_sql("INSERT INTO effect VALUES (?, ?, ?)", (claimed.job.id, at, name))
            return Outcome(Run.DONE)

        return Fired(apply, lambda: print("done", name, claimed.job.id, flush=True))

    supervisor = Supervisor()
    async with Database.open(file) as database:
        one = Worker(
            database, cast("Recorder", NoAudit()), WrongClock(skew), supervisor, name, {Kind.REMINDER: handle},
            lambda *_: None,
        )  # fmt: skip
        alarm = ApAlarm(one.ring)
        print("ready", name, flush=True)
        await one.run(alarm)


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(run(Path(given[0]), given[1], float(given[2]), Path(given[3])))
