"""Which far ends a test is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.bench import Can
from tests.contracts.benches import FAR_ENDS

CAN: dict[str, Can] = {name: make(Path("nowhere")).can for name, make in FAR_ENDS.items()}


def those(which: Callable[[Can], bool]) -> pytest.MarkDecorator:
    """Run with the far ends that can; there must be some."""
    names = [name for name, can in CAN.items() if which(can)]
    assert names
    return pytest.mark.parametrize("name", names, indirect=True)
