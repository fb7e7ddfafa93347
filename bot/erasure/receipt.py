"""What is said when an erasure has left the files too. Pure."""

from __future__ import annotations

from bot.audit.events import ErasureDone


def told(done: ErasureDone, there: int, key: str) -> str:
    """`there`: messages that a platform still shows; `key`: by which they can be had deleted."""
    what = "the memory" if done.memories == 1 else f"{done.memories} memories"
    where = f"the sentences in {_number(done.messages, 'message')} that told the same"
    lines = [f"What you had me forget is gone: {what}, and {where}. It is in no table, index or file of mine any more."]
    if not done.rewritten:
        lines.append("The database is too large to be written anew: deleted bytes were overwritten in place.")
    if done.backups:
        until = f"until {done.until} at the latest" if done.until else "until somebody deletes them"
        lines.append(f"{_number(done.backups, 'backup')} made before still {_hold(done.backups)} it, {until}.")
    if there:
        lines.append(
            f"{_number(there, 'message')} of mine on the platform itself may still tell it: "
            f"`openexecutive sessions unsend {key}` has them deleted there."
        )
    return "\n\n".join(lines)


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _hold(count: int) -> str:
    return "holds" if count == 1 else "hold"
