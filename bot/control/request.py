"""What an operation is asked, as frozen models: an unknown or missing field is told, nothing is guessed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.audit.events import Actor
from bot.control.wire import MalformedError
from bot.gateway.channel import LocalHandler, LocalPeer
from bot.kernel.faults import in_words

OPERATOR = Actor("system", "operator")
"""Whoever reaches the socket acts with the daemon's own rights; who that is, this machine's accounts decide."""


class Request(BaseModel):
    # Built when it is first asked for: most operations never are.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    op: str


class Nothing(Request):
    """No fields."""


R = TypeVar("R", bound=Request)


def parsed(model: type[R], first: Mapping[str, object]) -> R:
    """Raises `MalformedError` that names the fields."""
    try:
        return model.model_validate(dict(first))
    except ValidationError as error:
        wrong = in_words(error.errors(include_url=False, include_input=False))
        raise MalformedError(f"the daemon cannot read this request ({wrong})") from error


def operation(model: type[R], work: Callable[[R], Awaitable[Mapping[str, object]]]) -> LocalHandler:
    """A handler that reads one request, does `work` and answers once."""

    async def handle(peer: LocalPeer, first: Mapping[str, object]) -> None:
        answer = await work(parsed(model, first))
        await peer.send({**answer, "ok": True})

    return handle


Role = Literal["principal", "member", "guest"]
