"""The blocking side of the socket, for the command line. Imports nothing heavy."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.control.address import short_name
from bot.control.wire import MAX_LINE, MalformedError, decode, encode
from bot.kernel.errors import OpenExecutiveError

ANSWER_WITHIN = 30.0
"""Seconds until an answer that did not come is no longer awaited."""


class ControlError(OpenExecutiveError):
    """The daemon did not do what it was asked, or cannot be asked."""


class NotRunningError(ControlError):
    """Nobody listens on the socket."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"the daemon is not running (no socket at {path}): start it with `openexecutive run`")


class GoneError(ControlError):
    """The daemon ended the connection, or does not answer."""


class Connection:
    """One connection. Its methods block; `receive` for at most the seconds it is given."""

    def __init__(self, path: Path, timeout: float = ANSWER_WITHIN) -> None:
        self._buffer = bytearray()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(timeout)
        try:
            with short_name(path) as name:
                self._socket.connect(name)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            self._socket.close()
            raise NotRunningError(path) from error
        except PermissionError as error:
            self._socket.close()
            raise ControlError(f"{path} is not open to you: run this as the daemon's user") from error
        except OSError as error:
            self._socket.close()
            raise GoneError(f"the daemon does not answer on {path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, message: Mapping[str, object]) -> None:
        """Raises `GoneError`, and `PermanentError` for a message that is too long."""
        try:
            self._socket.sendall(encode(message))
        except OSError as error:
            raise GoneError("the daemon ended the connection") from error

    def receive(self, timeout: float | None = ANSWER_WITHIN) -> dict[str, object] | None:
        """The next object, None at the end of the connection. Raises TimeoutError, `GoneError`, `MalformedError`."""
        self._socket.settimeout(timeout)
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE:
                raise MalformedError(f"a line is longer than {MAX_LINE} bytes")
            try:
                chunk = self._socket.recv(65_536)
            except TimeoutError:
                raise
            except OSError as error:
                raise GoneError("the daemon ended the connection") from error
            if not chunk:
                return None
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return decode(line)

    def no_more(self) -> None:
        """Say that nothing more comes from here: the daemon reads what came, and ends the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def finish(self, within: float = 5.0) -> None:
        """`no_more`, and wait until the daemon has done so."""
        self.no_more()
        with suppress(OSError, ControlError, MalformedError):
            while self.receive(within) is not None:
                pass

    def close(self) -> None:
        self._socket.close()


def call(path: Path, op: str, *, timeout: float | None = ANSWER_WITHIN, **fields: object) -> dict[str, object]:
    """Ask for one operation and return its answer. Raises `ControlError` with what the daemon says against it."""
    with Connection(path) as connection:
        _say(connection, {"op": op, **fields})
        return _answer(connection, timeout)


def stream(
    path: Path, op: str, fields: Mapping[str, object], *, timeout: float | None = ANSWER_WITHIN
) -> Iterator[dict[str, object]]:
    """Ask for one operation that answers in many objects; the last one, which has `ok`, is yielded too."""
    with Connection(path) as connection:
        _say(connection, {"op": op, **fields})
        while True:
            answer = _answer(connection, timeout)
            yield answer
            if "ok" in answer:
                return


def checked(answer: dict[str, object]) -> dict[str, object]:
    """`answer` if it is none of an error; raises `ControlError`."""
    if "error" in answer:
        raise ControlError(str(answer.get("message") or answer["error"]))
    return answer


def _say(connection: Connection, message: Mapping[str, object]) -> None:
    with suppress(GoneError):  # whoever is turned away is told so before the daemon hangs up: read that
        connection.send(message)


def _answer(connection: Connection, timeout: float | None) -> dict[str, object]:
    try:
        answer = connection.receive(timeout)
    except TimeoutError as error:
        raise GoneError("the daemon does not answer") from error
    if answer is None:
        raise GoneError("the daemon ended the connection without an answer")
    return checked(answer)
