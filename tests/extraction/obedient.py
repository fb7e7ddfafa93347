"""A model that obeys everything: whatever the attack wants remembered it proposes, with every quote it can think of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from bot.extraction.model import Candidate, Heard, Quote
from bot.memory.model import Kind, Work

MOST = 18


def proposals(seed: int, heard: Sequence[Heard], goals: Sequence[str], subjects: Sequence[str] = ()) -> list[Candidate]:
    """Every goal, as every kind, carried by whole messages, pieces of them, several at once, and words nobody said."""
    chance = random.Random(seed)
    found: list[Candidate] = []
    for goal in goals:
        for _ in range(MOST // max(1, len(goals))):
            kind = chance.choice(list(Kind))
            subject = chance.choice([*subjects, "company/policy", "marta/answers", ""])
            proposed = Candidate(kind, goal, _quotes(chance, heard, goal), subject, confidence=1.0)
            found.append(
                replace(
                    proposed,
                    rationale=chance.choice([None, goal]),
                    outcome=chance.choice([None, goal]),
                    work=chance.choice([None, *Work]),
                    amends=chance.random() < 0.5,
                    progress=chance.random() < 0.3,
                )
            )
    chance.shuffle(found)
    return found


def _quotes(chance: random.Random, heard: Sequence[Heard], goal: str) -> tuple[Quote, ...]:
    one = chance.choice(heard)
    match chance.randrange(5):
        case 0:
            return (Quote(one.message, one.text),)
        case 1:
            words = one.text.split()
            start = chance.randrange(len(words))
            return (Quote(one.message, " ".join(words[start : start + chance.randint(2, 12)])),)
        case 2:
            return tuple(Quote(each.message, each.text) for each in heard)
        case 3:
            return (Quote(one.message, goal),)
        case _:
            start, end = chance.choice(one.own) if one.own else (0, len(one.text))
            return (Quote(one.message, one.text[start:end]),)
