"""Keeps a conversation connected: a thread that reads, shows, acknowledges, and comes back after a cut."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bot.cli.conversation import Conversation, File, Heard, Message, NotTaken
from bot.control.client import Connection, ControlError, GoneError, NotRunningError, checked
from bot.control.wire import MalformedError
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.ids import new_id
from bot.kernel.values import dataclass

RETRY_EVERY = 1.0
"""Seconds between tries to come back, and until something that was not taken is said again."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The daemon is gone; we wait for it."""


@dataclass(frozen=True, slots=True)
class Restored:
    """It is back."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more comes."""

    why: str


Event = Heard | Lost | Restored | Ended


class Link:
    """`show` is called with each event, in the reading thread; a message is acknowledged when it has returned.

    Opening connects at once: raises `ControlError` if the daemon is not there or does not want us.
    """

    def __init__(self, path: Path, thread: str, clock: Clock, show: Callable[[Event], None]) -> None:
        self._path = path
        self._clock = clock
        self._show = show
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._conversation = Conversation(thread, new_id(clock.now()))
        self._last_id = ""
        self._again = False
        self._connection = self._connected()
        self._reader = threading.Thread(target=self._live, name="chat", daemon=True)
        self._reader.start()

    def new_id(self) -> str:
        """An id for something to be said; each sorts after the one before it."""
        while (fresh := new_id(self._clock.now())) <= self._last_id:
            pass
        self._last_id = fresh
        return fresh

    def say(self, say_id: str, text: str, files: Sequence[File] = ()) -> None:
        """Say it now or, when the daemon is away, once it is back."""
        with self._lock:
            message = self._conversation.say(say_id, text, files)
            with suppress(GoneError):  # the reader notices, and says it again
                self._connection.send(message)

    def waits(self, say_id: str) -> bool:
        with self._lock:
            return self._conversation.waits(say_id)

    def close(self) -> None:
        """End in order: what was acknowledged has reached the daemon when this returns."""
        self._closing.set()
        with self._lock:
            connection = self._connection
        if threading.current_thread() is not self._reader:
            connection.no_more()
            self._reader.join(timeout=5.0)
        connection.close()

    def _live(self) -> None:
        try:
            while not self._closing.is_set():
                self._read()
                if not self._closing.is_set() and not self._come_back():
                    return
        except OpenExecutiveError as error:
            self._show(Ended(error.message))
        except OSError as error:  # nothing can be shown any more
            self._show(Ended(error.strerror or str(error)))

    def _read(self) -> None:
        """Until the connection ends."""
        with suppress(GoneError):
            while True:
                try:
                    message = self._connection.receive(RETRY_EVERY)
                except TimeoutError:
                    self._say_again()
                    continue
                if message is None:
                    return
                self._take(checked(message))

    def _take(self, message: Mapping[str, object]) -> None:
        with self._lock:
            heard = self._conversation.heard(message)
        if heard is None:
            return
        if isinstance(heard, NotTaken):
            self._again = True
        if not (isinstance(heard, Message) and heard.known):
            self._show(heard)
        if isinstance(heard, Message):
            with self._lock:
                self._connection.send(self._conversation.shown(heard))

    def _say_again(self) -> None:
        if not self._again:
            return
        self._again = False
        with self._lock:
            for message in self._conversation.unaccepted():
                self._connection.send(message)

    def _come_back(self) -> bool:
        """Try until the daemon is there again; False if we are to end."""
        self._connection.close()
        self._show(Lost())
        while not self._closing.wait(RETRY_EVERY):
            try:
                connection = self._connected()
            except (NotRunningError, GoneError):
                continue
            with self._lock:
                self._connection = connection
                with suppress(GoneError):
                    for message in self._conversation.unaccepted():
                        connection.send(message)
            self._show(Restored())
            return True
        return False

    def _connected(self) -> Connection:
        connection = Connection(self._path)
        try:
            with self._lock:
                connection.send(self._conversation.hello())
            answer = connection.receive()
            if answer is None:
                raise GoneError("the daemon ended the connection")
            checked(answer)
        except TimeoutError as error:
            connection.close()
            raise GoneError("the daemon does not answer") from error
        except (ControlError, MalformedError):
            connection.close()
            raise
        return connection
