"""The daemon's side of one connection."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress

from bot.control.wire import MAX_LINE, MalformedError, decode, encode
from bot.kernel.errors import TransientError

STALLED_AFTER = 10.0
"""Seconds after which a peer that does not read what it is sent is taken for gone."""

_CREDENTIALS = struct.Struct("3i")
"""struct ucred: pid, uid, gid (unix(7), SO_PEERCRED)."""


def peer_uid(connection: socket.socket) -> int:
    """User id of the process that connected, by the kernel's word at the time of its connect."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])


def may_enter(uid: int, owner: int) -> bool:
    """The daemon's own user and root, nobody else."""
    return uid in (owner, 0)


class Peer:
    """`LocalPeer` over a pair of streams. Several tasks may send; one receives."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()

    async def send(self, message: Mapping[str, object]) -> None:
        """Raises `TransientError` if the other end is gone or has not read for `STALLED_AFTER` seconds, and
        `PermanentError` for a message that is too long."""
        line = encode(message)
        async with self._sending:
            if self._writer.is_closing():
                raise TransientError("the other end of the socket is gone")
            self._writer.write(line)
            try:
                async with asyncio.timeout(STALLED_AFTER):
                    await self._writer.drain()
            except TimeoutError as error:
                self._writer.transport.abort()
                raise TransientError("the other end of the socket does not read") from error
            except OSError as error:
                raise TransientError("the other end of the socket is gone") from error

    async def receive(self) -> Mapping[str, object] | None:
        """Raises `MalformedError`; nothing more can be read then."""
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None  # what was cut in the middle was never said
        except asyncio.LimitOverrunError as error:
            raise MalformedError(f"a line is longer than {MAX_LINE} bytes") from error
        except OSError:
            return None
        return decode(line)

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(STALLED_AFTER):
                await self._writer.wait_closed()
