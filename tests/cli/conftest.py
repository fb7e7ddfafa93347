from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("OPENEXECUTIVE_") or name == "ANTHROPIC_API_KEY"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    monkeypatch.setenv("OPENEXECUTIVE_DATA_DIR", str(data))
    return data
