"""Events and operations as JSON for the store. Unknown fields are refused: a row is read by the version that wrote it
or by a migration."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import Field, TypeAdapter

from bot.gateway.events import InboundEvent
from bot.gateway.operations import OutboundOp, Receipt


@cache
def _events() -> TypeAdapter[InboundEvent]:
    return TypeAdapter(Annotated[InboundEvent, Field(discriminator="kind")])


@cache
def _operations() -> TypeAdapter[OutboundOp]:
    return TypeAdapter(Annotated[OutboundOp, Field(discriminator="kind")])


@cache
def _receipts() -> TypeAdapter[Receipt]:
    return TypeAdapter(Receipt)


def dump_event(event: InboundEvent) -> str:
    return _events().dump_json(event).decode()


def load_event(text: str) -> InboundEvent:
    return _events().validate_json(text)


def dump_operation(op: OutboundOp) -> str:
    return _operations().dump_json(op).decode()


def load_operation(text: str) -> OutboundOp:
    return _operations().validate_json(text)


def dump_receipt(receipt: Receipt) -> str:
    return _receipts().dump_json(receipt).decode()


def load_receipt(text: str) -> Receipt:
    return _receipts().validate_json(text)
