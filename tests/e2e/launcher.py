"""The daemon with points at which it can be made to die. Test-only: it runs the program's own `main` unchanged, but
for functions of its rooms that are wrapped to count their passages.

`E2E_ARM` (`point` or `point:n`) makes the process kill itself with SIGKILL at the n-th passage of a point. Written to
the file `E2E_ARM_FILE` instead, followed by SIGUSR2, it arms a running process, which says `armed <point>`.
`E2E_CLOCK` names a file with the seconds by which the daemon's clock is ahead; it is read again and again.
`E2E_POISON` is a word: a model call for a message that holds it kills the process. `E2E_MODEL=numbers` puts the model
of `tests.e2e.numbers` in the place of the real one. On SIGUSR1 the names of all imported modules are written to the
file `E2E_MODULES`.

Without any of these nothing is imported and nothing is wrapped.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

Hit = Callable[[], None]


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


class Arm:
    """Which point kills, and at which passage."""

    def __init__(self) -> None:
        self._point = ""
        self._left = 0

    def set(self, text: str) -> None:
        point, _, number = text.strip().partition(":")
        if point not in POINTS:
            raise SystemExit(f"no point {point!r}: {', '.join(POINTS)}")
        self._point, self._left = point, int(number or 1)

    def passed(self, point: str) -> None:
        if point != self._point:
            return
        self._left -= 1
        if self._left == 0:
            die()


# --- wrapping ------------------------------------------------------------------------------------------------------


def _before(owner: Any, name: str, hit: Hit, when: Callable[..., bool] = lambda *_a, **_k: True) -> None:
    """Also of coroutine functions: they are not begun then."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if when(*args, **kwargs):
            hit()
        return original(*args, **kwargs)

    setattr(owner, name, wrapper)


def _after(owner: Any, name: str, hit: Hit) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        hit()
        return result

    setattr(owner, name, wrapper)


def _after_awaited(owner: Any, name: str, hit: Hit) -> None:
    original: Callable[..., Awaitable[Any]] = getattr(owner, name)

    @functools.wraps(original)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = await original(*args, **kwargs)
        hit()
        return result

    setattr(owner, name, wrapper)


# --- the points ----------------------------------------------------------------------------------------------------


def _tx1_before(hit: Hit) -> None:
    from bot.intake.service import Intake

    _after(Intake, "_unit", hit)


def _tx1_after(hit: Hit) -> None:
    from bot.intake.service import Intake

    _before(Intake, "_after", hit)


def _accepted(hit: Hit) -> None:
    from bot.intake import service

    _after_awaited(service._Port, "accept", hit)


def _model_before(hit: Hit) -> None:
    from bot.orchestrator.steps import Steps

    _before(Steps, "_ask", hit)


def _streaming(hit: Hit) -> None:
    from bot.orchestrator.drafts import Drafter

    _after(Drafter, "show", hit)


def _model_after(hit: Hit) -> None:
    from bot.orchestrator import steps

    _before(steps, "decide", hit)


def _tx3_before(hit: Hit) -> None:
    from bot.orchestrator.ends import Ends

    _after(Ends, "_audit_end", hit)


def _tx3_after(hit: Hit) -> None:
    from bot.outbox.service import Outbox

    _before(Outbox, "sending", hit, lambda _self, queued: any(one.first is not None for one in queued))


def _send_before(hit: Hit) -> None:
    from bot.outbox import service

    _before(service, "attempt_send", hit)


def _maildir_renamed(hit: Hit) -> None:
    from channels.email import maildir

    _before(maildir, "_sync", hit, lambda folder: folder.name == "new")


def _sent(hit: Hit) -> None:
    from bot.outbox import service

    _after_awaited(service, "attempt_send", hit)


def _tx4_before(hit: Hit) -> None:
    from bot.outbox.service import Outbox

    _after(Outbox, "_apply", hit)


def _tx4_after(hit: Hit) -> None:
    from bot.outbox.service import Outbox

    _after_awaited(Outbox, "_settle", hit)


POINTS: dict[str, Callable[[Hit], None]] = {
    "tx1_before": _tx1_before,
    "tx1_after": _tx1_after,
    "accepted": _accepted,
    "model_before": _model_before,
    "streaming": _streaming,
    "model_after": _model_after,
    "tx3_before": _tx3_before,
    "tx3_after": _tx3_after,
    "send_before": _send_before,
    "maildir_renamed": _maildir_renamed,
    "sent": _sent,
    "tx4_before": _tx4_before,
    "tx4_after": _tx4_after,
}


def _install(arm: Arm) -> None:
    for point, wrap in POINTS.items():
        wrap(functools.partial(arm.passed, point))


# --- poison and the model in the process -----------------------------------------------------------------------------


def _poison(word: str) -> None:
    from bot.orchestrator import loop
    from tests.e2e.numbers import last_words

    _before(loop, "converse", die, lambda _model, request, **_k: word in last_words(request))


def _replace_model() -> None:
    from bot.llm import service
    from tests.e2e.numbers import NumbersModel

    service.build = lambda **_settings: NumbersModel()


# --- the clock -------------------------------------------------------------------------------------------------------


def _go_ahead(file: Path) -> None:
    """Only of what time it is: how long something takes stays as it is."""
    from bot.kernel.clock import SystemClock

    original = SystemClock.now

    def ahead(self: SystemClock) -> datetime:
        return original(self) + timedelta(seconds=float(file.read_text(encoding="ascii")))

    SystemClock.now = ahead  # type: ignore[method-assign]


def main() -> int:
    environ = os.environ
    if file := environ.get("E2E_CLOCK"):
        _go_ahead(Path(file))
    arm = Arm()
    if "E2E_ARM" in environ or "E2E_ARM_FILE" in environ:
        _install(arm)
    if "E2E_ARM" in environ:
        arm.set(environ["E2E_ARM"])
    if file := environ.get("E2E_ARM_FILE"):

        def armed(_number: int, _frame: FrameType | None) -> None:
            text = Path(file).read_text(encoding="ascii")
            arm.set(text)
            os.write(1, f"armed {text.strip()}\n".encode())

        signal.signal(signal.SIGUSR2, armed)
    if modules := environ.get("E2E_MODULES"):

        def written(_number: int, _frame: FrameType | None) -> None:
            Path(modules).write_text("\n".join(sorted(sys.modules)), encoding="utf-8")
            os.write(1, b"modules written\n")

        signal.signal(signal.SIGUSR1, written)
    if word := environ.get("E2E_POISON"):
        _poison(word)
    if environ.get("E2E_MODEL") == "numbers":
        _replace_model()
    from bot.cli import main as program

    return program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
