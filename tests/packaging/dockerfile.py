"""Reads a Dockerfile into stages of instructions, as far as ours goes: continuations, comments, both command forms."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Instruction:
    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """Words of an exec form, or of plain text without its flags."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return [word for word in self.text.split() if not word.startswith("--")]


@dataclass(frozen=True)
class Stage:
    image: str
    alias: str | None
    instructions: list[Instruction] = field(default_factory=list)

    def of(self, name: str) -> list[Instruction]:
        return [instruction for instruction in self.instructions if instruction.name == name]

    @property
    def environment(self) -> dict[str, str]:
        return dict(word.split("=", 1) for instruction in self.of("ENV") for word in instruction.text.split())


def parse(text: str) -> list[Stage]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            image, _, alias = rest.partition(" AS ")
            stages.append(Stage(image, alias or None))
        else:
            stages[-1].instructions.append(Instruction(name, rest.strip()))
    return stages


def stages() -> tuple[Stage, Stage]:
    build, final = parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    return build, final
