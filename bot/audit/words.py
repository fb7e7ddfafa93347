"""Entries of the audit in words: who, and what happened. Pure.

What no sentence is written for is told by its type and fields, so that a new type is readable at once.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.audit import words_memory
from bot.audit.phrasing import Payload, count, dollars, length, plain, short


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


def _received(p: Payload) -> str:
    files = f", {count(p['attachments'], 'file')}" if p["attachments"] else ""
    held = ", too late to be answered unasked" if p["held"] else ""
    kind = "a command" if p["kind"] == "command" else f"a message of {count(p['characters'], 'character')}"
    return f"wrote {kind} on {p['channel']} ({p['addressed']}, proof: {p['proof']}{files}{held})"


def _refused(p: Payload) -> str:
    what = "was refused" if p["count"] == 1 else f"was refused {p['count']} times within an hour"
    return f"{what} on {p['channel']}: {plain(p['reason'])}"


def _finished(p: Payload) -> str:
    took = f"{int(str(p['milliseconds'])) / 1000:.1f} s"
    if not p["model"]:
        return (
            f"{p['outcome']} {p['stop']} in {took}" if str(p["stop"]).startswith("/") else f"{p['outcome']} in {took}"
        )
    tokens = f"{p['input_tokens']} tokens read, {p['output_tokens']} written"
    return f"{p['outcome']} in {took} by {p['model']} ({tokens}, {count(length(p['parts']), 'message')} to send)"


def _room(p: Payload) -> str:
    was = f"counts as {p['after']} (was {p['before']})" if p["before"] else f"counts as {p['after']}"
    return f"{p['place']} {was}: {p['because']}" + ("; what was said before is not shown there" if p["widened"] else "")


def _consulted(p: Payload) -> str:
    return f"consulted {p['name']} ({p['model']}): {plain(p['outcome'])}"


def _proposal(p: Payload) -> str:
    return f"proposal {short(p['proposal'])}"


def _put_forward(p: Payload) -> str:
    to = p["approvers"]
    who = ", ".join(map(str, to)) if isinstance(to, list) else str(to)
    how = "acts by standing permission" if p["automatic"] else f"{who} may decide"
    tainted = "; others' text was read before" if p["tainted"] else ""
    return f"put forward {p['action']} ({_proposal(p)}): {how}{tainted}"


_SENTENCES: dict[str, Callable[[Payload], str]] = {
    "daemon_started": lambda p: (
        f"started, version {p['version']} (boot {p['boot']}): {count(p['voided_turns'], 'turn')} to run again, "
        f"{count(p['uncertain_sends'], 'send')} in doubt"
    ),
    "daemon_stopped": lambda p: "stopped" + ("" if p["drained"] else ", with messages left to send"),
    "message_received": _received,
    "message_refused": _refused,
    "message_duplicate": lambda p: f"delivered again on {p['channel']} and dropped ({p['kind']})",
    "message_parked": lambda p: f"could not be taken in and is parked ({p['channel']}, {p['kind']}): {p['error']}",
    "message_edited": lambda p: f"message edited, {plain(p['applied'])}",
    "message_deleted": lambda p: f"message deleted, {plain(p['applied'])}",
    "turn_started": lambda p: f"began to answer (attempt {p['attempt']})",
    "turn_finished": _finished,
    "turn_failed": lambda p: f"attempt {p['attempt']} failed{', given up' if p['parked'] else ''}: {p['error']}",
    "cache_used": lambda p: (
        f"prompt: {p['read_tokens']} tokens from the cache, {p['written_tokens']} into it, {p['uncached_tokens']} fresh"
    ),
    "budget_refused": lambda p: f"no room in the budget {p['budget']} ({dollars(p['most'])}) for {p['purpose']}",
    "budget_warned": lambda p: f"was told that {dollars(p['spent'])} of {dollars(p['most'])} are spent ({p['budget']})",
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
    "delivery_uncertain": lambda p: f"may or may not have been sent on {p['channel']}; {plain(p['then'])}",
    "delivery_parked": lambda p: f"will not be sent on {p['channel']}: {p['reason']}",
    "delivery_withdrawn": lambda p: f"was taken back before it was sent on {p['channel']}: {p['reason']}",
    "delivery_reported": lambda p: f"the far end of {p['channel']} reports: {p['outcome']}",
    "person_changed": lambda p: f"{p['person']}: {plain(p['change'])} (by {p['origin']})",
    "person_paired": lambda p: f"{p['person']} claimed an account on {p['channel']}",
    "room_changed": _room,
    "setting_changed": lambda p: f"runs with settings {p['digest']}",
    "content_viewed": lambda p: f"read what was said in {p['session']}",
    "chain_verified": lambda p: (
        f"checked the chain of {count(p['rows'], 'row')}: "
        + (f"it does not hold in {count(p['faults'], 'place')}" if p["faults"] else "it holds")
    ),
    "audit_exported": lambda p: f"took away a copy of the audit up to row {p['head']}",
    "proposal_made": _put_forward,
    "proposal_shown": lambda p: (
        f"{'reminded' if p['reminder'] else 'asked'} {p['person']} on {p['channel']} about {_proposal(p)}"
    ),
    "proposal_voted": lambda p: f"said {p['verdict']} to {_proposal(p)} on {p['channel']}",
    "proposal_revised": lambda p: f"edited {_proposal(p)}",
    "proposal_decided": lambda p: f"{_proposal(p)} is {plain(p['state'])}",
    "proposal_no_response": lambda p: f"nobody answered {_proposal(p)} in time: it is not done",
    "proposal_withdrawn": lambda p: f"withdrew {_proposal(p)}",
    "proposal_refused": lambda p: f"has no say in {_proposal(p)} on {p['channel']}: {plain(p['because'])}",
    "action_started": lambda p: f"began {p['action']} of {_proposal(p)}",
    "action_executed": lambda p: (
        f"{p['action']} of {_proposal(p)} is done" + (", says a person who looked" if p["by_person"] else "")
    ),
    "action_failed": lambda p: f"{p['action']} of {_proposal(p)} failed: {p['failure']}",
    "action_reversed": lambda p: (
        f"{'took back' if p['done'] else 'could not take back'} {p['action']} of {_proposal(p)} ({p['severity']})"
    ),
    "action_bounced": lambda p: f"{p['action']} of {_proposal(p)} came back: it did not arrive",
    "class_mode_changed": lambda p: f"{p['action']}: {plain(p['mode'])} from now on",
    "session_changed": lambda p: {
        "opened": "a conversation began",
        "epoch": "began anew: what was said before is not shown to the model any more",
        "alias_moved": "the conversation moved with its room",
        "stopped": "stopped what was being answered",
    }.get(str(p["change"]), plain(p["change"])),
    "session_erased": lambda p: f"erased what was stored of the conversation ({p['why']}, {count(p['rows'], 'row')})",
    "person_erased": lambda p: f"erasing what is held of {p['person']}: {plain(p['step'])}",
    "person_exported": lambda p: f"gathered all that is held about {p['person']}",
    "pairing_code": lambda p: f"pairing code: {plain(p['step'])}" + (f" on {p['channel']}" if p["channel"] else ""),
    "pairing_requested": lambda p: f"request to be let in on {p['channel']}: {plain(p['step'])}",
    "token_changed": lambda p: f"token of {p['person']} was {plain(p['change'])}",
    "auth_login": lambda p: "signed in with a browser" if p["door"] == "web" else "used a token of the API",
    "auth_logout": lambda _: "a browser was signed out",
    "company_changed": lambda p: f"the company's profile: {plain(p['field'])} {plain(p['change'])}",
    "backup_made": lambda p: (
        f"made a backup ({p['why']}, {int(str(p['bytes'])) / 1e6:.1f} MB{', encrypted' if p['encrypted'] else ''})"
    ),
    "backup_failed": lambda p: f"no backup was made after {count(p['attempts'], 'attempt')}",
    "erasure_done": lambda p: f"what was erased has left the files ({p['why']}, {count(p['messages'], 'message')})",
    "breaker_tripped": lambda p: f"{p['action']} acts no longer by itself: {p['reversed']} of {p['of']} were undone",
    "auth_refused": lambda p: f"turned away at the {p['door']}, {count(p['count'], 'time')}: {p['reason']}",
} | words_memory.SENTENCES
"""What is said of an entry, after who did it."""
