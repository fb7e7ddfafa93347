"""The doors that people and programs at this machine come in by: the control socket and the web server.

What is behind them is loaded when somebody comes: an operation of the socket with the first that is asked of its room,
the web server's library where it is on, once the channels have begun to connect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from bot.app import rights, status
from bot.app.building import ready
from bot.app.rooms import Rooms
from bot.control.server import Server
from bot.gateway.channel import LocalHandler
from bot.kernel.ids import SessionId
from bot.kernel.imports import without
from bot.kernel.lazy import Lazy

if TYPE_CHECKING:
    from bot.control.ops_backup import Keeping
    from bot.control.ops_console import Consoles

Operations = Mapping[str, LocalHandler]


class Doors:
    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._web_port: int | None = None

    def open_control(self) -> None:
        """Raises `PermanentError` for a path that cannot be listened on."""
        rooms = self._rooms
        path = rooms.settings.data_dir / "control.sock"
        control = Server(path, self.operations(), rooms.refusals.at("socket"))
        control.listen()
        rooms.doors.service("control", control.run())

    def open_web(self) -> None:
        """Raises `PermanentError` for a taken port."""
        if self._rooms.settings.web.enabled:
            with without("watchfiles"):  # it would start the server anew whenever a file of the program changes
                from bot.app import web

            server = web.opened(self._rooms)
            server.listen()
            self._web_port = server.port
            self._rooms.doors.service("web", server.run())

    async def invitation(self) -> str | None:
        """A link that opens the console, while there is nobody yet who could ask for one."""
        return await self._consoles().first()

    def operations(self) -> Lazy[LocalHandler]:
        """All that may be asked on the socket."""
        rooms = self._rooms
        channels = {name: handler for each in rooms.channels.values() for name, handler in each.local().items()}
        groups: dict[str, Callable[[], Operations]] = {
            **dict.fromkeys(channels, lambda: channels),
            **dict.fromkeys(
                ("status", "rooms", "people", "company", "pair", "audit", "explain", "usage"), self._of_the_daemon
            ),
            "tasks": self._tasks,
            "sessions": self._sessions,
            **dict.fromkeys(("backup", "held"), lambda: self._keeping().handlers()),
            **dict.fromkeys(("memory", "tokens"), self._memory),
            "ledger": partial(rooms.ledger.operations, rooms.settings),
            **dict.fromkeys(("schedule", "today"), partial(rooms.scheduling.operations, rooms.settings)),
            "knowledge": self._knowledge,
            "export": self._export,
            "erase": self._erase,
            "console": lambda: self._consoles().handlers(),
        }
        return Lazy(groups)

    def _of_the_daemon(self) -> Operations:
        from bot.control import ops

        store, settings = self._rooms.store, self._rooms.settings
        return ops.handlers(
            store.database,
            store.recorder,
            store.clock,
            partial(status.told, self._rooms),
            self._rooms.intake.forget_rooms,
            audit_key=store.audit_key,
            time_zone=settings.company.time_zone,
            company=settings.company.name,
            outbox=self._rooms.outbox,
            ring=self._rooms.tasks.ring,
        )

    def _tasks(self) -> Operations:
        from bot.control import ops_tasks

        store = self._rooms.store
        return ops_tasks.handlers(store.database, store.recorder, store.clock, self._rooms.tasks.ring)

    def _sessions(self) -> Operations:
        from bot.control import ops_sessions

        rooms = self._rooms
        own = ops_sessions.handlers(rooms.store.database, rooms.erasure, rooms.intake.forget_rooms, alone=False)
        return {**own, **self._keeping().handlers()}

    def _keeping(self) -> Keeping:
        from bot.control.ops_backup import Keeping

        store, backups = self._rooms.store, self._rooms.backups
        return Keeping(
            store.database, store.recorder, backups.maker, backups.nightly, self._wake, self._rooms.boot, alone=False
        )

    def _memory(self) -> Operations:
        rooms = self._rooms
        return rights.operations(
            rooms.store,
            rooms.forgetting,
            rooms.tasks.ring,
            rooms.remembering.reindexed,
            rooms.remembering.differences,
            local_person=rooms.settings.channels.terminal.person,
        )

    def _knowledge(self) -> Operations:
        from bot.control import ops_knowledge

        of = self._rooms.knowledge
        return ops_knowledge.handlers(
            self._rooms.store.database, of.library, of.search, of.index, of.eraser, alone=False
        )

    def _export(self) -> Operations:
        from bot.control.ops_export import Exporting

        return Exporting(self._rooms.store.database, self._rooms.store.recorder).handlers()

    def _erase(self) -> Operations:
        from bot.app.erasing import of_people
        from bot.control.ops_erase import Erasing

        rooms = self._rooms
        erasing = of_people(rooms.store, rooms.tasks.ring, rooms.backups.copies)
        return Erasing(rooms.store.database, erasing, alone=False).handlers()

    def _consoles(self) -> Consoles:
        from bot.control.ops_console import Consoles

        store, person = self._rooms.store, self._rooms.settings.channels.terminal.person
        return Consoles(store.database, store.clock, person, self._console_address)

    def _console_address(self) -> str | None:
        """As it is reached from this machine."""
        web = self._rooms.settings.web
        if self._web_port is None or not web.console:
            return None
        return web.public_url or f"http://127.0.0.1:{self._web_port}"

    def _wake(self, sessions: Collection[SessionId]) -> None:
        """Something waits that nobody has rung for."""
        for session in sessions:
            self._rooms.lanes.waiting(session)
        for name in self._rooms.channels:
            ready(self._rooms.work, self._rooms.outbox, name)()
