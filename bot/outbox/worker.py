"""Sending one row and finding out what came of it. `attempt_send` and `look_up` turn whatever a channel does into one
value; what to do about it is decided in `service` inside a transaction."""

from __future__ import annotations

import logging
from datetime import timedelta

from bot.gateway.channel import Channel, NotReadyError, TargetGoneError
from bot.gateway.operations import CannotTell, NotSent, Receipt
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.supervise import Bug, attempt
from bot.kernel.values import dataclass
from bot.outbox.store import Row

log = logging.getLogger(__name__)

NOT_ARRIVED = "not_arrived"
"""Reason of a retry after the platform said that it does not have the message."""


@dataclass(frozen=True, slots=True)
class Arrived:
    receipt: Receipt
    found: bool
    """It had arrived by an earlier try."""


@dataclass(frozen=True, slots=True)
class NotTried:
    """The channel was not ready."""


@dataclass(frozen=True, slots=True)
class Later:
    """It did not happen; try again."""

    reason: str
    after: timedelta | None


@dataclass(frozen=True, slots=True)
class Doubtful:
    """It may have happened."""


@dataclass(frozen=True, slots=True)
class Never:
    reason: str
    code: str = "permanent"


@dataclass(frozen=True, slots=True)
class Broken:
    """A bug in the channel, already logged."""

    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no message to edit."""


Outcome = Gone | Arrived | NotTried | Later | Doubtful | Never | Broken


async def attempt_send(channel: Channel, row: Row) -> Outcome:
    try:
        result = await attempt(channel.send(row.op, row.id, row.again), f"send {row.id}")
    except NotReadyError:
        return NotTried()
    except TargetGoneError:
        return Gone()
    except UncertainError as error:
        log.warning("send %s: outcome unknown: %s", row.id, error.message)
        return Doubtful()
    except TransientError as error:
        return Later(error.message, error.retry_after)
    except PermanentError as error:
        return Never(error.message)
    return Broken(f"internal error ({result})") if isinstance(result, Bug) else Arrived(result, found=False)


async def look_up(channel: Channel, row: Row) -> Outcome:
    """Ask the platform about a row in doubt. `Doubtful` when it cannot tell, `Later` when it cannot be asked now."""
    try:
        found = await attempt(channel.find(row.op, row.id, row.tried_at or row.created_at), f"find {row.id}")
    except TransientError as error:
        return Later(error.message, error.retry_after)
    except PermanentError as error:
        log.warning("find %s: %s", row.id, error.message)
        return Doubtful()
    match found:
        case Receipt():
            return Arrived(found, found=True)
        case NotSent():
            # At once the first time; a platform that swallows one try after the other gets the usual pauses.
            return Later(NOT_ARRIVED, timedelta() if row.attempts <= 1 else None)
        case CannotTell() | Bug():
            return Doubtful()
