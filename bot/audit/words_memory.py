"""Entries of memory, its reading, schedules and documents in words. Pure."""

from __future__ import annotations

from collections.abc import Callable

from bot.audit.phrasing import Payload, count, length, plain, short


def _memory(p: Payload) -> str:
    return f"memory {short(p['claim'])}"


def _written(p: Payload) -> str:
    reasons = p["held"]
    waits = f", which waits: {', '.join(map(plain, reasons))}" if isinstance(reasons, list) and reasons else ""
    return f"remembered {_article(p['kind'])} ({_memory(p)}){waits}"


def _article(kind: object) -> str:
    return f"an {kind}" if str(kind)[:1] in "aeiou" else f"a {kind}"


def _snapshot(p: Payload) -> str:
    way = {"block": "had before it", "recall": "recalled", "read": "read"}.get(str(p["way"]), "was shown")
    also = f" and {count(length(p['messages']), 'message')}" if length(p["messages"]) else ""
    left = f"; {count(p['left_out'], 'more', 'more')} had no room" if p["left_out"] else ""
    return f"{way} {count(length(p['claims']), 'memory', 'memories')}{also}{left}"


def _finished(p: Payload) -> str:
    parts = [f"{p[name]} {name}" for name in ("written", "confirmed", "held", "refused") if p[name]]
    return f"read it for memories: {', '.join(parts) or 'nothing to remember'}"


def _failed(p: Payload) -> str:
    then = "given up" if p["final"] else "it is tried again"
    return f"could not read it for memories (attempt {p['attempt']}): {p['error']}; {then}"


def _promoted(p: Payload) -> str:
    of = f"{_memory(p)} to the company"
    return {
        "asked": f"asked to show {of}",
        "promoted": f"showed {of}",
        "declined": f"declined to show {of}",
        "taken_back": f"took back that {_memory(p)} is shown to the company",
    }.get(str(p["step"]), f"{plain(p['step'])}: {of}")


def _schedule(p: Payload) -> str:
    what = str(p["change"])
    if what == "stopped":
        return "stopped all schedules"
    if what == "started":
        return "let the schedules go on"
    return f"schedule {short(p['job'])}: {plain(what)}"


def _retrieved(p: Payload) -> str:
    did = "searched the documents" if p["tool"] == "search" else "read in the documents"
    withheld = f", {p['withheld']} withheld" if p["withheld"] else ""
    return f"{did}: {count(length(p['sections']), 'passage')}{withheld}"


def _ingested(p: Payload) -> str:
    return f"read document {short(p['document'])} ({count(p['chunks'], 'passage')}): {plain(p['status'])}"


SENTENCES: dict[str, Callable[[Payload], str]] = {
    "extraction_queued": lambda _: "will read it for memories",
    "extraction_finished": _finished,
    "extraction_failed": _failed,
    "memory_written": _written,
    "memory_confirmed": lambda p: f"heard {_memory(p)} again",
    "memory_accepted": lambda p: f"said yes to {_memory(p)}",
    "memory_edited": lambda p: f"edited {_memory(p)}",
    "memory_superseded": lambda p: (
        f"{_memory(p)} {'tells the same as' if p['merged'] else 'gave way to'} memory {short(p['by'])}"
    ),
    "memory_disputed": lambda p: (
        f"disputed {_memory(p)}" if p["by"] is None else f"{_memory(p)} and memory {short(p['by'])} contradict"
    ),
    "memory_settled": lambda p: f"settled the dispute about {_memory(p)}",
    "memory_retracted": lambda p: f"retracted {_memory(p)}",
    "memory_restored": lambda p: f"restored {_memory(p)}",
    "memory_promoted": _promoted,
    "memory_work": lambda p: (
        f"{_memory(p)} is {plain(p['work'])}" if p["work"] else f"changed the owner or the day of {_memory(p)}"
    ),
    "memory_source": lambda p: f"the message under {_memory(p)} is {plain(p['source'])}",
    "memory_erased": lambda p: f"erased {_memory(p)}",
    "memory_forgotten": lambda p: f"made {count(length(p['claims']), 'memory', 'memories')} be forgotten",
    "memory_viewed": lambda p: f"looked at {count(length(p['claims']), 'memory', 'memories')} ({p['door']})",
    "memory_snapshot": _snapshot,
    "schedule_created": lambda p: f"made the schedule {short(p['job'])} ({plain(p['kind'])})",
    "schedule_changed": _schedule,
    "schedule_fired": lambda p: f"schedule {short(p['job'])} ran: {plain(p['run'])}, delivery: {plain(p['delivery'])}",
    "schedule_skipped": lambda p: f"schedule {short(p['job'])} was missed and skipped, {count(p['count'], 'time')}",
    "knowledge_ingested": _ingested,
    "knowledge_decided": lambda p: f"document {short(p['document'])} is {plain(p['now'])} (was {plain(p['was'])})",
    "knowledge_removed": lambda p: (
        f"document {short(p['document'])} {'has left the files' if p['erased'] else 'was removed'}"
    ),
    "knowledge_retrieved": _retrieved,
}
"""What is said of an entry, after who did it."""
