"""`openexecutive tasks`: what is asked of the daemon, and what is printed."""

from __future__ import annotations

from pathlib import Path

from tests.cli.program import answering, command, daemon

TASK = {
    "id": "06h2yzq1g4nxqa278paq3kgh",
    "kind": "memory.extract",
    "key": "06h2yzq1g4nxqa278paq3kgi",
    "state": "dead",
    "attempts": 5,
    "run_at": "2026-03-01T10:00:00+00:00",
    "created_at": "2026-03-01T09:00:00+00:00",
    "ended_at": None,
    "error": "no\x1b[31m answer",
}


async def test_the_command_line_asks_and_prints(folder: Path) -> None:
    operations = {
        "tasks.list": answering({"tasks": [TASK]}),
        "tasks.show": answering({"task": {**TASK, "lane": "l", "payload": {"turn": "t"}}}),
        "tasks.retry": answering({}),
        "tasks.drop": answering({}),
    }
    async with daemon(folder, operations):
        listed = await command("tasks", "list", "--state", "dead")
        shown = await command("tasks", "show", "x")
        retried = await command("tasks", "retry", "x")
        dropped = await command("tasks", "drop", "x", "--reason", "y")
        unexplained = await command("tasks", "drop", "x")
    assert "dead       memory.extract" in listed.stdout
    assert "\x1b" not in listed.stdout + shown.stdout
    assert '{"turn": "t"}' in shown.stdout
    assert (retried.stdout, dropped.stdout) == ("it is tried again\n", "dropped\n")
    assert unexplained.returncode == 2
