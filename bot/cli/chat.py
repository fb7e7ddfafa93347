"""`openexecutive chat`: a conversation in this terminal, or one question and its answer (`-m`, or text on a pipe).

What was said is not lost when the daemon restarts meanwhile: the conversation comes back by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from bot.cli.common import printable, settings, socket_of
from bot.cli.conversation import Draft, File, Message, NotTaken, Refused
from bot.cli.files import stored
from bot.cli.link import Ended, Event, Link, Lost, Restored
from bot.cli.screen import Screen
from bot.kernel.clock import SystemClock
from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

PROMPT = "> "
LEAVE = ("/quit", "/exit")
FILE = "/file "
LOOK_EVERY = 0.2
"""Seconds; a wait without end would not hear Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--message", metavar="TEXT", help="say this, print the answer and end")
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="send this file along; may be given again",
    )
    parser.add_argument("--thread", default="main", metavar="NAME", help="small letters, digits and - (default: main)")
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="how long to wait for one answer (default: 600)"
    )


def run(args: argparse.Namespace) -> int:
    """0 the conversation ended or the question was answered, 1 it was not."""
    loaded = settings(args)
    path = socket_of(loaded)
    text: str | None = args.message
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read()
    if text is None and args.file:
        raise PermanentError("a file is sent with words: -m TEXT; in a conversation say /file and its path")
    handing = Handing(loaded.settings.data_dir, loaded.settings.knowledge.max_file)
    if text is None:
        return Talk(path, args.thread, handing).live()
    files = [handing.over(each) for each in args.file]
    return Question(path, args.thread).answered(text, args.timeout, files)


@dataclass(frozen=True, slots=True)
class Handing:
    """Hands files to the daemon."""

    data_dir: Path
    limit: int

    def over(self, file: Path) -> File:
        """Raises `PermanentError`."""
        if not file.is_file():
            raise PermanentError(f"{file} is no file")
        kept = asyncio.run(stored(self.data_dir, file, self.limit))
        return File(file.name, kept.size, kept.id)


class Question:
    """One question: its answer goes to stdout, everything else to stderr."""

    def __init__(self, path: Path, thread: str) -> None:
        self._lock = threading.Lock()
        self._screen = Screen(sys.stdout, sys.stdout.isatty())
        self._done = threading.Event()
        self._id: str | None = None
        self._failure: str | None = None
        self._link = Link(path, thread, SystemClock(), self._show)

    def answered(self, text: str, timeout: float, files: Sequence[File] = ()) -> int:
        with self._lock:
            self._id = self._link.new_id()
        self._link.say(self._id, text, files)
        in_time = self._done.wait(timeout)
        if in_time and self._failure is None:
            self._link.close()
            return 0
        with self._lock:
            self._screen.clear()
            late = "there is no answer yet; it is shown when you chat the next time"
            print(f"openexecutive: {self._failure or late}", file=sys.stderr)
        self._link.close()
        return 1

    def _show(self, event: Event) -> None:
        with self._lock:
            match event:
                case Message(text=text, covers=covers) if self._id is not None and self._id in covers:
                    self._screen.message(text)
                    self._done.set()
                case Message(text=text):
                    self._screen.clear()
                    Screen(sys.stderr, live=False).message(text)
                case Draft(text):
                    self._screen.draft(text)
                case Refused(why=why) | Ended(why):
                    self._failure = why
                    self._done.set()
                case Lost():
                    self._note("the daemon is gone; waiting for it to come back")
                case _:
                    pass

    def _note(self, text: str) -> None:
        self._screen.clear()
        print(f"openexecutive: {text}", file=sys.stderr)


class Talk:
    """A conversation on a terminal."""

    def __init__(self, path: Path, thread: str, handing: Handing) -> None:
        import readline  # gives `input` its line editor

        self._handing = handing
        self._files: list[File] = []
        self._typed_so_far = readline.get_line_buffer
        self._lock = threading.Lock()
        self._typing = False
        self._ended = threading.Event()
        self._screen = Screen(sys.stdout, sys.stdout.isatty(), self._typed)
        self._link = Link(path, thread, SystemClock(), self._show)

    def live(self) -> int:
        print(
            "Ctrl-C stops an answer, Ctrl-D ends the conversation, /file PATH sends a file along, /help tells the rest."
        )
        try:
            while not self._ended.is_set():
                try:
                    text = self._line()
                except EOFError:
                    print()
                    break
                except KeyboardInterrupt:
                    print()
                    continue
                if text.strip().lower() in LEAVE:
                    break
                if text.startswith(FILE):
                    self._add(text.removeprefix(FILE).strip())
                    continue
                if text.strip() and not self._ended.is_set():
                    self._exchange(text)
        finally:
            self._link.close()
        return 1 if self._ended.is_set() else 0

    def _line(self) -> str:
        """What is typed; a line that ends in a backslash goes on."""
        with self._lock:
            self._typing = True
        try:
            line = input(PROMPT)
            while line.endswith("\\"):
                line = f"{line[:-1]}\n{input('  ')}"
            return line
        finally:
            with self._lock:
                self._typing = False

    def _add(self, path: str) -> None:
        """The file goes with what is said next."""
        try:
            file = self._handing.over(Path(path).expanduser())
        except PermanentError as error:
            print(f"({error.message})")
            return
        self._files.append(file)
        print(f"({printable(file.name)} goes with what you say next)")

    def _exchange(self, text: str) -> None:
        """Say it and wait for the answer. Ctrl-C asks for a stop, a second one gives the prompt back."""
        say_id = self._link.new_id()
        files, self._files = self._files, []
        self._link.say(say_id, text, files)
        stopping = False
        while self._link.waits(say_id) and not self._ended.is_set():
            try:
                self._ended.wait(LOOK_EVERY)
            except KeyboardInterrupt:
                if stopping:
                    return
                stopping = True
                self._link.say(self._link.new_id(), "/stop")

    def _typed(self) -> str | None:
        return PROMPT + self._typed_so_far() if self._typing else None

    def _show(self, event: Event) -> None:
        with self._lock:
            match event:
                case Message(text=text):
                    self._screen.message(text)
                case Draft(text):
                    self._screen.draft(text)
                case Refused(why=why):
                    self._screen.message(f"(not said: {why})")
                case NotTaken(why=why):
                    self._screen.message(f"(not taken yet: {why}; it is said again)")
                case Lost():
                    self._screen.message("(the daemon is gone; waiting for it to come back)")
                case Restored():
                    self._screen.message("(the daemon is back)")
                case Ended(why):
                    self._screen.message(f"(the conversation has ended: {why})")
                    self._ended.set()
                case _:
                    pass
