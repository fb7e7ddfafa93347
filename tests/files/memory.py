"""How much memory this process takes at its most, measured anew for each stretch of code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024


@dataclass
class Growth:
    """Bytes by which the resident memory's peak passed its size at the start; -1 where it cannot be measured."""

    size: int = -1


@contextmanager
def growth() -> Iterator[Growth]:
    found = Growth()
    if sys.platform != "linux":
        yield found
        return
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak
    before = _status("VmRSS")
    yield found
    found.size = max(0, _status("VmHWM") - before)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))
