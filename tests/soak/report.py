"""The result in words, and the generated parts of docs/reliability.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.soak.run import Result

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "reliability.md"
KEPT = ROOT / ".soak"
"""Where the last runs leave their numbers."""
SOAK, SOAK_KILL, KILLS = KEPT / "soak.json", KEPT / "soak-kill.json", KEPT / "kills.txt"


def as_json(result: Result, *, messages: int, minutes: float, seed: int) -> dict[str, Any]:
    return {
        "asked": {"messages": messages, "minutes": minutes, "seed": seed},
        "seconds": round(result.seconds),
        "kills": result.kills,
        "model_calls": result.combined_turns,
        "doubts": result.verdict.doubts,
        "parked": dict(result.verdict.reasons),
        "sound": result.verdict.sound,
        "channels": {name: asdict(tally) for name, tally in result.verdict.tallies.items()},
        "errands": {**asdict(result.errands), "sound": result.errands.sound},
        "mishaps": {name: dict(found) for name, found in result.mishaps.items()},
        "loop": dict(result.watch),
    }


HEADS = ("channel", "written", "accepted", "answered once", "of these combined", "repeated, marked", "parked", "lost",
         "doubled")  # fmt: skip


def lines(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table, with the sum as its last line."""
    made: list[tuple[str, ...]] = []
    totals = [0] * (len(HEADS) - 1)
    for name, tally in found["channels"].items():
        counts = [
            tally["written"],
            tally["written"] - len(tally["untaken"]),
            tally["once"],
            tally["combined"],
            tally["repeated"],
            tally["parked"],
            len(tally["lost"]),
            len(tally["doubled"]),
        ]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        made.append((name, *map(str, counts)))
    return [*made, ("together", *map(str, totals))]


def printed(found: Mapping[str, Any]) -> str:
    table = [HEADS, *lines(found)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADS))]
    text = "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return f"{text}\n{_mishaps(found)}\n{_errands(found)}\n{_loop(found)}\n{_worst(found)}"


def _errands(found: Mapping[str, Any]) -> str:
    of = found["errands"]
    return (
        f"approvals: {of['asked']} asked for, {of['sent']} approved and sent once ({of['of_these_edited']} of them as "
        f"edited), {of['uncertain']} approved and uncertain, {of['rejected']} rejected, {of['left']} left alone, "
        f"{len(of['undecided'])} undecided, {len(of['wrong'])} wrong"
    ) + "".join(f"\n  {each}" for each in of["wrong"])


def _mishaps(found: Mapping[str, Any]) -> str:
    counts = {name: sum(kinds.values()) for name, kinds in found["mishaps"].items()}
    shown = ", ".join(f"{name} {count}" for name, count in counts.items())
    return (
        f"{sum(counts.values())} mishaps ({shown}), {found['kills']} kills, {found['doubts']} sends in doubt, "
        f"{found['model_calls']} model calls, {found['seconds']} s"
    ) + "".join(f"; parked, {reason}: {count}" for reason, count in sorted(found.get("parked", {}).items()))


def _loop(found: Mapping[str, Any]) -> str:
    loop = found["loop"]
    late, own, piece, garbage = (loop[name] for name in ("late", "own", "piece", "garbage"))
    return (
        f"event loop, {loop['ticks']} ticks: in one piece at most {piece['max_ms']} ms of its own processor time "
        f"({piece['over']} over 100 ms), between two ticks at most {own['max_ms']} ms (p99.9 {own['p999_ms']}, p99 "
        f"{own['p99_ms']}, {own['over']} over 100 ms); late by {late['max_ms']} ms at most (p99.9 {late['p999_ms']}, "
        f"p99 {late['p99_ms']}, {late['over']} over 100 ms), the machine's other work included; collecting garbage at "
        f"most {garbage['max_ms']} ms at a time, over {loop['objects']} objects"
    )


def _worst(found: Mapping[str, Any]) -> str:
    loop = found["loop"]
    pieces = [f"  {own} ms own, {wall} ms in all: {what}" for own, wall, what in loop["worst"]]
    passes = [f"  {own} ms own before a tick that was {late} ms late: {what}" for own, late, what in loop["passes"]]
    return "\n".join(pieces + passes)


def write_docs() -> list[str]:
    """Fill the generated parts from what the last runs left. Returns what was filled."""
    text = DOCS.read_text(encoding="utf-8")
    filled = []
    for name, file in (("soak", SOAK), ("soak with kills", SOAK_KILL)):
        if file.exists():
            text = _filled(text, name, _soak_block(json.loads(file.read_text(encoding="utf-8"))))
            filled.append(name)
    if KILLS.exists():
        text = _filled(text, "kills", _kills_block(KILLS.read_text(encoding="utf-8")))
        filled.append("kills")
    DOCS.write_text(text, encoding="utf-8")
    return filled


def _soak_block(found: Mapping[str, Any]) -> str:
    asked = found["asked"]
    rows = [HEADS, tuple("---" if n == 0 else "---:" for n in range(len(HEADS))), *lines(found)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    kinds = "\n".join(
        f"- {name}: " + ", ".join(f"{kind} {count}×" for kind, count in sorted(counts.items()))
        for name, counts in found["mishaps"].items()
    )
    approvals = f"{_errands(found)}.\n\n" if "errands" in found else ""
    return (
        f"{asked['messages']} messages asked for in {asked['minutes']:g} minutes, seed {asked['seed']}.\n\n{table}\n\n"
        f"{_mishaps(found)}.\n\n{approvals}{_loop(found)}.\n\nWhat went wrong, and how often:\n\n{kinds}"
    )


def _kills_block(output: str) -> str:
    """The table out of all that the kill series printed: from its command to the line after the last far end."""
    kept: list[str] = []
    for line in output.splitlines():
        if line.startswith("$ KILLS="):
            kept = [line]
        elif kept:
            if not line.strip() or line.startswith(("=", ".", "PASSED", "FAILED")):
                break
            kept.append(line.rstrip())
    if not kept:
        raise SystemExit(f"{KILLS} holds no table: run `make soak-kill`")
    return "```\n" + "\n".join(kept) + "\n```"


def _filled(text: str, name: str, block: str) -> str:
    begin, end = f"<!-- generated: {name} -->", f"<!-- end of generated: {name} -->"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{DOCS} has no generated part {name}")
    return f"{before}{begin}\n\n{block}\n\n{end}{after}"
