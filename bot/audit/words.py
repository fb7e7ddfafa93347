"""Entries of the audit in words: who, and what happened. Pure.

What no sentence is written for is told by its type and fields, so that a new type is readable at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Payload = Mapping[str, object]


def actor(told: str) -> str:
    kind, _, name = told.partition(":")
    match kind:
        case "system":
            return f"the {name}"
        case "stranger":
            return f"a stranger ({name})"
        case "model":
            return f"model {name}"
        case _:
            return name or kind


def sentence(kind: str, payload: Payload) -> str:
    told = _SENTENCES.get(kind)
    if told is None:
        return _plainly(kind, payload)
    try:
        return told(payload)
    except KeyError:  # written by another version
        return _plainly(kind, payload)


def _plainly(kind: str, payload: Payload) -> str:
    fields = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in payload.items())
    return kind.replace("_", " ") + (f": {fields}" if fields else "")


def _value(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value)) or "none"
        case _:
            return str(value)


def _count(number: object, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _dollars(millionths: object) -> str:
    return f"{int(str(millionths)) / 1_000_000:.2f} US dollars"


def _received(p: Payload) -> str:
    files = f", {_count(p['attachments'], 'file')}" if p["attachments"] else ""
    held = ", too late to be answered unasked" if p["held"] else ""
    kind = "a command" if p["kind"] == "command" else f"a message of {_count(p['characters'], 'character')}"
    return f"wrote {kind} on {p['channel']} ({p['addressed']}, proof: {p['proof']}{files}{held})"


def _refused(p: Payload) -> str:
    what = "was refused" if p["count"] == 1 else f"was refused {p['count']} times within an hour"
    return f"{what} on {p['channel']}: {str(p['reason']).replace('_', ' ')}"


def _finished(p: Payload) -> str:
    took = f"{int(str(p['milliseconds'])) / 1000:.1f} s"
    if not p["model"]:
        return (
            f"{p['outcome']} {p['stop']} in {took}" if str(p["stop"]).startswith("/") else f"{p['outcome']} in {took}"
        )
    tokens = f"{p['input_tokens']} tokens read, {p['output_tokens']} written"
    parts = p["parts"]
    count = len(parts) if isinstance(parts, list) else 0
    return f"{p['outcome']} in {took} by {p['model']} ({tokens}, {_count(count, 'message')} to send)"


def _room(p: Payload) -> str:
    was = f"counts as {p['after']} (was {p['before']})" if p["before"] else f"counts as {p['after']}"
    return f"{p['place']} {was}: {p['because']}" + ("; what was said before is not shown there" if p["widened"] else "")


def _consulted(p: Payload) -> str:
    return f"consulted {p['name']} ({p['model']}): {str(p['outcome']).replace('_', ' ')}"


def _proposal(p: Payload) -> str:
    return f"proposal {str(p['proposal'])[-6:]}"


def _put_forward(p: Payload) -> str:
    to = p["approvers"]
    who = ", ".join(map(str, to)) if isinstance(to, list) else str(to)
    how = "acts by standing permission" if p["automatic"] else f"{who} may decide"
    tainted = "; others' text was read before" if p["tainted"] else ""
    return f"put forward {p['action']} ({_proposal(p)}): {how}{tainted}"


_SENTENCES: dict[str, Callable[[Payload], str]] = {
    "daemon_started": lambda p: (
        f"started, version {p['version']} (boot {p['boot']}): {_count(p['voided_turns'], 'turn')} to run again, "
        f"{_count(p['uncertain_sends'], 'send')} in doubt"
    ),
    "daemon_stopped": lambda p: "stopped" + ("" if p["drained"] else ", with messages left to send"),
    "message_received": _received,
    "message_refused": _refused,
    "message_duplicate": lambda p: f"delivered again on {p['channel']} and dropped ({p['kind']})",
    "message_parked": lambda p: f"could not be taken in and is parked ({p['channel']}, {p['kind']}): {p['error']}",
    "message_edited": lambda p: f"message edited, {str(p['applied']).replace('_', ' ')}",
    "message_deleted": lambda p: f"message deleted, {str(p['applied']).replace('_', ' ')}",
    "turn_started": lambda p: f"began to answer (attempt {p['attempt']})",
    "turn_finished": _finished,
    "turn_failed": lambda p: f"attempt {p['attempt']} failed{', given up' if p['parked'] else ''}: {p['error']}",
    "cache_used": lambda p: (
        f"prompt: {p['read_tokens']} tokens from the cache, {p['written_tokens']} into it, {p['uncached_tokens']} fresh"
    ),
    "budget_refused": lambda p: f"no room in the budget {p['budget']} ({_dollars(p['most'])}) for {p['purpose']}",
    "budget_warned": lambda p: (
        f"was told that {_dollars(p['spent'])} of {_dollars(p['most'])} are spent ({p['budget']})"
    ),
    "tool_called": lambda p: f"used the tool {p['name']}" + (" (its earlier result)" if p["replayed"] else ""),
    "specialist_consulted": _consulted,
    "delivery_sent": lambda p: (
        f"sent on {p['channel']}"
        + (f", attempt {p['attempt']}" if p["attempt"] != 1 else "")
        + (" (it had arrived before)" if p["found"] else "")
    ),
    "delivery_failed": lambda p: (
        f"could not be sent on {p['channel']} (attempt {p['attempt']})"
        + (f", again in {p['retry_in_seconds']} s" if p["retry_in_seconds"] is not None else "")
    ),
    "delivery_uncertain": lambda p: (
        f"may or may not have been sent on {p['channel']}; {str(p['then']).replace('_', ' ')}"
    ),
    "delivery_parked": lambda p: f"will not be sent on {p['channel']}: {p['reason']}",
    "delivery_withdrawn": lambda p: f"was taken back before it was sent on {p['channel']}: {p['reason']}",
    "delivery_reported": lambda p: f"the far end of {p['channel']} reports: {p['outcome']}",
    "person_changed": lambda p: f"{p['person']}: {str(p['change']).replace('_', ' ')} (by {p['origin']})",
    "person_paired": lambda p: f"{p['person']} claimed an account on {p['channel']}",
    "room_changed": _room,
    "setting_changed": lambda p: f"runs with settings {p['digest']}",
    "content_viewed": lambda p: f"read what was said in {p['session']}",
    "chain_verified": lambda p: (
        f"checked the chain of {_count(p['rows'], 'row')}: "
        + (f"it does not hold in {_count(p['faults'], 'place')}" if p["faults"] else "it holds")
    ),
    "audit_exported": lambda p: f"took away a copy of the audit up to row {p['head']}",
    "proposal_made": _put_forward,
    "proposal_shown": lambda p: (
        f"{'reminded' if p['reminder'] else 'asked'} {p['person']} on {p['channel']} about {_proposal(p)}"
    ),
    "proposal_voted": lambda p: f"said {p['verdict']} to {_proposal(p)} on {p['channel']}",
    "proposal_revised": lambda p: f"edited {_proposal(p)}",
    "proposal_decided": lambda p: f"{_proposal(p)} is {str(p['state']).replace('_', ' ')}",
    "proposal_no_response": lambda p: f"nobody answered {_proposal(p)} in time: it is not done",
    "proposal_withdrawn": lambda p: f"withdrew {_proposal(p)}",
    "proposal_refused": lambda p: (
        f"has no say in {_proposal(p)} on {p['channel']}: {str(p['because']).replace('_', ' ')}"
    ),
    "action_started": lambda p: f"began {p['action']} of {_proposal(p)}",
    "action_executed": lambda p: (
        f"{p['action']} of {_proposal(p)} is done" + (", says a person who looked" if p["by_person"] else "")
    ),
    "action_failed": lambda p: f"{p['action']} of {_proposal(p)} failed: {p['failure']}",
    "action_reversed": lambda p: (
        f"{'took back' if p['done'] else 'could not take back'} {p['action']} of {_proposal(p)} ({p['severity']})"
    ),
    "action_bounced": lambda p: f"{p['action']} of {_proposal(p)} came back: it did not arrive",
    "class_mode_changed": lambda p: f"{p['action']}: {str(p['mode']).replace('_', ' ')} from now on",
    "auth_refused": lambda p: f"turned away at the {p['door']}, {_count(p['count'], 'time')}: {p['reason']}",
}
"""What is said of an entry, after who did it."""
