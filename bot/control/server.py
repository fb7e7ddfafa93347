"""The listening side: who may enter, which handler an operation has, and what becomes of a handler's failure."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from bot.control import wire
from bot.control.address import short_name
from bot.control.peer import Peer, may_enter, peer_uid
from bot.control.wire import MAX_LINE, Code, MalformedError
from bot.gateway.channel import LocalHandler
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import Bug, Supervisor, attempt

log = logging.getLogger(__name__)

FIRST_WORD_WITHIN = 30.0
"""Seconds a connection may stay silent before it says what it wants."""
BACKLOG = 64


class Server:
    """Serves the socket. `on_refused` hears why a connection was turned away, once per connection.

    The caller holds the data folder's lock, so that a socket file that is there already belongs to nobody.
    """

    def __init__(
        self,
        path: Path,
        handlers: Mapping[str, LocalHandler],
        on_refused: Callable[[str], None],
        *,
        owner: int | None = None,
    ) -> None:
        self._path = path
        self._handlers = handlers
        self._on_refused = on_refused
        self._owner = os.geteuid() if owner is None else owner
        self._socket: socket.socket | None = None

    def listen(self) -> None:
        """Take the path; connections made from now on wait for `run`. Raises `PermanentError` if it cannot be had."""
        if self._socket is not None:
            return
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_stale(self._path)
            os.fchmod(
                listener.fileno(), 0o600
            )  # the file that bind makes takes its mode from here: never open to others
            with short_name(self._path) as name:
                listener.bind(name)
            self._path.chmod(0o600)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            raise PermanentError(f"{self._path} cannot be listened on: {error.strerror or error}") from error
        except PermanentError:
            listener.close()
            raise
        listener.setblocking(False)
        self._socket = listener

    def close(self) -> None:
        """Give the path up again, if `run` has not taken over."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._path.unlink(missing_ok=True)

    async def run(self) -> None:
        """Serve until cancelled; then every connection is cut and the file is gone."""
        self.listen()
        connections = Supervisor()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.job("control", self._serve(reader, writer))

        server = await asyncio.start_unix_server(connected, sock=self._socket, limit=MAX_LINE)
        self._socket = None  # it is the server's now
        try:
            await asyncio.Event().wait()  # serve_forever would wait for open connections before it lets go
        finally:
            self._path.unlink(missing_ok=True)
            server.close()
            await connections.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        try:
            with suppress(TransientError):  # it is gone: there is nobody to tell
                uid = peer_uid(writer.get_extra_info("socket"))
                if may_enter(uid, self._owner):
                    await self._converse(peer)
                else:
                    log.warning("a process of user %d was turned away from the control socket", uid)
                    self._on_refused("foreign_user")
                    await peer.send(wire.error(Code.FORBIDDEN, "this socket serves the daemon's own user only"))
        finally:
            await peer.close()

    async def _converse(self, peer: Peer) -> None:
        try:
            async with asyncio.timeout(FIRST_WORD_WITHIN):
                first = await peer.receive()
        except TimeoutError:
            return
        except MalformedError as error:
            await peer.send(wire.error(Code.BAD_REQUEST, error.message))
            return
        if first is None:
            return
        op = first.get("op")
        handler = self._handlers.get(op) if isinstance(op, str) else None
        if handler is None:
            await peer.send(wire.error(Code.UNKNOWN_OP, "the daemon does not know this operation"))
            return
        await peer_answer(peer, handler, first)


async def peer_answer(peer: Peer, handler: LocalHandler, first: Mapping[str, object]) -> None:
    """Let the handler have the connection; tell the other end if it fails, without anything of the daemon's inside."""
    try:
        done = await attempt(handler(peer, first), f"control operation {first.get('op')}")
    except MalformedError as error:
        await peer.send(wire.error(Code.BAD_REQUEST, error.message))
    except PermanentError as error:
        await peer.send(wire.error(Code.REFUSED, error.message))
    except TransientError as error:
        await peer.send(wire.error(Code.UNAVAILABLE, error.message))
    else:
        if isinstance(done, Bug):
            await peer.send(wire.error(Code.FAILED, "something went wrong inside; the daemon's log tells what"))


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise PermanentError(f"{path} is in the way and is not a socket: move it aside")
    path.unlink()
