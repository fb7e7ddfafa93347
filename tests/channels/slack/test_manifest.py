"""What the documents tell people to allow is what the code uses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from channels.slack.manifest import COMMAND, EVENTS, HEARING, MANIFEST, SCOPES, SHORTCUT, explain, missing
from tests.channels.slack.conftest import Rig
from tests.fakes.slack_methods import ALL_SCOPES

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "channels" / "slack.md"


def test_the_manifest_in_the_documents_is_the_one_in_the_code() -> None:
    found = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [json.loads(text) for text in found] == [MANIFEST]


def test_the_documents_say_why_for_every_scope() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for scope in SCOPES:
        assert f"| `{scope}` |" in page
    for word in (COMMAND, "connections:write", "xapp-", "xoxb-", "channels.slack.base_url"):
        assert word in page


@pytest.mark.case(57)
def test_case_57_missing_scopes_are_found_and_explained() -> None:
    assert missing(list(SCOPES)) == []
    assert missing([s for s in SCOPES if s != "files:read"]) == ["files:read"]
    assert explain(["files:read"]).startswith("the app lacks files:read (I cannot fetch files)")
    assert set(SCOPES) > HEARING


def test_the_scopes_are_those_that_the_methods_want_and_no_more() -> None:
    assert set(SCOPES) == ALL_SCOPES


def test_every_event_asked_for_is_read_somewhere() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "channels" / "slack").glob("*.py"))
    source = source.replace((ROOT / "channels" / "slack" / "manifest.py").read_text(encoding="utf-8"), "")
    for event in EVENTS:
        name = event.partition(".")[0]
        known = f'"{name}"' in source or name.startswith(("channel_", "group_"))
        assert known, event
    assert SHORTCUT in json.dumps(MANIFEST)


def test_a_channel_that_is_off_loads_no_library() -> None:
    code = "import sys, channels.slack; print(sorted({m.split('.')[0] for m in sys.modules}))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "channels" in told.stdout
    assert not any(library in told.stdout for library in ("slack_sdk", "slack_bolt", "aiohttp"))


async def test_a_fully_installed_app_lacks_nothing(rig: Rig) -> None:
    await rig.start()
    assert rig.channel._state.lacking == []  # type: ignore[attr-defined]
