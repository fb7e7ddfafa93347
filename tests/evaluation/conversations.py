"""Public conversations with questions, from a folder that is not a part of the project: LoCoMo (`locomo_*.json`),
BEAM-100K (`beam_100k/*.chat.json` with `*.questions.json`) and the evidence of LongMemEval (`longmemeval_pool_*.json`).
Reading only; what is measured over them is `recall`'s business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

Set = Literal["LoCoMo", "BEAM-100K", "LongMemEval"]
_TURN = re.compile(r"D\d+:\d+")
_MARKER = re.compile(r"\s*->->\s*[\d,\s]+$")
_FORMS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M", "%B-%d-%Y")
_MINUTE = timedelta(minutes=1)
_LONG_AGO = datetime(2023, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    ref: str
    speaker: str
    at: datetime
    text: str
    part: str = ""
    """What is a conversation by itself within a pool of many."""


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    evidence: tuple[str, ...]
    category: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    set: Set
    name: str
    turns: tuple[Said, ...]
    questions: tuple[Asked, ...]
    """Those that have evidence in the conversation."""


class NoDataError(Exception):
    """The folder is missing, or has none of the sets."""


def read(folder: Path) -> list[Conversation]:
    """All that the folder holds. Raises `NoDataError`."""
    if not folder.is_dir():
        raise NoDataError(f"there is no folder {folder}")
    found = [*_locomo(folder), *_beam(folder), *_longmemeval(folder)]
    if not found:
        raise NoDataError(f"{folder} holds none of: locomo_*.json, beam_100k/*.chat.json, longmemeval_pool_*.json")
    return found


def _locomo(folder: Path) -> Iterator[Conversation]:
    for path in sorted(folder.glob("locomo_*.json")):
        for raw in json.loads(path.read_text(encoding="utf-8")):
            talk = raw["conversation"]
            turns: list[Said] = []
            numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
            for number in numbers:
                began = _instant(talk[f"session_{number}_date_time"])
                for place, turn in enumerate(talk[f"session_{number}"]):
                    # As the authors do it: what a shared picture shows belongs to the words of its turn.
                    shown = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                    turns.append(Said(turn["dia_id"], turn["speaker"], began + place * _MINUTE, turn["text"] + shown))
            there = {turn.ref for turn in turns}
            end = max(turn.at for turn in turns)
            questions = []
            for asked in raw["qa"]:
                named = [ref for each in asked.get("evidence", ()) for ref in _TURN.findall(each)]
                evidence = tuple(ref for ref in dict.fromkeys(named) if ref in there)
                if evidence:
                    questions.append(Asked(asked["question"], evidence, str(asked["category"]), end))
            yield Conversation("LoCoMo", raw["sample_id"], tuple(turns), tuple(questions))


def _beam(folder: Path) -> Iterator[Conversation]:
    for path in sorted((folder / "beam_100k").glob("*.chat.json")):
        name = path.name.partition(".")[0]
        turns: list[Said] = []
        at = _LONG_AGO
        for batch in json.loads(path.read_text(encoding="utf-8")):
            messages = [message for group in batch["turns"] for message in group]
            anchors = [message["time_anchor"] for message in messages if message.get("time_anchor")]
            at = max(at + timedelta(days=1), _instant(anchors[0])) if anchors else at + timedelta(days=1)
            for message in messages:
                at += _MINUTE
                if message["role"] == "user":
                    turns.append(Said(str(message["id"]), "user", at, _MARKER.sub("", message["content"])))
        there = {turn.ref for turn in turns}
        questions = []
        asked_of = json.loads(path.with_name(f"{name}.questions.json").read_text(encoding="utf-8"))
        for category, several in asked_of.items():
            for asked in several:
                named = [str(number) for number in _numbers(asked.get("source_chat_ids", []))]
                evidence = tuple(ref for ref in dict.fromkeys(named) if ref in there)
                if evidence:
                    questions.append(Asked(asked["question"], evidence, category, at))
        yield Conversation("BEAM-100K", name, tuple(turns), tuple(questions))


def _longmemeval(folder: Path) -> Iterator[Conversation]:
    pool: dict[tuple[str, str], Said] = {}
    questions: list[Asked] = []
    for path in sorted(folder.glob("longmemeval_pool_*.json")):
        for raw in json.loads(path.read_text(encoding="utf-8")):
            evidence = []
            for session in raw["evidence_sessions"]:
                began, part = _instant(session["date"]), ""
                for place, turn in enumerate(session["turns"]):
                    key = (session["date"], turn["content"])
                    said = pool.get(key)
                    if said is None:
                        ref = str(len(pool))
                        part = part or ref
                        said = Said(ref, turn["role"], began + place * _MINUTE, turn["content"], part)
                        pool[key] = said
                    evidence.append(said.ref)
            if evidence:
                refs = tuple(dict.fromkeys(evidence))
                questions.append(Asked(raw["question"], refs, raw["question_type"], _instant(raw["question_date"])))
    if pool:
        ordered = sorted(pool.values(), key=lambda said: said.at)
        yield Conversation("LongMemEval", "pool", tuple(ordered), tuple(questions))


def _instant(written: str) -> datetime:
    plain = re.sub(r" \(\w+\)", "", written.strip())
    for form in _FORMS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(f"no time is read in {written!r}")


def _numbers(raw: Any) -> Sequence[int]:
    if isinstance(raw, int):
        return [raw]
    if isinstance(raw, str):
        return [int(raw)] if raw.isdigit() else []
    within = raw.values() if isinstance(raw, dict) else raw
    return [number for each in within for number in _numbers(each)]
