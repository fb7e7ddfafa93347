"""What the rooms refuse, as answers over HTTP: said once for the API and for the pages of the console."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.supervise import Bug, attempt
from bot.ledger.service import UnknownActionError
from bot.memory.model import ConflictError
from bot.memory.service import NotAllowedError, UnclearError, UnknownMemoryError
from bot.orchestrator.clerk import NotDoneError, UnknownProposalError
from bot.orchestrator.roster import UnknownPersonError, UnknownRequestError
from bot.orchestrator.schedule_desk import NotAllowedHereError
from bot.scheduler.service import UnknownScheduleError
from bot.scheduler.when_rule import UnclearError as UnclearTimeError

T = TypeVar("T")


class UnknownThingError(PermanentError):
    """There is no such thing, or none that this person may see: the two are one answer."""


class Refusal(OpenExecutiveError):
    """`reason` is for the audit, without the door; None where nothing is audited."""

    def __init__(self, status: int, code: str, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.reason = reason


async def answered(work: Awaitable[T], what: str) -> T:
    """What `work` comes to. Raises `Refusal`; a bug is logged and refused as one (500)."""
    try:
        answer = await attempt(work, what)
    except OpenExecutiveError as error:
        raise refusal(error) from error
    if isinstance(answer, Bug):
        raise Refusal(500, "failed", "Something broke.")
    return answer


def refusal(error: OpenExecutiveError) -> Refusal:
    match error:
        case Refusal():
            return error
        case UnknownMemoryError():
            return Refusal(404, "not_found", "There is no such memory.", "not_found")
        case UnknownProposalError():
            return Refusal(404, "not_found", "There is no such proposal.", "not_found")
        case UnknownScheduleError():
            return Refusal(404, "not_found", "There is no such schedule.", "not_found")
        case UnknownActionError():
            return Refusal(404, "not_found", "There is no such class of actions.", "not_found")
        case UnknownPersonError() | UnknownRequestError():
            return Refusal(404, "not_found", "There is nothing like that here.", "not_found")
        case UnknownThingError():
            return Refusal(404, "not_found", error.message, "not_found")
        case NotDoneError():
            return Refusal(409, "not_done", error.message)
        case NotAllowedError() | NotAllowedHereError():
            return Refusal(403, "not_allowed", error.message, "not_allowed")
        case ConflictError():
            return Refusal(409, "conflict", error.message)
        case UnclearError() | UnclearTimeError():
            return Refusal(422, "unclear", error.message)
        case TransientError():
            return Refusal(503, "later", "This cannot be done right now.")
        case PermanentError():
            return Refusal(400, "refused", error.message)
        case _:
            return Refusal(500, "failed", "Something broke.")
