"""Placeholders that grow into answers: pure.

An answer's first message is then no new message but the last edit of one that is on the platform already (or about to
be: the edit stands behind it in the thread's lane). The edit names the placeholder by its outbox row until it is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.gateway.operations import Delete, Edit, OpenThread, OutboundOp, Send
from bot.kernel.ids import OutboxId

_OWN = "own:"


def grown(ops: Sequence[OutboundOp], placeholder: OutboxId) -> tuple[OutboundOp, ...]:
    """The planned answer, its first message said by editing the placeholder. Files follow in a message of their own.

    The placeholder has opened the thread, if one had to be opened.
    """
    said = [op for op in ops if not isinstance(op, OpenThread)]
    first = said[0] if said else None
    if not isinstance(first, Send) or not first.text:
        return (removal(ops, placeholder), *said)
    edit = Edit(first.path, _OWN + placeholder, first.text, first.plain)
    files = (replace(first, text="", plain=""),) if first.files else ()
    return (edit, *files, *said[1:])


def removal(ops: Sequence[OutboundOp], placeholder: OutboxId) -> Delete:
    """Take the placeholder away: nothing is said after all. `ops` is any plan for the same place."""
    return Delete(ops[0].path, _OWN + placeholder)


def own_target(op: OutboundOp) -> OutboxId | None:
    """The outbox row that the operation names instead of a message of the platform."""
    if isinstance(op, Edit | Delete) and op.target.startswith(_OWN):
        return OutboxId(op.target.removeprefix(_OWN))
    return None


def aimed(op: Edit | Delete, ref: str | None) -> OutboundOp | None:
    """The operation on the message that its row became. Without one (it was never sent, or is gone) an edit becomes a
    message of its own, and there is nothing to delete."""
    if ref is not None:
        return replace(op, target=ref)
    return Send(op.path, op.text, op.plain) if isinstance(op, Edit) else None
